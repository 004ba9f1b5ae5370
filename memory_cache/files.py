"""The files of this device: exact bytes, and the base they had in common with the storage.

The one place that writes to the table `files`. Every function runs inside a transaction of the
caller (`Database.write`) and keeps what is derived from the bytes in step (`memory_cache.indexing`).

A row's life: written here (no item id) → uploaded (item id and base) → changed here (content differs
from base) → uploaded … → deleted here (content NULL) → gone in the storage → row dropped.
"""

import hashlib
import sqlite3
from dataclasses import dataclass

from memory_cache import indexing
from memory_cache.errors import EditedMeanwhile
from memory_cache.models import FileKind
from memory_cache.paths import kind_of


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


def content_hash(data: bytes) -> str:
    """SHA-256 in hex: this project's identity of content."""
    return hashlib.sha256(data).hexdigest()


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
    """The live file at this path, or None."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM files WHERE path = ? AND content IS NOT NULL",
        (path,),
    ).fetchone()
    return record_of(row) if row else None


def add(connection: sqlite3.Connection, path: str, content: bytes) -> FileRecord:
    """A new file of this device; the next round creates it in the storage."""
    cursor = connection.execute(
        "INSERT INTO files (path, kind, content, content_hash) VALUES (?, ?, ?, ?)",
        (path, kind_of(path), content, content_hash(content)),
    )
    return _indexed(connection, int(cursor.lastrowid or 0))


def write(connection: sqlite3.Connection, file_id: int, content: bytes, *, expected: int | None = None) -> FileRecord:
    """Replace the bytes on this device; the base stays, so the next round uploads.

    Raises: EditedMeanwhile when `expected` is given and is not the file's `local_version`.
    """
    _expect(connection, file_id, expected)
    _set_content(connection, file_id, content)
    return _indexed(connection, file_id)


def delete(connection: sqlite3.Connection, file_id: int, *, expected: int | None = None) -> None:
    """Delete on this device. The row stays until the storage has followed; a file that never
    was in the storage, and may not be there, is dropped at once."""
    _expect(connection, file_id, expected)
    record = get(connection, file_id)
    if record is None:
        return
    if record.item_id is None and record.sent is None:
        drop(connection, file_id)
        return
    _set_content(connection, file_id, None)
    indexing.remove(connection, file_id)


def drop(connection: sqlite3.Connection, file_id: int) -> None:
    """Forget the row: neither side has the file any more."""
    indexing.remove(connection, file_id)
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
) -> FileRecord:
    """This device now holds exactly what the storage holds: content = base = `data`.

    A `file_id` of None makes a new row. Raises: EditedMeanwhile when the row is no longer at `expected`.
    """
    digest = content_hash(data)
    if file_id is None:
        cursor = connection.execute(
            "INSERT INTO files (path, kind, content, content_hash, item_id, base_version, base_path, base_hash)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (path, kind_of(path), data, digest, item_id, version, path, digest),
        )
        return _indexed(connection, int(cursor.lastrowid or 0))
    _expect(connection, file_id, expected)
    connection.execute(
        "UPDATE files SET path = ?, kind = ?, content = ?, content_hash = ?, local_version = local_version + 1,"
        " item_id = ?, base_version = ?, base_path = ?, base_hash = ?, base_content = NULL,"
        " sent_hash = NULL, sent_content = NULL WHERE file_id = ?",
        (path, kind_of(path), data, digest, item_id, version, path, digest, file_id),
    )
    return _indexed(connection, file_id)


def record_base(
    connection: sqlite3.Connection, file_id: int, *, item_id: str, path: str, version: str, data: bytes
) -> FileRecord:
    """The storage holds `data` at `version`; whatever this device holds by now stays as it is.

    Used after an upload, and when both sides turn out to be equal. A local change that came in
    between is still a change afterwards: its base is now `data`.
    """
    digest = content_hash(data)
    connection.execute(
        "UPDATE files SET item_id = ?, base_version = ?, base_path = ?, base_hash = ?,"
        " base_content = CASE WHEN content_hash = ? THEN NULL ELSE ? END,"
        " path = ?, sent_hash = NULL, sent_content = NULL WHERE file_id = ?",
        (item_id, version, path, digest, digest, data, path, file_id),
    )
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


def _set_content(connection: sqlite3.Connection, file_id: int, content: bytes | None) -> None:
    # base_content is filled when the first change drives content and base apart, emptied when they meet again.
    digest = None if content is None else content_hash(content)
    connection.execute(
        "UPDATE files SET"
        " base_content = CASE WHEN base_hash IS NULL OR base_hash = ?1 THEN NULL"
        "   ELSE coalesce(base_content, content) END,"
        " content = ?2, content_hash = ?1, local_version = local_version + 1 WHERE file_id = ?3",
        (digest, content, file_id),
    )


def _expect(connection: sqlite3.Connection, file_id: int, expected: int | None) -> None:
    if expected is None:
        return
    row = connection.execute("SELECT local_version FROM files WHERE file_id = ?", (file_id,)).fetchone()
    if row is None or row["local_version"] != expected:
        raise EditedMeanwhile("The memory was changed by another session meanwhile.", "Read it again and repeat.")


def _indexed(connection: sqlite3.Connection, file_id: int) -> FileRecord:
    record = get(connection, file_id)
    if record is None:
        raise EditedMeanwhile("The memory was removed by another session meanwhile.", "Read it again and repeat.")
    indexing.refresh(connection, file_id, record.path, record.kind, record.content)
    return record
