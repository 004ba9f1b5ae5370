"""Skill patterns: what is done again and again, until a skill is made of it.

A pattern seen again (alike in words, in the same category and project scope) gains an occurrence; its count is
the number of its occurrences on all devices. From three on it is proposed as a skill.

Two devices that note one pattern in different words while apart make two files. The next sighting that both are
alike to unites them in the older one, occurrences and all; a device that adds to the other one meanwhile brings it
back with occurrences that have the same ids, and is united again.
"""

import sqlite3
from dataclasses import replace
from datetime import datetime

from memory_cache import files
from memory_cache.clock import TICK, from_text, later_than
from memory_cache.errors import AmbiguousId, InvalidInput, UnknownMemory
from memory_cache.models import Project, Record
from memory_cache.paths import valid_category
from memory_cache.pattern_file import Occurrence, PatternFile, decode, encode, new_id, occurrence
from memory_cache.pattern_similarity import SAME_PATTERN, Profile, relevance, similarity
from memory_cache.private import strip_private
from memory_cache.search.filters import beginning_with

MATURE_COUNT = 3
SHORTEST_PREFIX = 4
_DESCRIPTION = (10, 1000)
_EXAMPLE = (10, 2000)


class Pattern(Record):
    """One pattern. `examples` of its occurrences, the latest first, without empty ones."""

    id: str
    description: str
    category: str
    project_id: str | None = None
    count: int
    devices: int
    created: datetime
    last_seen: datetime
    examples: tuple[str, ...] = ()
    skill_at: datetime | None = None

    @property
    def mature(self) -> bool:
        """Seen often enough to be made into a skill, and not made into one yet."""
        return self.count >= MATURE_COUNT and self.skill_at is None


class Sighting(Record):
    """What `store` did: the pattern as it stands now, and whether it is new. `alike`: to the one it was taken for."""

    pattern: Pattern
    is_new: bool
    alike: float = 1.0


def store(
    connection: sqlite3.Connection,
    *,
    description: str,
    category: str,
    project: Project | None,
    example: str | None,
    device: str,
    now: datetime,
) -> Sighting:
    """Note that a pattern was seen. Raises: InvalidInput with what would be accepted."""
    description = _text(strip_private(description), "description", _DESCRIPTION)
    shown = _text(strip_private(example), "example", _EXAMPLE) if example else ""
    category = valid_category(category)
    scope = project.key if project else None
    known, alike, others = _most_alike(connection, description, category, scope)
    seen = occurrence(now, device, shown)
    if known is None:
        pattern = PatternFile(
            id=new_id(description, category, project.id if project else None), description=description,
            category=category, created=now, updated=now, project_id=project.id if project else None,
            project_name=project.name if project else None, occurrences=(seen,),
        )  # fmt: skip
        record = _placed(connection, pattern)
        return Sighting(pattern=_by_file(connection, record), is_new=True)
    stored = files.get(connection, known)
    content = (stored.content if stored else None) or b""
    before = decode(content)
    taken = [entry for other in others for entry in _taken_over(connection, other)]
    united = {entry.id: entry for entry in (*taken, *before.occurrences)}
    while seen.id in united:  # another session noted it in this very millisecond
        seen = occurrence(seen.at + TICK, device, shown)
    united[seen.id] = seen
    after = replace(before, updated=later_than(before.updated, now), occurrences=tuple(united.values()))
    files.write(connection, known, encode(after, content))
    return Sighting(pattern=_by_file(connection, known), is_new=False, alike=alike)


def _text(value: str, name: str, limits: tuple[int, int]) -> str:
    text = value.replace("\r\n", "\n").strip()
    if not limits[0] <= len(text) <= limits[1]:
        raise InvalidInput(
            f"The {name} has {len(text)} characters.",
            f"Give {limits[0]} to {limits[1]} characters that say it clearly.",
        )
    return text


def _placed(connection: sqlite3.Connection, pattern: PatternFile) -> int:
    # Deleted here before, the path may still have a row whose delete the storage has not followed yet.
    row = connection.execute(
        "SELECT file_id FROM files WHERE path = ? ORDER BY content IS NULL LIMIT 1", (pattern.path,)
    ).fetchone()
    if row is None:
        return files.add(connection, pattern.path, encode(pattern)).file_id
    return files.write(connection, row["file_id"], encode(pattern)).file_id


def _most_alike(
    connection: sqlite3.Connection, description: str, category: str, scope: str | None
) -> tuple[int | None, float, list[int]]:
    """The oldest pattern of this scope that means the same, how alike it is, and others that mean the same too."""
    rows = connection.execute(
        "SELECT file_id, description FROM patterns WHERE category = ? AND project_key IS ? ORDER BY created, id",
        (category, scope),
    ).fetchall()
    wanted = Profile.of(description)
    profiles = {row["file_id"]: Profile.of(row["description"]) for row in rows}
    scores = {file_id: similarity(wanted, profile) for file_id, profile in profiles.items()}
    alike = [file_id for file_id, score in scores.items() if score >= SAME_PATTERN]
    if not alike:
        return None, 0.0, []
    best = max(alike, key=lambda file_id: scores[file_id])
    same = [
        file_id for file_id in alike if file_id == best or similarity(profiles[best], profiles[file_id]) >= SAME_PATTERN
    ]
    return same[0], scores[same[0]], same[1:]


def _taken_over(connection: sqlite3.Connection, file_id: int) -> list[Occurrence]:
    """The occurrences of a pattern that goes up in another one; its words stay as their example."""
    record = files.get(connection, file_id)
    pattern = decode((record.content if record else None) or b"")
    files.delete(connection, file_id)
    return [entry if entry.example else replace(entry, example=pattern.description) for entry in pattern.occurrences]


def search(
    connection: sqlite3.Connection,
    query: str,
    *,
    category: str | None = None,
    project_key: str | None = None,
    min_count: int = 1,
    limit: int = 10,
) -> tuple[list[tuple[Pattern, float]], int]:
    """The patterns that fit the query best with their scores (0 to 1), and how many more fit.

    `project_key` sees that project's patterns and the global ones; None sees all.
    """
    found = _selected(connection, category, project_key, min_count)
    texts = [f"{pattern.description}\n" + "\n".join(pattern.examples) for pattern in found]
    scored = [(pattern, score) for pattern, score in zip(found, relevance(query, texts), strict=True) if score > 0]
    scored.sort(key=lambda pair: (-pair[1], -pair[0].count, pair[0].id))
    return scored[:limit], max(len(scored) - limit, 0)


def mature(
    connection: sqlite3.Connection, *, min_count: int = MATURE_COUNT, category: str | None = None,
    exclude_created: bool = True,
) -> list[Pattern]:  # fmt: skip
    """Patterns seen at least so often, most often first; those that are skills already only when asked for."""
    found = _selected(connection, category, None, min_count)
    kept = [pattern for pattern in found if not (exclude_created and pattern.skill_at)]
    return sorted(kept, key=lambda pattern: (-pattern.count, pattern.created, pattern.id))


def mark_as_skill(connection: sqlite3.Connection, ids: list[str], now: datetime) -> list[Pattern]:
    """Mark these patterns (ids or prefixes) as made into skills; all or none. Marked before: they stay so.

    Raises: InvalidInput, UnknownMemory, AmbiguousId.
    """
    if not ids:
        raise InvalidInput("pattern_ids is empty.", "Give the ids that pattern_store or pattern_mature showed.")
    chosen = [find(connection, text) for text in ids]
    for file_id in dict.fromkeys(chosen):
        record = files.get(connection, file_id)
        content = (record.content if record else None) or b""
        pattern = decode(content)
        if pattern.skill_at is None:
            marked = replace(pattern, skill_at=now, updated=later_than(pattern.updated, now))
            files.write(connection, file_id, encode(marked, content))
    return [_by_file(connection, file_id) for file_id in dict.fromkeys(chosen)]


def find(connection: sqlite3.Connection, text: str) -> int:
    """The file of the pattern with this id or the only one that begins so.

    Raises: InvalidInput, UnknownMemory, AmbiguousId.
    """
    wanted = text.strip().lower()
    if len(wanted) < SHORTEST_PREFIX:
        raise InvalidInput(
            f"{text.strip()!r} is too short for the id of a pattern.", f"Give at least {SHORTEST_PREFIX} characters."
        )
    pattern = beginning_with(wanted)
    rows = connection.execute(
        "SELECT file_id, id, description FROM patterns WHERE id LIKE ? ESCAPE '\\' ORDER BY id LIMIT 11", (pattern,)
    ).fetchall()
    if not rows:
        raise UnknownMemory(f"No pattern has the id {wanted!r}.", "pattern_search finds patterns and their ids.")
    if len({row["id"] for row in rows}) > 1:
        named = "; ".join(f"{row['id']} ({row['description'][:60]})" for row in rows[:10])
        raise AmbiguousId(f"Several patterns have an id that begins with {wanted}: {named}.", "Give more of the id.")
    return int(rows[0]["file_id"])


_SELECT = """
SELECT p.*, (SELECT count(*) FROM pattern_occurrences o WHERE o.file_id = p.file_id) AS seen,
    (SELECT count(DISTINCT o.device) FROM pattern_occurrences o WHERE o.file_id = p.file_id) AS devices,
    (SELECT max(o.at) FROM pattern_occurrences o WHERE o.file_id = p.file_id) AS last_seen
FROM patterns p
"""


def _selected(
    connection: sqlite3.Connection, category: str | None, project_key: str | None, min_count: int
) -> list[Pattern]:
    rows = connection.execute(
        f"SELECT * FROM ({_SELECT}) WHERE seen >= ? AND (?2 IS NULL OR category = ?2)"
        " AND (?3 IS NULL OR project_key = ?3 OR project_key IS NULL) ORDER BY created, id",
        (min_count, category, project_key),
    ).fetchall()
    return [_pattern(connection, row) for row in rows]


def _by_file(connection: sqlite3.Connection, file_id: int) -> Pattern:
    return _pattern(connection, connection.execute(f"{_SELECT} WHERE p.file_id = ?", (file_id,)).fetchone())


def _pattern(connection: sqlite3.Connection, row: sqlite3.Row) -> Pattern:
    examples = connection.execute(
        "SELECT example FROM pattern_occurrences WHERE file_id = ? AND example <> '' ORDER BY at DESC, occurrence_id",
        (row["file_id"],),
    ).fetchall()
    return Pattern(
        id=row["id"], description=row["description"], category=row["category"], project_id=row["project_id"],
        count=row["seen"], devices=row["devices"], created=from_text(row["created"]),
        last_seen=from_text(row["last_seen"] or row["updated"]), examples=tuple(example[0] for example in examples),
        skill_at=from_text(row["skill_at"]) if row["skill_at"] else None,
    )  # fmt: skip
