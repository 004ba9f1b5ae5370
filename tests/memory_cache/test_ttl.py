"""Time to live: what is accepted, and that nothing else means "never"."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_cache.errors import InvalidInput
from memory_cache.ttl import expiry

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@given(st.integers(1, 36_500), st.sampled_from("dwmyDWMY"))
def test_a_number_and_a_unit_give_that_many_days(number: int, unit: str) -> None:
    days = number * {"d": 1, "w": 7, "m": 30, "y": 365}[unit.lower()]
    if days > 36_500:
        with pytest.raises(InvalidInput):
            expiry(f"{number}{unit}", NOW)
    else:
        assert expiry(f"{number}{unit}", NOW) == NOW + timedelta(days=days)


@pytest.mark.parametrize(
    "bad",
    ["", " ", "0d", "-1d", "7", "d", "1.5d", "1h", "7 days", "٧d", "99999999999d", "101y", "1d2w", "never", "1e3d"],
)
def test_zero_negative_absurd_and_unknown_are_errors(bad: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        expiry(bad, NOW)
    assert caught.value.hint


@given(st.text(max_size=20))
def test_any_text_is_either_a_future_time_or_an_error(text: str) -> None:
    try:
        when = expiry(text, NOW)
    except InvalidInput:
        return
    assert (when is None) == (text.strip().lower() == "none")
    assert when is None or when > NOW


def test_no_ttl_and_none_mean_no_expiry() -> None:
    assert expiry(None, NOW) is None
    assert expiry(" None ", NOW) is None
