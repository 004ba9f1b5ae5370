"""The trash of this device: what was deleted or expired here, or was seen deleted in the storage.

The storage itself holds only what is alive. An entry is the whole file, byte for byte.
"""

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime

from memory_cache import conflicts, files, paths, revisions, text_format
from memory_cache.clock import from_text, to_text
from memory_cache.errors import AmbiguousId, InvalidInput, UnknownMemory
from memory_cache.models import TrashEntry
from memory_cache.revisions import Cause
from memory_cache.search.filters import beginning_with

# A file that a person put back by hand is there again, and not in the trash.
_GONE = """NOT EXISTS (SELECT 1 FROM memories m JOIN files f USING (file_id)
    WHERE m.id = trash.memory_id AND f.content_hash = trash.content_hash)"""


def keep(connection: sqlite3.Connection, file_id: int, cause: Cause) -> None:
    """Put what this file holds right now into the trash; the file itself stays as it is.

    The same text of the same memory lies there once, with the time of the last deletion.
    """
    row = connection.execute(
        "SELECT f.path, f.content, f.content_hash, m.id, m.title, m.category"
        " FROM files f LEFT JOIN memories m USING (file_id) WHERE f.file_id = ? AND f.content IS NOT NULL",
        (file_id,),
    ).fetchone()
    if row is None:
        return
    memory_id = row["id"] or paths.derived_id("", row["path"])
    connection.execute("DELETE FROM trash WHERE memory_id = ? AND content_hash = ?", (memory_id, row["content_hash"]))
    connection.execute(
        "INSERT INTO trash (memory_id, path, title, category, content, content_hash, deleted_at, reason, change_id)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            memory_id,
            row["path"],
            row["title"] or text_format.read(row["content"]).title,
            row["category"] or paths.category_of(row["path"]),
            row["content"],
            row["content_hash"],
            to_text(cause.at),
            cause.reason,
            cause.change,
        ),
    )


def move_in(connection: sqlite3.Connection, file_id: int, cause: Cause, *, expected: int | None = None) -> None:
    """Delete the memory of this file on this device and keep it in the trash.

    Its open conflicts end with it; their texts go to its history. Raises: EditedMeanwhile as `files.delete` does.
    """
    row = connection.execute("SELECT id FROM memories WHERE file_id = ?", (file_id,)).fetchone()
    keep(connection, file_id, cause)
    files.delete(connection, file_id, expected=expected)
    if row is not None:
        for conflict_file in conflicts.of_memory(connection, row["id"]):
            close_conflict(connection, conflict_file, cause)


def move_in_many(connection: sqlite3.Connection, file_ids: Sequence[int], cause: Cause) -> None:
    """As `move_in` for each, in a fifth of the statements where nothing special is about them."""
    given = json.dumps(list(file_ids))
    special = {
        row[0]
        for row in connection.execute(
            "SELECT m.file_id FROM memories m WHERE m.file_id IN (SELECT value FROM json_each(?)) AND"
            " (m.id IS NOT m.written_id OR EXISTS (SELECT 1 FROM conflicts c WHERE c.memory_id = m.id) OR"
            " EXISTS (SELECT 1 FROM memories o WHERE o.written_id = m.written_id AND o.file_id <> m.file_id))",
            (given,),
        )
    }
    plain = json.dumps([file_id for file_id in file_ids if file_id not in special])
    source = "json_each(?1) j JOIN memories m ON m.file_id = j.value JOIN files f ON f.file_id = m.file_id"
    connection.execute(
        f"DELETE FROM trash WHERE (memory_id, content_hash) IN (SELECT m.id, f.content_hash FROM {source})", (plain,)
    )
    connection.execute(
        "INSERT INTO trash (memory_id, path, title, category, content, content_hash, deleted_at, reason, change_id)"
        " SELECT m.id, f.path, m.title, m.category, f.content, f.content_hash, ?2, ?3, ?4"
        f" FROM {source} ORDER BY j.key",
        (plain, to_text(cause.at), cause.reason, cause.change),
    )
    files.delete_memories(connection, plain)
    for file_id in file_ids:
        if file_id in special:
            move_in(connection, file_id, cause)


def close_conflict(connection: sqlite3.Connection, conflict_file: int, cause: Cause) -> None:
    """Delete the record of a conflict, everywhere; its losing text stays in the history of the memory."""
    record = files.get(connection, conflict_file)
    if record is None or record.content is None:
        return
    lost = conflicts.decode(record.content)
    digest = files.content_hash(lost.theirs)
    revisions.keep(connection, lost.memory_id, lost.path, lost.theirs, digest, cause)
    files.delete(connection, conflict_file)


def listed(connection: sqlite3.Connection, limit: int) -> tuple[list[TrashEntry], int]:
    """The entries deleted last, and how many more there are."""
    total = count(connection)
    rows = connection.execute(f"SELECT * FROM trash WHERE {_GONE} ORDER BY trash_id DESC LIMIT ?", (limit,)).fetchall()
    return [_entry(row) for row in rows], max(0, total - len(rows))


def count(connection: sqlite3.Connection) -> int:
    """How many entries there are."""
    return int(connection.execute(f"SELECT count(*) FROM trash WHERE {_GONE}").fetchone()[0])


def find(connection: sqlite3.Connection, text: str) -> tuple[int, str]:
    """Number and memory id of the newest entry with this id or prefix.

    Raises: UnknownMemory, AmbiguousId.
    """
    rows = connection.execute(
        "SELECT max(trash_id) AS trash_id, memory_id, title FROM trash WHERE memory_id LIKE ? ESCAPE '\\'"
        " GROUP BY memory_id ORDER BY 1 DESC",
        (beginning_with(text),),
    ).fetchall()
    exact = [row for row in rows if row["memory_id"] == text] or rows
    if not exact:
        raise UnknownMemory("No memory in the trash has this id.", "List the trash for the ids it holds.")
    if len(exact) > 1:
        named = "; ".join(f"{row['memory_id']} ({row['title']})" for row in exact[:10])
        raise AmbiguousId(f"Several memories in the trash begin with {text}: {named}.", "Give more of the id.")
    return int(exact[0]["trash_id"]), str(exact[0]["memory_id"])


def restore(connection: sqlite3.Connection, trash_id: int, now: datetime) -> int:
    """Bring the bytes back, at their old path or at a new one where that is taken; returns the file id.

    Only an expiry that has passed is taken out: the memory would vanish again at once.
    Raises: InvalidInput when a memory with this id lives.
    """
    row = connection.execute("SELECT * FROM trash WHERE trash_id = ?", (trash_id,)).fetchone()
    if row is None:
        raise UnknownMemory("This entry is no longer in the trash.", "List the trash for what it holds.")
    if connection.execute("SELECT 1 FROM memories WHERE id = ?", (row["memory_id"],)).fetchone():
        raise InvalidInput(
            f"The memory {row['memory_id']} is not deleted.", "Its history lists earlier texts, which can be restored."
        )
    content = _without_past_expiry(row["content"], now)
    file_id = place(connection, row["path"], row["memory_id"], content, now)
    connection.execute("DELETE FROM trash WHERE trash_id = ?", (trash_id,))
    return file_id


def purge(connection: sqlite3.Connection, before: datetime) -> int:
    """Drop for good what was deleted before this moment; returns how many."""
    return connection.execute("DELETE FROM trash WHERE deleted_at < ?", (to_text(before),)).rowcount


def place(connection: sqlite3.Connection, path: str, memory_id: str, content: bytes, now: datetime) -> int:
    """Put these bytes back among the living, at `path` or, where that is taken, at a new one; returns the file id."""
    # A row that still waits for the storage to follow its deletion comes back to life instead of making a second file.
    dead = connection.execute("SELECT file_id FROM files WHERE path = ? AND content IS NULL", (path,)).fetchone()
    if dead is not None and files.by_path(connection, path) is None:
        return files.write(connection, dead["file_id"], content).file_id
    if not paths.in_scope(path) or files.taken(connection, path):
        parsed = text_format.read(content)
        category = parsed.category or paths.category_of(path)
        created = parsed.created or now
        path = paths.memory_path(category, created, parsed.title, memory_id, lambda p: files.taken(connection, p))
    return files.add(connection, path, content).file_id


def _without_past_expiry(content: bytes, now: datetime) -> bytes:
    if b"expiresAt" not in content:
        return bytes(content)
    parsed = text_format.read(content)
    if parsed.problem is None and parsed.expires_at is not None and parsed.expires_at <= now:
        return text_format.rewrite(content, set={}, remove=("expiresAt",), body=None)
    return bytes(content)


def _entry(row: sqlite3.Row) -> TrashEntry:
    return TrashEntry(
        id=row["memory_id"],
        title=row["title"],
        category=row["category"],
        deleted_at=from_text(row["deleted_at"]),
        reason=row["reason"],
        content=text_format.read(row["content"]).body,
    )
