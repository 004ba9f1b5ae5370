"""The files of this device: exact bytes, and the base they had in common with the storage.

The one place that writes to the table `files`. Every function runs inside a transaction of the
caller (`Database.write`), keeps what is derived from the bytes in step (`memory_cache.indexing`), and
keeps each text of a memory that it replaces (`memory_cache.revisions`).

A row's life: written here (no item id) → uploaded (item id and base) → changed here (content differs
from base) → uploaded … → deleted here (content NULL) → gone in the storage → row dropped.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memory_cache import indexing
from memory_cache.errors import EditedMeanwhile
from memory_cache.hashing import content_hash as content_hash  # part of this module's interface
from memory_cache.models import FileKind
from memory_cache.paths import kind_of
from memory_cache.revisions import Cause, keep_contents


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One row of `files`.

    Attributes:
        content: the bytes on this device; None when deleted here.
        local_version: grows with every local change; compared before a planned step is recorded.
        base: the bytes last known to be equal here and in the storage; None when there never were any.
        base_version: the storage's version of `base`.
        sent: bytes of an upload whose outcome is not known yet.
    """

    file_id: int
    path: str
    kind: FileKind
    content: bytes | None
    local_version: int
    item_id: str | None
    base_version: str | None
    base_path: str | None
    base: bytes | None
    sent: bytes | None

    @property
    def changed_here(self) -> bool:
        """Content differs from what the storage was last known to hold."""
        return self.content != self.base


_COLUMNS = """file_id, path, kind, content, content_hash, local_version, item_id, base_version, base_path,
    base_hash, base_content, sent_content"""


def record_of(row: sqlite3.Row) -> FileRecord:
    """The record of a row that has all columns of `files`."""
    base = row["base_content"]
    if base is None and row["base_hash"] is not None:
        base = row["content"]
    return FileRecord(
        file_id=row["file_id"],
        path=row["path"],
        kind=FileKind(row["kind"]),
        content=row["content"],
        local_version=row["local_version"],
        item_id=row["item_id"],
        base_version=row["base_version"],
        base_path=row["base_path"],
        base=base,
        sent=row["sent_content"],
    )


def get(connection: sqlite3.Connection, file_id: int) -> FileRecord | None:
    """The file, or None."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM files WHERE file_id = ?", (file_id,)).fetchone()
    return record_of(row) if row else None


def by_item(connection: sqlite3.Connection, item_id: str) -> FileRecord | None:
    """The file bound to this item of the storage, or None."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM files WHERE item_id = ?", (item_id,)).fetchone()
    return record_of(row) if row else None


def by_path(connection: sqlite3.Connection, path: str) -> FileRecord | None:
    """The live file at this path, or None. Where two share it for a moment, the one bound to an item."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM files WHERE path = ? AND content IS NOT NULL"
        " ORDER BY item_id IS NULL, file_id LIMIT 1",
        (path,),
    ).fetchone()
    return record_of(row) if row else None


def taken(connection: sqlite3.Connection, path: str) -> bool:
    """Whether a new file must not use this path: something is or was just there, here or in the storage."""
    found = connection.execute(
        "SELECT 1 FROM files WHERE path = ?1 UNION ALL SELECT 1 FROM remote_items WHERE path = ?1 LIMIT 1", (path,)
    ).fetchone()
    return found is not None


def add(connection: sqlite3.Connection, path: str, content: bytes) -> FileRecord:
    """A new file of this device; the next round creates it in the storage."""
    cursor = connection.execute(
        "INSERT INTO files (path, kind, content, content_hash) VALUES (?, ?, ?, ?)",
        (path, kind_of(path), content, content_hash(content)),
    )
    return _indexed(connection, int(cursor.lastrowid or 0), new=True)


def write(
    connection: sqlite3.Connection,
    file_id: int,
    content: bytes,
    *,
    expected: int | None = None,
    cause: Cause | None = None,
) -> FileRecord:
    """Replace the bytes on this device, also of a file deleted here; the base stays, so the next round uploads.

    Raises: EditedMeanwhile when `expected` is given and is not the file's `local_version`.
    """
    _expect(connection, file_id, expected)
    digest = content_hash(content)
    before = connection.execute("SELECT content_hash FROM files WHERE file_id = ?", (file_id,)).fetchone()
    if before is not None and before["content_hash"] == digest:
        return _required(connection, file_id)
    deleted_here = before is not None and before["content_hash"] is None  # so nothing is derived from it
    if not deleted_here:
        keep_contents(connection, [(file_id, digest)], cause or Cause())
    _set_content(connection, file_id, content)
    return _indexed(connection, file_id, new=deleted_here)


@dataclass(frozen=True, slots=True)
class Retagged:
    """New bytes of a memory's file that differ in nothing but these tags and this `updated`."""

    file_id: int
    content: bytes
    tags: tuple[str, ...]
    updated: datetime


def retag(connection: sqlite3.Connection, changes: Sequence[Retagged], cause: Cause) -> None:
    """As `write` for each, far cheaper for many: their search terms follow later (`indexing.catch_up`)."""
    digests = [content_hash(change.content) for change in changes]
    keep_contents(connection, [(c.file_id, digest) for c, digest in zip(changes, digests, strict=True)], cause)
    connection.executemany(
        _SET_CONTENT, [(digest, c.content, c.file_id) for c, digest in zip(changes, digests, strict=True)]
    )
    indexing.retag(connection, [(change.file_id, change.tags, change.updated) for change in changes])


def move(connection: sqlite3.Connection, file_id: int, path: str, *, expected: int | None = None) -> FileRecord:
    """Give the file another path on this device. Raises: EditedMeanwhile as `write` does."""
    _expect(connection, file_id, expected)
    connection.execute(
        "UPDATE files SET path = ?, kind = ?, local_version = local_version + 1 WHERE file_id = ? AND path <> ?",
        (path, kind_of(path), file_id, path),
    )
    return _indexed(connection, file_id)


def delete(connection: sqlite3.Connection, file_id: int, *, expected: int | None = None) -> None:
    """Delete on this device; `memory_cache.trash` keeps what it was. The row stays until the storage has
    followed; a file that never was in the storage, and may not be there, is dropped at once.

    Raises: EditedMeanwhile as `write` does.
    """
    _expect(connection, file_id, expected)
    row = connection.execute(
        "SELECT kind, item_id IS NULL AND sent_hash IS NULL AS only_here FROM files"
        " WHERE file_id = ? AND content IS NOT NULL",
        (file_id,),
    ).fetchone()
    if row is None:
        return
    indexing.remove(connection, file_id, FileKind(row["kind"]))
    if row["only_here"]:
        connection.execute("DELETE FROM files WHERE file_id = ?", (file_id,))
    else:
        _set_content(connection, file_id, None)


def delete_memories(connection: sqlite3.Connection, file_ids: str) -> None:
    """As `delete` for each of these memories (a JSON array), none of which shares its id with another file."""
    indexing.remove_memories(connection, file_ids)
    chosen = "file_id IN (SELECT value FROM json_each(?))"
    connection.execute(f"DELETE FROM files WHERE {chosen} AND item_id IS NULL AND sent_hash IS NULL", (file_ids,))
    connection.execute(
        "UPDATE files SET content = NULL, content_hash = NULL, local_version = local_version + 1, base_content ="
        f" CASE WHEN base_hash IS NULL THEN NULL ELSE coalesce(base_content, content) END WHERE {chosen}",
        (file_ids,),
    )


def drop(connection: sqlite3.Connection, file_id: int) -> None:
    """Forget the row: neither side has the file any more."""
    row = connection.execute("SELECT kind FROM files WHERE file_id = ?", (file_id,)).fetchone()
    if row is not None:
        indexing.remove(connection, file_id, FileKind(row["kind"]))
        connection.execute("DELETE FROM files WHERE file_id = ?", (file_id,))


def remember_sent(connection: sqlite3.Connection, file_id: int, data: bytes) -> None:
    """Note what an upload is about to carry, so that it is recognised when its answer gets lost."""
    connection.execute(
        "UPDATE files SET sent_hash = ?, sent_content = ? WHERE file_id = ?", (content_hash(data), data, file_id)
    )


def take_remote(
    connection: sqlite3.Connection,
    *,
    item_id: str,
    path: str,
    version: str,
    data: bytes,
    file_id: int | None,
    expected: int | None = None,
    cause: Cause | None = None,
) -> FileRecord:
    """This device now holds exactly what the storage holds: content = base = `data`.

    A `file_id` of None makes a new row. Raises: EditedMeanwhile when the row is no longer at `expected`,
    is gone, or when another row is bound to the item by now.
    """
    digest = content_hash(data)
    _unbound(connection, item_id, file_id)
    if file_id is None:
        cursor = connection.execute(
            "INSERT INTO files (path, kind, content, content_hash, item_id, base_version, base_path, base_hash)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (path, kind_of(path), data, digest, item_id, version, path, digest),
        )
        return _indexed(connection, int(cursor.lastrowid or 0), new=True)
    _expect(connection, file_id, expected)
    keep_contents(connection, [(file_id, digest)], cause or Cause("sync"))
    before = connection.execute("SELECT path, content_hash FROM files WHERE file_id = ?", (file_id,)).fetchone()
    connection.execute(
        "UPDATE files SET path = ?1, kind = ?2, content = ?3, content_hash = ?4,"
        " local_version = local_version + (content_hash IS NOT ?4 OR path <> ?1),"
        " item_id = ?5, base_version = ?6, base_path = ?1, base_hash = ?4, base_content = NULL,"
        " sent_hash = NULL, sent_content = NULL WHERE file_id = ?7",
        (path, kind_of(path), data, digest, item_id, version, file_id),
    )
    if before is not None and tuple(before) == (path, digest):
        return _required(connection, file_id)
    return _indexed(connection, file_id)


def record_base(
    connection: sqlite3.Connection, file_id: int, *, item_id: str, path: str, version: str, data: bytes
) -> FileRecord:
    """The storage holds `data` at `version`; whatever this device holds by now stays as it is.

    Used after an upload, and when both sides turn out to be equal. A local change that came in
    between is still a change afterwards: its base is now `data`. Raises: EditedMeanwhile when the row is
    gone, or when another row is bound to the item by now.
    """
    digest = content_hash(data)
    _unbound(connection, item_id, file_id)
    before = _required(connection, file_id)
    connection.execute(
        "UPDATE files SET item_id = ?1, base_version = ?2, base_path = ?3, base_hash = ?4,"
        " base_content = CASE WHEN content_hash = ?4 THEN NULL ELSE ?5 END,"
        " local_version = local_version + (path <> ?3), path = ?3, kind = ?6,"
        " sent_hash = NULL, sent_content = NULL WHERE file_id = ?7",
        (item_id, version, path, digest, data, kind_of(path), file_id),
    )
    return _required(connection, file_id) if before.path == path else _indexed(connection, file_id)


def take_over(connection: sqlite3.Connection, row: sqlite3.Row, *, with_base: bool) -> FileRecord:
    """Add a row of another cache: its content and, where it can be relied on, what was in step and what was sent.

    Raises: ValueError for a path out of scope; sqlite3.IntegrityError when its item is bound already.
    """
    record = record_of(row)
    if record.content is None:
        raise ValueError("a deletion is not taken over")
    based = with_base and record.item_id is not None and content_hash(record.base or b"") == row["base_hash"]
    cursor = connection.execute(
        "INSERT INTO files (path, kind, content, content_hash, local_version, item_id, base_version, base_path,"
        " base_hash, base_content) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            record.path,
            kind_of(record.path),
            record.content,
            content_hash(record.content),
            record.local_version,
            *((record.item_id, record.base_version, record.base_path, row["base_hash"]) if based else (None,) * 4),
            row["base_content"] if based else None,
        ),
    )
    file_id = int(cursor.lastrowid or 0)
    if record.sent is not None:
        remember_sent(connection, file_id, record.sent)
    return _indexed(connection, file_id)


def clear_base(connection: sqlite3.Connection, file_id: int) -> None:
    """The storage has no such file any more, and this device keeps it: it will be created anew."""
    connection.execute(
        "UPDATE files SET item_id = NULL, base_version = NULL, base_path = NULL, base_hash = NULL,"
        " base_content = NULL, sent_hash = NULL, sent_content = NULL WHERE file_id = ?",
        (file_id,),
    )


def clear_every_base(connection: sqlite3.Connection) -> None:
    """The storage is another one than before: nothing here was ever in it. Deletes nothing alive."""
    connection.execute("DELETE FROM files WHERE content IS NULL")
    connection.execute(
        "UPDATE files SET item_id = NULL, base_version = NULL, base_path = NULL, base_hash = NULL,"
        " base_content = NULL, sent_hash = NULL, sent_content = NULL"
    )


# base_content is filled when the first change drives content and base apart, emptied when they meet again.
_SET_CONTENT = """
UPDATE files SET base_content = CASE WHEN base_hash IS NULL OR base_hash = ?1 THEN NULL
    ELSE coalesce(base_content, content) END,
content = ?2, content_hash = ?1, local_version = local_version + 1 WHERE file_id = ?3
"""


def _set_content(connection: sqlite3.Connection, file_id: int, content: bytes | None) -> None:
    connection.execute(_SET_CONTENT, (None if content is None else content_hash(content), content, file_id))


def _expect(connection: sqlite3.Connection, file_id: int, expected: int | None) -> None:
    if expected is None:
        return
    row = connection.execute("SELECT local_version FROM files WHERE file_id = ?", (file_id,)).fetchone()
    if row is None or row["local_version"] != expected:
        raise EditedMeanwhile("The memory was changed by another session meanwhile.", "Read it again and repeat.")


def _unbound(connection: sqlite3.Connection, item_id: str, file_id: int | None) -> None:
    row = connection.execute("SELECT file_id FROM files WHERE item_id = ?", (item_id,)).fetchone()
    if row is not None and row["file_id"] != file_id:
        raise EditedMeanwhile("Another file stands for this item of the storage by now.", "Compare both sides again.")


def _required(connection: sqlite3.Connection, file_id: int) -> FileRecord:
    record = get(connection, file_id)
    if record is None:
        raise EditedMeanwhile("The memory was removed by another session meanwhile.", "Read it again and repeat.")
    return record


def _indexed(connection: sqlite3.Connection, file_id: int, *, new: bool = False) -> FileRecord:
    record = _required(connection, file_id)
    indexing.refresh(connection, file_id, record.path, record.kind, record.content, new=new)
    return record
