"""Memories that refer to each other: link, unlink, neighbours to a depth, and several merged into one.

A link is written into both files. It counts in both directions even where only one file has it. One whose target is
gone stays in the file, unseen, so that a restored memory has its links again.
"""

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from memory_cache import drafts, memories, trash
from memory_cache.clock import to_text
from memory_cache.errors import InvalidInput
from memory_cache.memories import Stored
from memory_cache.models import Memory, Priority
from memory_cache.revisions import Cause
from memory_cache.search.filters import tag_key
from memory_cache.text_format import Value
from memory_cache.writing import rewrite

MAX_DEPTH = 10
_PRIORITIES: tuple[Priority, ...] = ("low", "normal", "high")


def link(
    connection: sqlite3.Connection, first: str, second: str, *, unlink: bool, cause: Cause
) -> tuple[Memory, Memory]:
    """Link two memories, or end their link, in both directions; returns both.

    Raises: InvalidInput for a memory and itself, or a read-only one; UnknownMemory; AmbiguousId.
    """
    one, other = memories.find(connection, first), memories.find(connection, second)
    if one.file_id == other.file_id:
        raise InvalidInput("A memory cannot be linked to itself.", "Give the ids of two different memories.")
    return _set_link(connection, one, other, unlink, cause), _set_link(connection, other, one, unlink, cause)


def _set_link(connection: sqlite3.Connection, one: Stored, other: Stored, unlink: bool, cause: Cause) -> Memory:
    targets = [target for target in one.memory.related_to if target != other.memory.id]
    if not unlink and other.memory.id in one.memory.related_to:
        return one.memory
    if not unlink:
        targets.append(other.memory.id)
    return rewrite(connection, one, cause, values={"relatedTo": targets or None})


_NEIGHBOURS = """
SELECT l.target_id FROM memory_links l JOIN memories m USING (file_id) WHERE m.id = ?1
UNION SELECT m.id FROM memory_links l JOIN memories m USING (file_id) WHERE l.target_id = ?1
"""


def related(connection: sqlite3.Connection, text: str, depth: int, now: datetime) -> list[tuple[Memory, int]]:
    """Memories within `depth` links of this one, nearest first, with their distance; expired ones are left out.

    Raises: InvalidInput for a depth outside 1 … 10; UnknownMemory; AmbiguousId.
    """
    if not 1 <= depth <= MAX_DEPTH:
        raise InvalidInput(f"A depth of {depth} is not possible.", f"Give a depth from 1 to {MAX_DEPTH}.")
    start = memories.find(connection, text).memory.id
    found: list[tuple[Memory, int]] = []
    seen, ring = {start}, [start]
    for distance in range(1, depth + 1):
        near = {row[0] for memory_id in ring for row in connection.execute(_NEIGHBOURS, (memory_id,))} - seen
        seen |= near
        living = memories.by_ids(connection, sorted(near))
        ring = [memory.id for memory in living if not memory.expired(now)]
        found.extend((memory, distance) for memory in living if not memory.expired(now))
        if not ring:
            break
    return found


def edges(connection: sqlite3.Connection, now: datetime) -> list[tuple[str, str]]:
    """Every link between two living memories once, as a pair of ids; expired ones are left out."""
    rows = connection.execute(
        "SELECT DISTINCT min(m.id, l.target_id), max(m.id, l.target_id) FROM memory_links l"
        " JOIN memories m USING (file_id) JOIN memories t ON t.id = l.target_id"
        " WHERE m.id <> t.id AND coalesce(m.expires_at > ?1, 1) AND coalesce(t.expires_at > ?1, 1) ORDER BY 1, 2",
        (to_text(now),),
    )
    return [(row[0], row[1]) for row in rows]


def graph(
    connection: sqlite3.Connection, start: str | None, depth: int, now: datetime
) -> tuple[list[Memory], list[tuple[str, str]]]:
    """Linked memories and each link between them once: all of them, or those within `depth` links of one.

    Raises: as `related`.
    """
    pairs = edges(connection, now)
    if start is None:
        return memories.by_ids(connection, list(dict.fromkeys(end for pair in pairs for end in pair))), pairs
    nodes = [memories.find(connection, start).memory]
    nodes += [memory for memory, _ in related(connection, start, depth, now)]
    shown = {memory.id for memory in nodes}
    return nodes, [pair for pair in pairs if shown.issuperset(pair)]


def dangling(connection: sqlite3.Connection) -> int:
    """How many links point to an id that no living memory has."""
    return int(
        connection.execute(
            "SELECT count(*) FROM memory_links WHERE target_id NOT IN (SELECT id FROM memories)"
        ).fetchone()[0]
    )


def merge(connection: sqlite3.Connection, ids: Sequence[str], title: str | None, cause: Cause) -> Memory:
    """Make one memory of several: the first stays, the others go to the trash, links to them point to the first.

    Raises: InvalidInput for fewer than two different memories; UnknownMemory; AmbiguousId.
    """
    parts = [memories.find(connection, text) for text in ids]
    if len({part.file_id for part in parts}) != len(parts):
        raise InvalidInput("A memory cannot be merged with itself.", "Give each memory once.")
    if len(parts) < 2:
        raise InvalidInput("At least two memories are needed for a merge.", "Give the ids of two or more memories.")
    base, *others = parts
    gone = [part.memory.id for part in others]
    body = merged_body([part.memory for part in parts], title)
    drafts.checked_content(body, secrets="allow")
    rewrite(connection, base, cause, values=_merged_values([part.memory for part in parts]), body=body)
    for part in others:
        trash.move_in(connection, part.file_id, cause)
    _repoint(connection, gone, base.memory.id, cause)
    return memories.by_file(connection, base.file_id)


def merged_body(parts: Sequence[Memory], title: str | None) -> str:
    """The bodies of these memories, each under its title, below one title for all."""
    sections = [f"# {' '.join((title or parts[0].title).lstrip('#').split())}"]
    for memory in parts:
        rest = _without_title(memory)
        sections.append(f"## {memory.title}" + (f"\n\n{rest}" if rest else ""))
    return "\n\n".join(sections)


def _without_title(memory: Memory) -> str:
    text = memory.content.strip("\n")
    first, _, rest = text.partition("\n")
    if " ".join(first.lstrip("# \t").split()) == memory.title and (drafts.is_heading(first) or not rest.strip()):
        return rest.strip("\n")
    return text


def _merged_values(parts: Sequence[Memory]) -> dict[str, Value | None]:
    ids = {memory.id for memory in parts}
    tags = {tag_key(tag): tag for memory in reversed(parts) for tag in reversed(memory.tags)}
    links = dict.fromkeys(target for memory in parts for target in memory.related_to if target not in ids)
    priority = max((memory.priority for memory in parts), key=_PRIORITIES.index)
    ends = [memory.expires_at for memory in parts if memory.expires_at is not None]
    values: dict[str, Value | None] = {
        "relatedTo": list(links) or None,
        # The whole lives as long as its part that lives longest.
        "expiresAt": max(ends) if len(ends) == len(parts) else None,
    }
    ordered = [*dict.fromkeys(tags[tag_key(tag)] for memory in parts for tag in memory.tags)]
    if ordered != list(parts[0].tags):
        values["tags"] = ordered
    if priority != parts[0].priority:
        values["priority"] = None if priority == "normal" else priority
    return values


def _repoint(connection: sqlite3.Connection, gone: Sequence[str], target: str, cause: Cause) -> None:
    marks = ", ".join("?" * len(gone))
    rows = connection.execute(
        f"SELECT DISTINCT file_id FROM memory_links WHERE target_id IN ({marks})", list(gone)
    ).fetchall()
    for (file_id,) in rows:
        memory = memories.by_file(connection, file_id)
        if memory.read_only is not None or memory.id == target:
            continue
        links = [target if linked in gone else linked for linked in memory.related_to]
        rewrite(connection, Stored(file_id, memory), cause, values={"relatedTo": list(dict.fromkeys(links))})
