"""Values that nobody expects."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from hypothesis import strategies as st


def examples(usual: int) -> int:
    """How many examples a test takes: few in the usual run, `FUZZ_EXAMPLES` in a long one."""
    return int(os.environ.get("FUZZ_EXAMPLES", usual))


TEXT = st.text(st.characters(codec=None), max_size=20) | st.sampled_from(
    [
        "",
        "\x00",
        "../../x",
        "/etc/passwd",
        "C:\\x",
        "\ud800",
        "x" * 300,
        "-1",
        "1e999",
        "nan",
        "٣",
        "None",
        "\u202e",
        "https://[",
        "https://h:99999/",
    ]
)
NUMBER = (
    st.integers()
    | st.floats()
    | st.sampled_from([10**400, -(10**30), 2**63, float("inf"), float("nan"), 1e308])
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def bent(sound: Mapping[str, Any], also: Iterable[str] = ()) -> st.SearchStrategy[dict[str, Any]]:
    """An object of which each value is sound, junk or missing."""
    keys = {key: st.just(value) | JSON if not isinstance(value, st.SearchStrategy) else value | JSON
            for key, value in sound.items()}  # fmt: skip
    return st.fixed_dictionaries({}, optional={**keys, **dict.fromkeys(also, JSON)})
