"""Takes what is whole out of a damaged cache: every row is read on its own, and counts only with its right hash."""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memory_cache import files, meta
from memory_cache.clock import to_text, utc_now
from memory_cache.database import transaction
from memory_cache.hashing import content_hash
from memory_cache.models import FileKind

NOTICE = "opening.notice"
_META = ("device.id", "device.name", "remote.scope")
_WRITTEN = (FileKind.MEMORY, FileKind.DOCUMENT, FileKind.PATTERN)
_HIGHEST_ROW = 1 << 40
_MOST_FAILURES = 20_000


@dataclass(frozen=True, slots=True)
class Salvaged:
    """What was taken over: files, of which so many had never reached the storage in this form."""

    files: int
    unsynced: int


def take_over(damaged: Path, connection: sqlite3.Connection, *, kept_as: Path) -> Salvaged:
    """Copy all whole rows of the damaged file into the new, empty cache, and leave a notice there for `status`."""
    source = sqlite3.connect(damaged, isolation_level=None)
    source.row_factory = sqlite3.Row
    source.text_factory = lambda data: data.decode("utf-8", "replace")
    try:
        with transaction(connection):
            _meta(source, connection)
            result = _files(source, connection)
            _texts(source, connection, "trash", "trash_id")
            _texts(source, connection, "revisions", "revision_id")
            notice = {
                "at": to_text(utc_now()),
                "kept": str(kept_as),
                "files": result.files,
                "unsynced": result.unsynced,
            }
            meta.put(connection, NOTICE, json.dumps(notice))
    finally:
        source.close()
    return result


def put_beside(orphan: Path, connection: sqlite3.Connection, *, mark: str) -> None:
    """Add to a cache that is in use what a removed one held and no storage has seen.

    Where its path is taken by another text, it becomes a conflict copy, named with `mark`: the next round unites both.
    """
    source = sqlite3.connect(orphan, isolation_level=None)
    source.row_factory = sqlite3.Row
    try:
        with transaction(connection):
            for row in _rows(source, "files", "file_id"):
                record = files.record_of(row)
                if record.kind in _WRITTEN and record.content is not None and record.changed_here:
                    _put_one(connection, record.path, record.content, mark)
    finally:
        source.close()


def _put_one(connection: sqlite3.Connection, path: str, content: bytes, mark: str) -> None:
    known = "SELECT 1 FROM files WHERE content_hash = ?"
    if connection.execute(known, (content_hash(content),)).fetchone():
        return
    if files.taken(connection, path):
        stem, dot, suffix = path.rpartition(".")
        path = f"{stem} (conflicted copy {mark}){dot}{suffix}"
    files.add(connection, path, content)


def notice(connection: sqlite3.Connection) -> str:
    """One sentence about a damaged cache that was replaced; empty when there was none."""
    stored = meta.get(connection, NOTICE)
    if stored is None:
        return ""
    facts = json.loads(stored)
    return (
        f"The cache was damaged and was replaced at {facts['at']}: {facts['files']} files were taken over, "
        f"{facts['unsynced']} of them not yet synced; the rest comes from the storage. The old one is {facts['kept']}."
    )


def _meta(source: sqlite3.Connection, connection: sqlite3.Connection) -> None:
    for key in _META:
        try:
            value = meta.get(source, key)
        except sqlite3.DatabaseError:
            continue
        if value is not None:
            meta.put(connection, key, value)


def _files(source: sqlite3.Connection, connection: sqlite3.Connection) -> Salvaged:
    # Bases belong to a known storage; without its name every file counts as new, and is compared by content.
    scope_known = meta.get(connection, "remote.scope") is not None
    total = unsynced = 0
    for row in _rows(source, "files", "file_id"):
        content = row["content"]
        if content is None or content_hash(content) != row["content_hash"]:
            continue
        try:
            record = files.take_over(connection, row, with_base=scope_known)
        except (ValueError, sqlite3.IntegrityError):
            continue
        total += 1
        unsynced += record.changed_here
    return Salvaged(total, unsynced)


_TEXTS = {
    "trash": "memory_id, path, title, category, deleted_at, reason, content_hash, content",
    "revisions": "memory_id, path, replaced_at, reason, content_hash, replaced_by, content",
}


def _texts(source: sqlite3.Connection, connection: sqlite3.Connection, table: str, key: str) -> None:
    columns = _TEXTS[table]
    names = columns.split(", ")
    marks = ", ".join("?" * len(names))
    for row in _rows(source, table, key):
        if content_hash(row["content"] or b"") == row["content_hash"]:
            connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", [row[name] for name in names])


def _rows(source: sqlite3.Connection, table: str, key: str) -> Iterator[sqlite3.Row]:
    """All rows that can be read. A range that cannot is halved until only the bad rows are left out."""
    ranges, failures = [(1, _HIGHEST_ROW)], 0
    while ranges and failures < _MOST_FAILURES:
        first, last = ranges.pop()
        try:
            rows = source.execute(f"SELECT * FROM {table} WHERE {key} BETWEEN ? AND ?", (first, last)).fetchall()
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_NOTADB:
                return
            failures += 1
            if first < last:
                middle = (first + last) // 2
                ranges += [(middle + 1, last), (first, middle)]
        else:
            yield from rows
