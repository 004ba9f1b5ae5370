"""Files that people and sync clients made: hand-written ones get an id, conflict copies are taken in.

An id is derived from the path and the bytes, so that every device that adopts a file gives it the same one. The
body is not touched. What is written here is an ordinary change of this device, uploaded over exactly the
version that was adopted: an editor that saves meanwhile wins a race, and loses nothing.
"""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from daemon import apply
from daemon.merge import merge
from daemon.round_context import Device
from memory_cache import files, paths, remote_tree, text_format
from memory_cache.errors import InvalidInput
from memory_cache.files import FileRecord
from memory_cache.hashing import content_hash
from memory_cache.models import FileKind
from memory_cache.problems import Code
from memory_cache.remote_tree import RemoteItem, RemoteState
from memory_cache.revisions import Cause

# A program that writes a file in several goes has finished by then.
QUIET = timedelta(seconds=1)
_BATCH = 200


@dataclass(slots=True)
class Waiting:
    """Hand-written files that are not quiet yet: since when each version has been known. In memory only."""

    since: dict[tuple[int, str], datetime] = field(default_factory=dict)


def adopt_files(connection: sqlite3.Connection, waiting: Waiting, now: datetime) -> tuple[int, float | None]:
    """Give hand-written files their ids. Returns how many got one, and seconds until others are quiet, or None."""
    rows = connection.execute(
        "SELECT DISTINCT p.file_id FROM problems p JOIN files f USING (file_id)"
        " WHERE p.code IN (?, ?) AND f.kind = ? AND f.content_hash = f.base_hash ORDER BY f.path",
        (Code.NO_ID, Code.READ_ONLY, FileKind.MEMORY),
    ).fetchall()
    adopted, known = 0, {}
    later: float | None = None
    for (file_id,) in rows:
        file, item = _in_step(connection, file_id)
        if file is None or item is None or not text_format.read(file.content or b"").adoptable:
            continue
        key = (file_id, item.version)
        known[key] = waiting.since.get(key, now)
        if not _quiet(item, known[key], now):
            later = QUIET.total_seconds()
        elif adopted < _BATCH:
            adopted += _adopt(connection, file, item, now)
        else:
            later = 0.0
    waiting.since = known
    return adopted, later


def _in_step(connection: sqlite3.Connection, file_id: int) -> tuple[FileRecord | None, RemoteItem | None]:
    file = files.get(connection, file_id)
    if file is None or file.content is None or file.item_id is None:
        return None, None
    item = remote_tree.divergence(connection, file_id, file.item_id).remote
    if item is None or item.state is not RemoteState.PRESENT or item.version != file.base_version:
        return None, None
    return file, item


def _quiet(item: RemoteItem, known_since: datetime, now: datetime) -> bool:
    # By the file's own time, where that can be right; a clock that is ahead must not put the file off for ever.
    written = _moment(item.modified)
    if written is not None and now - written >= QUIET:
        return True
    return now - known_since >= QUIET


def _moment(seconds: float | None) -> datetime | None:
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _adopt(connection: sqlite3.Connection, file: FileRecord, item: RemoteItem, now: datetime) -> bool:
    data = file.content or b""
    written = _moment(item.modified) or now
    created = min(paths.date_of(file.path) or written, written)
    fields: dict[str, text_format.Value] = {
        "id": paths.derived_id(content_hash(data), file.path),
        "category": paths.category_of(file.path),
        "created": created,
        "updated": written,
    }
    try:
        adopted = text_format.adopt(data, fields)
    except InvalidInput:
        return False
    files.write(connection, file.file_id, adopted, expected=file.local_version, cause=Cause("adopt", now))
    return True


def take_in_copies(
    connection: sqlite3.Connection, candidates: Iterable[str] | None, device: Device, now: datetime
) -> tuple[int, int]:
    """Merge conflict copies of sync clients into their originals and delete them.

    `candidates`: ids of items that are new; None for all there are. A copy is one by its name, by an original that
    exists, and by the same identity inside. Nothing is known of what the two have in common, so where they differ
    the losing version becomes an open conflict. Returns how many were taken in, and how many left a conflict.
    """
    taken = conflicts = 0
    for file_id in _possible_copies(connection, candidates):
        copy, _ = _in_step(connection, file_id)
        if copy is None or copy.content is None or copy.content != copy.base:
            continue
        original = _original_of(connection, copy)
        if original is None or original.content is None:
            continue
        merged = merge(copy.kind, None, original.content, copy.content)
        files.write(connection, original.file_id, merged.data, cause=Cause("merge", now))
        apply.end_needless_conflicts(connection, original.file_id)
        if merged.loser is not None:
            apply.keep_loser(connection, original.file_id, None, merged, original.content, device, now)
            conflicts += 1
        files.delete(connection, copy.file_id)
        taken += 1
    return taken, conflicts


def _possible_copies(connection: sqlite3.Connection, candidates: Iterable[str] | None) -> list[int]:
    """Files that may be copies: memories with an id that another one has, and new files of the flat folders."""
    found = [
        row[0]
        for row in connection.execute(
            "SELECT m.file_id FROM memories m JOIN files f USING (file_id) WHERE m.written_id IN"
            " (SELECT written_id FROM memories WHERE written_id IS NOT NULL GROUP BY written_id HAVING count(*) > 1)"
            " ORDER BY length(f.path) DESC, f.path"
        )
    ]
    flat = "SELECT file_id, item_id FROM files WHERE kind NOT IN ('memory', 'index') AND content IS NOT NULL"
    wanted = None if candidates is None else set(candidates) - {""}
    if wanted is None or wanted:
        rows = connection.execute(f"{flat} ORDER BY length(path) DESC, path").fetchall()
        found += [row[0] for row in rows if wanted is None or row[1] in wanted]
    return found


def _original_of(connection: sqlite3.Connection, copy: FileRecord) -> FileRecord | None:
    mark = _identity(copy.kind, copy.content or b"")
    if mark is None:
        return None
    for path in paths.possible_originals(copy.path):
        original = files.by_path(connection, path)
        if original is not None and original.kind is copy.kind and original.file_id != copy.file_id:
            same = _identity(original.kind, original.content or b"") == mark
            return original if same else None
    return None


def _identity(kind: FileKind, data: bytes) -> str | None:
    """What a copy has in common with its original whatever was changed in it."""
    if kind in (FileKind.MEMORY, FileKind.DOCUMENT, FileKind.PATTERN):
        parsed = text_format.read(data)
        return parsed.id if parsed.problem is None else None
    try:
        fields = json.loads(data)
        return str(fields["id"]) if kind is FileKind.DEVICE else json.dumps([fields["memory_id"], fields["theirs"]])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
