"""Three-way merge of one file's bytes: pure, deterministic, the same from both sides.

`merge(kind, base, a, b)` and `merge(kind, base, b, a)` give the same bytes, so two devices that merge
the same pair write the same file. What cannot be merged is never thrown away: the whole losing version is returned.

    tags, relatedTo          sets: what either side added is in, what either side removed is out
    updated                  the later one                      created     the earlier one
    any other front matter   entry by entry, as written (comments, quoting, unknown keys)
    body                     line by line (daemon.merge_lines)
    line ends, BOM, final newline   each on its own; whoever changed them wins

Where both sides changed the same thing the version with the later `updated` stands (then the
one with the greater hash). The clock only picks which of the two is shown first; the other is kept whole.

Other kinds of files: documents and patterns have merges of their own (sets of projects, of sightings); the
other version is handed back only where lines of its text would be lost. Conflict files that carry one name hold
one text; united they name all the devices that count on it. Device notes and the old index are derived: either
will do, their writers repair them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TypeVar

from daemon.merge_lines import merge_lines
from daemon.merge_parts import Parts, take_apart
from memory_cache import conflicts, document_file, pattern_file, text_format
from memory_cache.hashing import content_hash
from memory_cache.models import FileKind
from memory_cache.text_format import ParsedFile

_SETS: Mapping[str, Callable[[ParsedFile], Iterable[str]]] = MappingProxyType(
    {"tags": lambda parsed: parsed.tags, "relatedTo": lambda parsed: parsed.related_to}
)
_DERIVED = frozenset({FileKind.DEVICE, FileKind.INDEX})
_OWN_MERGES: Mapping[FileKind, Callable[[bytes, bytes], bytes]] = MappingProxyType(
    {FileKind.DOCUMENT: document_file.merge, FileKind.PATTERN: pattern_file.merge}
)
T = TypeVar("T")
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Merged:
    """`data` is what stands; `loser` is the other version whole, when `data` does not hold all of it."""

    data: bytes
    loser: bytes | None = None


@dataclass(frozen=True, slots=True)
class _Side:
    data: bytes
    parsed: ParsedFile
    parts: Parts


def merge(kind: FileKind, base: bytes | None, a: bytes, b: bytes) -> Merged:
    """What two versions of one file become. `base`: their last common version, None when unknown."""
    if a == b or base == a:
        return Merged(b)
    if base == b:
        return Merged(a)
    earlier, later = sorted((a, b), key=rank)
    if kind in _DERIVED:
        return Merged(later)
    if kind is FileKind.CONFLICT:
        united = conflicts.merge(earlier, later)
        return Merged(later, earlier) if united is None else Merged(united)
    sides = (_side(earlier), _side(later))
    if sides[0] is None or sides[1] is None:
        return Merged(later, earlier)
    if kind in _OWN_MERGES:
        return _merged_by_kind(kind, base, earlier, later)
    origin = _side(base) if base is not None else None
    if origin is None:
        return _without_base(sides[0], sides[1])
    return _merged(origin, sides[0], sides[1])


def rank(data: bytes) -> tuple[bool, datetime, str]:
    """The order in which two versions of one file stand: the greater one stays.

    A version that can be understood is above one that cannot: that one is kept, and shown as a conflict.
    """
    parsed = text_format.read(data)
    return (parsed.problem is None, parsed.updated or _NEVER, content_hash(data))


def _side(data: bytes) -> _Side | None:
    parsed = text_format.read(data)
    if parsed.problem is not None:
        return None
    parts = take_apart(data, front_matter=parsed.has_front_matter)
    return _Side(data, parsed, parts) if parts is not None else None


def _without_base(earlier: _Side, later: _Side) -> Merged:
    """Nothing is known of their past: both are kept, unless one of them has all that the other one has."""
    for whole, part in ((later, earlier), (earlier, later)):
        if _holds(whole, part):
            return Merged(whole.data)
    return Merged(later.data, earlier.data)


def _holds(whole: _Side, part: _Side) -> bool:
    """Whether every line of `part`'s body is in the other one's, in order, and its front matter says nothing else."""
    for key, lines in part.parts.entries.items():
        if key in _SETS:
            if not set(_SETS[key](part.parsed)) <= set(_SETS[key](whole.parsed)):
                return False
        elif key not in ("created", "updated") and whole.parts.entries.get(key) != lines:
            return False
    remaining = iter(whole.parts.body)
    return part.parsed.id == whole.parsed.id and all(line in remaining for line in part.parts.body)


def _merged_by_kind(kind: FileKind, base: bytes | None, earlier: bytes, later: bytes) -> Merged:
    data = _OWN_MERGES[kind](earlier, later)
    known = set(text_format.read(data).body.split("\n"))
    if base is not None:
        known.update(text_format.read(base).body.split("\n"))
    lost = set(text_format.read(earlier).body.split("\n")) - known
    return Merged(data, earlier if lost else None)


def _merged(base: _Side, earlier: _Side, later: _Side) -> Merged:
    if earlier.parsed.id != later.parsed.id and earlier.parsed.id and later.parsed.id:
        return Merged(later.data, earlier.data)
    body = merge_lines(base.parts.body, earlier.parts.body, later.parts.body)
    entries, clashes = _entries(base, earlier, later)
    parts = Parts(
        bom=_either(base.parts.bom, earlier.parts.bom, later.parts.bom),
        newline=_either(base.parts.newline, earlier.parts.newline, later.parts.newline),
        final_newline=_either(base.parts.final_newline, earlier.parts.final_newline, later.parts.final_newline),
        fences=(later.parts.fences or earlier.parts.fences) if entries else None,
        entries=entries,
        body=body.lines,
    )
    data = _with_sets(parts.join(), base, earlier, later)
    if not _sound(data, earlier, later):
        return Merged(later.data, earlier.data)
    return Merged(data, earlier.data if body.conflicts or clashes else None)


def _either(base: T, earlier: T, later: T) -> T:
    return earlier if later == base else later


def _entries(base: _Side, earlier: _Side, later: _Side) -> tuple[Mapping[str, tuple[str, ...]], bool]:
    """The merged front matter, and whether one entry was changed on both sides to different values."""
    clashes = False
    merged: dict[str, tuple[str, ...]] = {}
    for key in _order(earlier.parts.entries, later.parts.entries):
        origin, first, second = (side.parts.entries.get(key) for side in (base, earlier, later))
        if first == second or second == origin:
            chosen = first
        elif first == origin:
            chosen = second
        else:
            chosen, clash = _both_changed(key, earlier, later)
            clashes = clashes or clash
        if chosen is None and key == "id":
            chosen = first or second  # a memory does not lose its identity
        if chosen is not None:
            merged[key] = chosen
    return MappingProxyType(merged), clashes


def _both_changed(key: str, earlier: _Side, later: _Side) -> tuple[tuple[str, ...] | None, bool]:
    first, second = earlier.parts.entries.get(key), later.parts.entries.get(key)
    if key == "created":
        oldest = min((earlier, later), key=lambda side: side.parsed.created or datetime.max.replace(tzinfo=UTC))
        return oldest.parts.entries.get(key), False
    if first is None or second is None:
        return first or second, True  # an edit beats a removal
    if key == "updated" or key in _SETS:
        return second, False
    if _value(key, earlier) != _value(key, later):
        return second, True
    # The same value in two spellings: what only one of them remarks on it is not lost.
    chosen, other = (first, second) if set(first) > set(second) else (second, first)
    return chosen, any("#" in line for line in set(other) - set(chosen))


def _value(key: str, side: _Side) -> object:
    parsed = side.parsed
    known: dict[str, object] = {
        "id": parsed.id,
        "category": parsed.category,
        "projectId": parsed.project_id,
        "projectName": parsed.project_name,
        "priority": parsed.priority,
        "expiresAt": parsed.expires_at,
    }
    return known[key] if key in known else parsed.unknown.get(key, side.parts.entries.get(key))


def _order(earlier: Mapping[str, object], later: Mapping[str, object]) -> list[str]:
    """The later side's order; what only the earlier one has follows its predecessor there."""
    order = list(later)
    previous: str | None = None
    for key in earlier:
        if key not in later:
            order.insert(order.index(previous) + 1 if previous is not None else 0, key)
        previous = key
    return order


def _with_sets(data: bytes, base: _Side, earlier: _Side, later: _Side) -> bytes:
    changed: dict[str, Sequence[str]] = {}
    removed: list[str] = []
    written = text_format.read(data)
    for key, values_of in _SETS.items():
        if key not in earlier.parts.entries and key not in later.parts.entries:
            continue
        values = _merged_set(values_of(base.parsed), values_of(earlier.parsed), values_of(later.parsed))
        if values == list(values_of(written)):
            continue
        if values or key == "tags":
            changed[key] = values
        else:
            removed.append(key)
    return text_format.rewrite(data, set={**changed}, remove=removed) if changed or removed else data


def _merged_set(base: Iterable[str], earlier: Iterable[str], later: Iterable[str]) -> list[str]:
    origin, first, second = list(base), list(earlier), list(later)
    gone = {value for value in origin if value not in first or value not in second}
    united = dict.fromkeys([*second, *first])
    return [value for value in united if value not in gone]


def _sound(data: bytes, earlier: _Side, later: _Side) -> bool:
    """Whether what was put together can still be read and is still this memory."""
    parsed = text_format.read(data)
    known = later.parsed.id or earlier.parsed.id
    had_front_matter = earlier.parsed.has_front_matter or later.parsed.has_front_matter
    return parsed.problem is None and parsed.id == known and parsed.has_front_matter == had_front_matter
