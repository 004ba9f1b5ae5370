"""Texts that a later write replaced, kept on this device: at most 50 of each memory, for at most a year.

50 is a working day of edits; a year outlives every other trace of a mistake (trash: 30 days). Both bound
the cache: the median memory has 2 kB, so a memory edited without end costs 100 kB.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from memory_cache import text_format
from memory_cache.clock import from_text, to_text, utc_now
from memory_cache.errors import InvalidInput
from memory_cache.models import Revision

PER_MEMORY = 50
MAX_AGE = timedelta(days=365)
ORPHAN_AGE = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class Cause:
    """Why bytes are replaced.

    Attributes:
        reason: one word for people: `update`, `sync`, `merge` …
        at: when; told to people, never compared.
        change: the undoable change it belongs to (`memory_cache.changes`), or None.
    """

    reason: str = "write"
    at: datetime = field(default_factory=utc_now)
    change: int | None = None


def keep_contents(connection: sqlite3.Connection, replaced: Sequence[tuple[int, str | None]], cause: Cause) -> None:
    """Keep what the memories of these files hold right now, before other bytes take their place.

    Args:
        replaced: file id, and hash of the bytes that come instead. When they are the same, nothing is kept.
    """
    facts = (to_text(cause.at), cause.reason, cause.change)
    connection.executemany(
        "INSERT INTO revisions (memory_id, path, content, content_hash, replaced_by, replaced_at, reason, change_id)"
        " SELECT m.id, f.path, f.content, f.content_hash, ?2, ?3, ?4, ?5 FROM memories m JOIN files f USING (file_id)"
        " WHERE m.file_id = ?1 AND f.content_hash IS NOT ?2",
        [(*pair, *facts) for pair in replaced],
    )
    connection.executemany(
        f"{_BOUND} (SELECT id FROM memories WHERE file_id = ?)", [(file_id,) for file_id, _ in replaced]
    )


def keep(connection: sqlite3.Connection, memory_id: str, path: str, content: bytes, digest: str, cause: Cause) -> None:
    """Keep a text (and its hash) that never stood in the memory's file here, such as a version settled away."""
    connection.execute(
        "INSERT INTO revisions (memory_id, path, content, content_hash, replaced_at, reason, change_id)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (memory_id, path, content, digest, to_text(cause.at), cause.reason, cause.change),
    )
    connection.execute(f"{_BOUND} ?", (memory_id,))


_BOUND = f"""
DELETE FROM revisions WHERE revision_id <= (SELECT r.revision_id FROM revisions r
    WHERE r.memory_id = revisions.memory_id ORDER BY r.revision_id DESC LIMIT 1 OFFSET {PER_MEMORY})
AND memory_id ="""


def listed(connection: sqlite3.Connection, memory_id: str) -> list[Revision]:
    """The kept texts of a memory, the latest replaced first."""
    rows = connection.execute(
        "SELECT * FROM revisions WHERE memory_id = ? ORDER BY revision_id DESC", (memory_id,)
    ).fetchall()
    return [_revision(row) for row in rows]


def _revision(row: sqlite3.Row) -> Revision:
    parsed = text_format.read(row["content"])
    return Revision(
        revision=row["revision_id"],
        memory_id=row["memory_id"],
        title=parsed.title,
        content=parsed.body,
        replaced_at=from_text(row["replaced_at"]),
        reason=row["reason"],
    )


def content_of(connection: sqlite3.Connection, memory_id: str, revision: int) -> bytes:
    """The bytes of a kept text. Raises: InvalidInput when this memory has no such revision."""
    row = connection.execute(
        "SELECT content FROM revisions WHERE revision_id = ? AND memory_id = ?", (revision, memory_id)
    ).fetchone()
    if row is None:
        raise InvalidInput(
            f"This memory has no revision {revision}.", "Its history lists the numbers of its revisions."
        )
    return bytes(row["content"])


def purge(connection: sqlite3.Connection, now: datetime) -> int:
    """Drop what is older than a year; after 90 days also texts of memories that neither live nor lie in the trash."""
    return connection.execute(
        "DELETE FROM revisions WHERE replaced_at < ? OR (replaced_at < ? AND memory_id NOT IN (SELECT id FROM memories)"
        " AND memory_id NOT IN (SELECT memory_id FROM trash))",
        (to_text(now - MAX_AGE), to_text(now - ORPHAN_AGE)),
    ).rowcount
