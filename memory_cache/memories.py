"""Reading memories: one by id or prefix, many by filter. Filters are applied in SQL, before any limit."""

import base64
import binascii
import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory_cache.clock import from_text, to_text
from memory_cache.errors import AmbiguousId, InvalidInput, UnknownMemory
from memory_cache.models import Filter, Memory, Page
from memory_cache.search.filters import beginning_with, conditions

SHORTEST_PREFIX = 4

COLUMNS = """m.file_id, m.id, m.category, m.title, m.body, m.created, m.updated, m.project_id, m.project_name,
    m.priority, m.expires_at, m.related_to, m.tags, m.read_only, f.path"""
_FROM = "FROM memories m JOIN files f ON f.file_id = m.file_id"


@dataclass(frozen=True, slots=True)
class Stored:
    """A memory and the file it lives in."""

    file_id: int
    memory: Memory


def memory_of(row: sqlite3.Row) -> Memory:
    """The memory of a row that has `COLUMNS`."""
    return Memory(
        id=row["id"],
        title=row["title"],
        category=row["category"],
        tags=_strings(row["tags"]),
        content=row["body"],
        created=from_text(row["created"]),
        updated=from_text(row["updated"]),
        project_id=row["project_id"],
        project_name=row["project_name"],
        priority=row["priority"],
        expires_at=from_text(row["expires_at"]) if row["expires_at"] else None,
        related_to=_strings(row["related_to"]),
        path=row["path"],
        read_only=row["read_only"],
    )


def _strings(array: str) -> tuple[str, ...]:
    return () if array == "[]" else tuple(json.loads(array))


def find(connection: sqlite3.Connection, text: str) -> Stored:
    """The memory with this id, or with the only id that begins so; expired ones too.

    Raises: InvalidInput (empty, too short), UnknownMemory, AmbiguousId; both of the latter name candidates.
    """
    wanted = text.strip()
    row = connection.execute(f"SELECT {COLUMNS} {_FROM} WHERE m.id = ?", (wanted,)).fetchone()
    if row is not None:
        return Stored(row["file_id"], memory_of(row))
    check_prefix(wanted)
    rows = _beginning_with(connection, wanted)
    if len(rows) == 1:
        found = connection.execute(f"SELECT {COLUMNS} {_FROM} WHERE m.file_id = ?", (rows[0]["file_id"],)).fetchone()
        return Stored(found["file_id"], memory_of(found))
    if rows:
        raise AmbiguousId(
            f"{len(rows)}{'+' if len(rows) > 10 else ''} memories have an id that begins with {wanted}: "
            f"{_named(rows[:10])}.",
            "Give more of the id.",
        )
    raise UnknownMemory(f"No memory has the id {wanted!r}.", _did_you_mean(connection, wanted))


def check_prefix(wanted: str) -> None:
    """Raises: InvalidInput when this is too short to name one memory."""
    if not wanted:
        raise InvalidInput("An id is needed, and this one is empty.", "Use list or recall to find the id of a memory.")
    if len(wanted) < SHORTEST_PREFIX:
        raise InvalidInput(f"{wanted!r} is too short for an id.", f"Give at least {SHORTEST_PREFIX} characters of it.")


def _beginning_with(connection: sqlite3.Connection, prefix: str) -> list[sqlite3.Row]:
    pattern = beginning_with(prefix)
    rows = connection.execute(
        "SELECT id, file_id FROM memories WHERE id LIKE ? ESCAPE '\\' ORDER BY id LIMIT 11", (pattern,)
    ).fetchall()
    if not rows:
        return []
    marks = ", ".join("?" * len(rows))
    return connection.execute(
        f"SELECT id, file_id, title FROM memories WHERE file_id IN ({marks}) ORDER BY id",
        [row["file_id"] for row in rows],
    ).fetchall()


def _did_you_mean(connection: sqlite3.Connection, wanted: str) -> str:
    in_trash = connection.execute(
        "SELECT DISTINCT memory_id, title FROM trash WHERE memory_id LIKE ? ESCAPE '\\' LIMIT 2",
        (beginning_with(wanted),),
    ).fetchall()
    if len(in_trash) == 1:
        return f"It is in the trash ({in_trash[0]['title']}); restore brings it back."
    close = _beginning_with(connection, wanted[:SHORTEST_PREFIX])[:5]
    if close:
        return f"Ids that begin alike: {_named(close)}."
    return "Use list or recall to find the id of a memory."


def _named(rows: Iterable[sqlite3.Row]) -> str:
    return "; ".join(f"{row['id']} ({row['title']})" for row in rows)


def by_file(connection: sqlite3.Connection, file_id: int) -> Memory:
    """The memory that lives in this file. Raises: UnknownMemory."""
    row = connection.execute(f"SELECT {COLUMNS} {_FROM} WHERE m.file_id = ?", (file_id,)).fetchone()
    if row is None:
        raise UnknownMemory("This memory is gone.", "Use list or recall to find memories.")
    return memory_of(row)


def by_files(connection: sqlite3.Connection, file_ids: Sequence[int]) -> dict[int, Memory]:
    """The memories of these files, by file id; those that are gone are left out."""
    found = {}
    for start in range(0, len(file_ids), 500):
        part = file_ids[start : start + 500]
        marks = ", ".join("?" * len(part))
        for row in connection.execute(f"SELECT {COLUMNS} {_FROM} WHERE m.file_id IN ({marks})", part):
            found[row["file_id"]] = memory_of(row)
    return found


def by_ids(connection: sqlite3.Connection, ids: Sequence[str]) -> list[Memory]:
    """The living memories with these ids, in this order; those that are gone are left out."""
    found = {}
    for start in range(0, len(ids), 500):
        part = ids[start : start + 500]
        marks = ", ".join("?" * len(part))
        for row in connection.execute(f"SELECT {COLUMNS} {_FROM} WHERE m.id IN ({marks})", part):
            found[row["id"]] = memory_of(row)
    return [found[memory_id] for memory_id in ids if memory_id in found]


def latest(connection: sqlite3.Connection, filter_: Filter, limit: int, now: datetime) -> tuple[list[Memory], int]:
    """The memories updated last, and how many more there are."""
    page = listed(connection, filter_, limit, None, now)
    return list(page.memories), page.more


def listed(connection: sqlite3.Connection, filter_: Filter, limit: int, cursor: str | None, now: datetime) -> Page:
    """One page, the most recently updated first; `cursor` goes on where an earlier page ended.

    What is written meanwhile never makes a page repeat or skip a memory that stays as it was.
    Raises: InvalidInput for a limit below 1 or a cursor that no page gave.
    """
    if limit < 1:
        raise InvalidInput(f"A limit of {limit} is too small.", "Give a limit of at least 1.")
    condition, values = conditions(filter_, now)
    if cursor is not None:
        condition = f"({condition}) AND (m.updated, m.id) < (?, ?)"
        values = [*values, *_decode(cursor)]
    total = int(connection.execute(f"SELECT count(*) FROM memories m WHERE {condition}", values).fetchone()[0])
    rows = connection.execute(
        f"SELECT {COLUMNS} {_FROM} WHERE {condition} ORDER BY m.updated DESC, m.id DESC LIMIT ?", (*values, limit)
    ).fetchall()
    more = total - len(rows)
    last = _encode(rows[-1]["updated"], rows[-1]["id"]) if more > 0 and rows else None
    return Page(memories=tuple(map(memory_of, rows)), more=more, cursor=last)


def matching(connection: sqlite3.Connection, filter_: Filter, now: datetime) -> list[int]:
    """File ids of all memories that the filter lets through, the most recently updated first."""
    condition, values = conditions(filter_, now)
    return [
        row[0]
        for row in connection.execute(
            f"SELECT m.file_id FROM memories m WHERE {condition} ORDER BY m.updated DESC, m.id DESC", values
        )
    ]


def all_of(connection: sqlite3.Connection, category: str | None = None) -> list[Memory]:
    """Every memory, or every one of a category, expired ones too, in the order of their creation."""
    rows = connection.execute(
        f"SELECT {COLUMNS} {_FROM} WHERE m.category = coalesce(?, m.category) ORDER BY m.created, m.id", (category,)
    )
    return [memory_of(row) for row in rows]


def expired(connection: sqlite3.Connection, before: datetime) -> list[Stored]:
    """Memories whose expiry lies before this moment, the longest expired first."""
    rows = connection.execute(
        f"SELECT {COLUMNS} {_FROM} WHERE m.expires_at <= ? ORDER BY m.expires_at, m.id", (to_text(before),)
    )
    return [Stored(row["file_id"], memory_of(row)) for row in rows]


def count(connection: sqlite3.Connection) -> int:
    """How many memories there are, expired ones included."""
    return int(connection.execute("SELECT count(*) FROM memories").fetchone()[0])


def _encode(updated: str, memory_id: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([updated, memory_id]).encode()).decode().rstrip("=")


def _decode(cursor: str) -> tuple[str, str]:
    try:
        data = base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4))
        updated, memory_id = json.loads(data)
    except (ValueError, binascii.Error, RecursionError):
        updated = memory_id = None
    if not isinstance(updated, str) or not isinstance(memory_id, str):
        raise InvalidInput("This cursor is not valid.", "Leave it out to start with the first page.")
    return updated, memory_id
