"""Lines of two versions become one text: nothing that one side alone changed is lost or disturbed."""

import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.merge_lines import hunks, merge_lines

LINES = st.lists(st.sampled_from(["", "a", "b", "c", "d", "e"]), max_size=12)


def merged(base: str, earlier: str, later: str) -> tuple[str, int]:
    result = merge_lines(base.split(), earlier.split(), later.split())
    return " ".join(result.lines), result.conflicts


@pytest.mark.parametrize(
    ("base", "earlier", "later", "expected", "conflicts"),
    [
        ("1 2 3", "1 2 3", "1 X 3", "1 X 3", 0),
        ("1 2 3 4", "1 A 3 4", "1 2 3 B", "1 A 3 B", 0),
        ("1 2 3", "1 A 3", "1 2 B", "1 A B", 0),  # adjoining
        ("1 2 3", "1 A 3", "1 2 N 3", "1 A N 3", 0),  # an addition right below a change
        ("1 2 3", "1 A 3", "1 N 2 3", "1 N A 3", 0),  # … and right above it
        ("1 2 3", "1 X 3", "1 X 3", "1 X 3", 0),  # the same change twice
        ("1 2 3", "1 A 3", "1 B 3", "1 B 3", 1),
        ("1 2 3", "1 3", "1 B 3", "1 B 3", 1),  # taken away and changed
        ("1 2 3", "1 B 3", "1 3", "1 3", 1),
        ("1 2 3 4", "1 4", "1 2", "1", 0),  # both only take away
        ("1", "1 A", "1 B", "1 A B", 0),  # both only add: the earlier one first
        ("1", "1 A", "1 A B", "1 A B", 0),  # one addition holds the other
        ("1", "1 A X", "1 A Y", "1 A X Y", 0),  # what both begin with comes once
        ("1", "1 X A", "1 Y A", "1 X A Y A", 0),
        ("", "A", "", "A", 0),
        ("1 2 3 4 5", "1 2 X 4 5", "A 2 3 4 B", "A 2 X 4 B", 0),
    ],
)
def test_changes_of_both_sides_stand(base: str, earlier: str, later: str, expected: str, conflicts: int) -> None:
    assert merged(base, earlier, later) == (expected, conflicts)


@given(LINES, LINES)
def test_hunks_lead_from_the_base_to_the_other_text(base: list[str], other: list[str]) -> None:
    rebuilt, position = [], 0
    for hunk in hunks(base, other):
        assert hunk.start >= position
        rebuilt += [*base[position : hunk.start], *hunk.lines]
        position = hunk.end
    assert rebuilt + base[position:] == other


@given(LINES, LINES)
def test_a_side_without_changes_yields_to_the_other(base: list[str], other: list[str]) -> None:
    assert merge_lines(base, base, other) == merge_lines(base, other, base) == merge_lines(base, other, other)
    assert list(merge_lines(base, base, other).lines) == other


@given(LINES, LINES, LINES)
def test_without_a_conflict_every_added_line_of_both_sides_is_there(
    base: list[str], earlier: list[str], later: list[str]
) -> None:
    earlier, later = [f"{line}<" if n % 3 == 0 else line for n, line in enumerate(earlier)], [f"{x}>" for x in later]
    result = merge_lines(base, earlier, later)
    if not result.conflicts:
        assert not (Counter([*earlier, *later]) - Counter(base)).keys() - set(result.lines)


@given(LINES, LINES, LINES)
def test_a_conflict_is_one_from_both_points_of_view(base: list[str], a: list[str], b: list[str]) -> None:
    assert (merge_lines(base, a, b).conflicts > 0) == (merge_lines(base, b, a).conflicts > 0)


@pytest.mark.parametrize(
    "text",
    [["same"] * 20_000, ["a", "b"] * 10_000, [str(n % 700) for n in range(20_000)], [""] * 40_000],
    ids=["one line", "two lines", "repeating", "blank"],
)
def test_a_huge_monotonous_text_does_not_take_for_ever(text: list[str]) -> None:
    began = time.process_time()
    assert merge_lines(text, ["new", *text[1:]], [*text[: len(text) // 2], "x", *text[: len(text) // 3]]).lines
    merge_lines(text, text[::2], text[::3])
    assert time.process_time() - began < 20  # minutes without the bound
