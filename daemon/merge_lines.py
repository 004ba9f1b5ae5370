"""Three-way merge of lines (diff3), pure and bounded in time.

Changes of two sides merge as long as they touch different lines of the base; changes that only
adjoin do not disturb each other. Differences are found by lines that occur once on both sides
(patience), which keeps the result readable and the cost near linear; `difflib` works only in the small gaps.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

# A gap without unique common lines is compared line by line up to this many pairs of equal lines;
# beyond it counts as one change, because difflib would take minutes over it.
_MOST_EQUAL_PAIRS = 20_000
_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines `start` (included) to `end` (excluded) of the base became `lines`. `start == end`: an insertion."""

    start: int
    end: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MergedLines:
    """`conflicts`: how many places were changed on both sides; there the later side's lines stand."""

    lines: tuple[str, ...]
    conflicts: int


def merge_lines(base: Sequence[str], earlier: Sequence[str], later: Sequence[str]) -> MergedLines:
    """What the base becomes with the changes of both sides.

    Both added lines at one place and took none away: both additions stand, the earlier first.
    Both took lines away and added none: all of those go. Everything else on the same lines is a conflict.
    """
    sides = (hunks(base, earlier), hunks(base, later))
    result: list[str] = []
    conflicts = 0
    position = 0
    for start, end, ours, theirs in _groups(*sides):
        result += base[position:start]
        lines, agreed = _settle(base, start, end, ours, theirs)
        result += lines
        conflicts += not agreed
        position = end
    result += base[position:]
    return MergedLines(tuple(result), conflicts)


def hunks(base: Sequence[str], other: Sequence[str]) -> list[Hunk]:
    """The changes that lead from `base` to `other`, in order, never adjoining."""
    pairs = _common(base, other, 0, len(base), 0, len(other), depth=0)
    found: list[Hunk] = []
    b, o = 0, 0
    for at_base, at_other in [*pairs, (len(base), len(other))]:
        if at_base > b or at_other > o:
            found.append(Hunk(b, at_base, tuple(other[o:at_other])))
        b, o = at_base + 1, at_other + 1
    return found


def _groups(earlier: list[Hunk], later: list[Hunk]) -> list[tuple[int, int, list[Hunk], list[Hunk]]]:
    """Hunks that overlap, put together; each group with its range of the base."""
    tagged = sorted(
        [(hunk, 0) for hunk in earlier] + [(hunk, 1) for hunk in later],
        key=lambda entry: (entry[0].start, entry[0].end, entry[1]),
    )
    groups: list[tuple[int, int, list[Hunk], list[Hunk]]] = []
    for hunk, side in tagged:
        if groups and _overlaps(groups[-1][0], groups[-1][1], hunk):
            start, end, first, second = groups.pop()
            groups.append((start, max(end, hunk.end), first, second))
        else:
            groups.append((hunk.start, hunk.end, [], []))
        groups[-1][2 + side].append(hunk)  # type: ignore[union-attr]
    return groups


def _overlaps(start: int, end: int, hunk: Hunk) -> bool:
    both_insert_here = start == end == hunk.start == hunk.end
    return both_insert_here or (hunk.start < end and start < hunk.end)


def _settle(
    base: Sequence[str], start: int, end: int, earlier: list[Hunk], later: list[Hunk]
) -> tuple[Sequence[str], bool]:
    """The lines of one group, and whether both sides could be satisfied."""
    if not earlier:
        return _applied(base, start, end, later), True
    if not later:
        return _applied(base, start, end, earlier), True
    first, second = _applied(base, start, end, earlier), _applied(base, start, end, later)
    if first == second:
        return second, True
    if start == end:
        return _both_additions(first, second), True
    if not any(hunk.lines for hunk in (*earlier, *later)):
        gone = {number for hunk in (*earlier, *later) for number in range(hunk.start, hunk.end)}
        return [base[number] for number in range(start, end) if number not in gone], True
    return second, False


def _applied(base: Sequence[str], start: int, end: int, changes: list[Hunk]) -> list[str]:
    result: list[str] = []
    position = start
    for hunk in changes:
        result += base[position : hunk.start]
        result += hunk.lines
        position = hunk.end
    result += base[position:end]
    return result


def _both_additions(first: list[str], second: list[str]) -> list[str]:
    """Both additions. One that holds the other whole is the answer; lines that both begin with come once."""
    for longer, shorter in ((first, second), (second, first)):
        size = len(shorter)
        if any(longer[at : at + size] == shorter for at in range(len(longer) - size + 1)):
            return longer
    head = _shared(first, second)
    while head and not first[head - 1].strip():
        head -= 1  # that both begin with a blank line says nothing
    return first + second[head:]


def _shared(a: Sequence[str], b: Sequence[str]) -> int:
    """How many leading lines are equal."""
    count = 0
    for one, other in zip(a, b, strict=False):
        if one != other:
            break
        count += 1
    return count


def _common(
    a: Sequence[str], b: Sequence[str], a_low: int, a_high: int, b_low: int, b_high: int, *, depth: int
) -> list[tuple[int, int]]:
    """Index pairs of lines that both have in common, ascending in both."""
    pairs: list[tuple[int, int]] = []
    while a_low < a_high and b_low < b_high and a[a_low] == b[b_low]:
        pairs.append((a_low, b_low))
        a_low, b_low = a_low + 1, b_low + 1
    tail: list[tuple[int, int]] = []
    while a_low < a_high and b_low < b_high and a[a_high - 1] == b[b_high - 1]:
        a_high, b_high = a_high - 1, b_high - 1
        tail.append((a_high, b_high))
    if a_low < a_high and b_low < b_high:
        pairs += _between(a, b, a_low, a_high, b_low, b_high, depth=depth)
    return pairs + tail[::-1]


def _between(
    a: Sequence[str], b: Sequence[str], a_low: int, a_high: int, b_low: int, b_high: int, *, depth: int
) -> list[tuple[int, int]]:
    anchors = _anchors(a, b, a_low, a_high, b_low, b_high) if depth < _DEEPEST else []
    if not anchors:
        return _small(a, b, a_low, a_high, b_low, b_high)
    pairs: list[tuple[int, int]] = []
    for at_a, at_b in anchors:
        pairs += _common(a, b, a_low, at_a, b_low, at_b, depth=depth + 1)
        pairs.append((at_a, at_b))
        a_low, b_low = at_a + 1, at_b + 1
    return pairs + _common(a, b, a_low, a_high, b_low, b_high, depth=depth + 1)


def _anchors(
    a: Sequence[str], b: Sequence[str], a_low: int, a_high: int, b_low: int, b_high: int
) -> list[tuple[int, int]]:
    """Lines that occur exactly once on each side, the longest run of them that ascends on both."""
    count_a, count_b = Counter(a[a_low:a_high]), Counter(b[b_low:b_high])
    where_b = {b[at]: at for at in range(b_low, b_high) if count_b[b[at]] == 1}
    once = [(at, where_b[a[at]]) for at in range(a_low, a_high) if count_a[a[at]] == 1 and a[at] in where_b]
    tops: list[int] = []  # smallest end (in b) of an ascending run of each length
    piles: list[tuple[int, int, int]] = []  # (in a, in b, previous entry)
    heads: list[int] = []
    for at_a, at_b in once:
        pile = bisect_left(tops, at_b)
        piles.append((at_a, at_b, heads[pile - 1] if pile else -1))
        tops[pile : pile + 1] = [at_b]
        heads[pile : pile + 1] = [len(piles) - 1]
    run: list[tuple[int, int]] = []
    at = heads[-1] if heads else -1
    while at >= 0:
        run.append(piles[at][:2])
        at = piles[at][2]
    return run[::-1]


def _small(
    a: Sequence[str], b: Sequence[str], a_low: int, a_high: int, b_low: int, b_high: int
) -> list[tuple[int, int]]:
    ours, theirs = a[a_low:a_high], b[b_low:b_high]
    count = Counter(theirs)
    if sum(count[line] for line in ours) > _MOST_EQUAL_PAIRS:
        return []
    blocks = SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks()
    return [(a_low + block.a + at, b_low + block.b + at) for block in blocks for at in range(block.size)]
