"""When rounds are due."""

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.schedule import Pace, Schedule

PACE = Pace(poll=60.0, idle_poll=300.0, debounce=0.3)


def after_a_round(now: float = 1000.0, *, took: float = 0.01, active: bool = False, wrote: bool = False) -> Schedule:
    schedule = Schedule(PACE, now - took)
    schedule.begin(now - took)
    schedule.succeeded(now, active=active, wrote=wrote, again_in=None)
    return schedule


def test_the_first_round_is_due_at_once() -> None:
    assert Schedule(PACE, 5.0).due() == 5.0


def test_polling_is_fast_after_activity_and_slow_without() -> None:
    schedule = after_a_round(active=True)
    assert schedule.due() == 1060.0
    now = 1000.0
    while now < 2000:
        now = schedule.due()
        schedule.begin(now)
        schedule.succeeded(now, active=False, wrote=False, again_in=None)
    assert schedule.due() == now + 300.0


def test_polling_costs_at_most_a_quarter_of_a_percent_of_the_time() -> None:
    assert after_a_round(took=4.0).due() == 1000.0 + 1600.0


def test_a_local_change_goes_out_after_the_debounce() -> None:
    schedule = after_a_round()
    schedule.local_change(1001.0)
    assert schedule.due() == pytest.approx(1001.3)
    schedule.local_change(1001.2)
    assert schedule.due() == pytest.approx(1001.5)


@given(st.lists(st.floats(0.0, 0.25), min_size=1, max_size=50))
def test_a_stream_of_changes_is_put_off_for_less_than_a_second(gaps: list[float]) -> None:
    schedule = after_a_round()
    now = 1001.0
    for gap in gaps:
        schedule.local_change(now)
        assert schedule.due() <= 1001.0 + 0.9 + 1e-9
        now += gap


def test_hints_make_rounds_take_turns_with_rest() -> None:
    schedule = after_a_round(took=2.0)
    schedule.hint(1000.1)
    assert schedule.due() == 1002.0
    schedule.begin(1002.0)
    assert schedule.due() == inf, "the round that begins takes care of it"


def test_the_echo_of_an_own_write_is_gathered() -> None:
    schedule = after_a_round(wrote=True)
    schedule.hint(1000.01)
    assert schedule.due() == 1000.5


def test_what_comes_during_a_round_leads_to_another_one() -> None:
    schedule = Schedule(PACE, 0.0)
    schedule.begin(0.0)
    schedule.local_change(1.0)
    schedule.succeeded(5.0, active=True, wrote=True, again_in=None)
    assert schedule.due() == pytest.approx(1.3)


def test_a_round_that_has_more_to_do_is_followed_when_it_said() -> None:
    schedule = Schedule(PACE, 0.0)
    schedule.begin(0.0)
    schedule.succeeded(1.0, active=False, wrote=False, again_in=0.7)
    assert schedule.due() == pytest.approx(1.7)


@pytest.mark.parametrize(("transient", "first", "longest"), [(True, 2.0, 60.0), (False, 15.0, 300.0)])
def test_pauses_after_failures_double_up_to_a_bound(transient: bool, first: float, longest: float) -> None:
    schedule = Schedule(PACE, 0.0)
    now, pauses = 0.0, []
    for _ in range(12):
        schedule.begin(now)
        schedule.failed(now, transient=transient)
        pauses.append(schedule.due() - now)
        now = schedule.due()
    assert pauses[:2] == [first, 2 * first]
    assert pauses == sorted(pauses)
    assert pauses[-1] == longest
    schedule.begin(now)
    schedule.succeeded(now, active=False, wrote=False, again_in=None)
    schedule.begin(now)
    schedule.failed(now, transient=transient)
    assert schedule.due() - now == first


def test_a_local_change_during_an_outage_is_tried_soon_but_not_at_once() -> None:
    schedule = Schedule(PACE, 0.0)
    for _ in range(6):
        schedule.begin(100.0)
        schedule.failed(100.0, transient=True)
    schedule.local_change(100.1)
    assert schedule.due() == 105.0


@given(
    st.floats(0.1, 10_000),
    st.lists(st.sampled_from(["change", "hint", "want", "fail"]), max_size=10),
)
def test_nothing_is_due_before_a_pause_of_the_service_ends(seconds: float, events: list[str]) -> None:
    schedule = after_a_round()
    schedule.throttled(1001.0, seconds)
    for event in events:
        if event == "change":
            schedule.local_change(1001.0)
        elif event == "hint":
            schedule.hint(1001.0)
        elif event == "want":
            schedule.want(1001.0)
        else:
            schedule.failed(1001.0, transient=True)
    assert schedule.due() >= 1001.0 + seconds
    assert schedule.held_until == 1001.0 + seconds


@given(st.lists(st.sampled_from(["change", "hint", "want", "done", "again", "fail", "fatal", "pause"]), max_size=40))
def test_a_next_round_is_always_due_within_the_slowest_poll(events: list[str]) -> None:
    schedule, now = Schedule(PACE, 0.0), 0.0
    for event in events:
        now += 0.5
        if event == "change":
            schedule.local_change(now)
        elif event == "hint":
            schedule.hint(now)
        elif event == "want":
            schedule.want(now)
        else:
            schedule.begin(now)
            if event in {"done", "again"}:
                schedule.succeeded(
                    now, active=event == "again", wrote=False, again_in=1.0 if event == "again" else None
                )
            else:
                schedule.failed(now, transient=event == "fail")
            if event == "pause":
                schedule.throttled(now, 20.0)
        assert schedule.due() <= now + PACE.idle_poll
