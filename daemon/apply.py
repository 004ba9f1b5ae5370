"""Carrying decisions out in the cache: each function runs inside one transaction, on the state it finds there.

The storage's side of a step is done by `round_pull`, `round_push` and `round_delete`; what they learned
or did is recorded here. Every function may be run again: a killed daemon repeats its last step and gets the same.
"""

import sqlite3
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum

from daemon.merge import Merged, merge
from daemon.reconcile import DeleteRemote
from daemon.round_context import Device
from daemon.round_observe import observed
from daemon.round_plan import Step
from memory_cache import conflicts, files, paths, remote_tree, revisions, text_format, trash
from memory_cache.clock import EPOCH, later_than
from memory_cache.conflicts import ConflictRecord
from memory_cache.errors import InvalidInput
from memory_cache.files import FileRecord
from memory_cache.hashing import content_hash
from memory_cache.models import FileKind
from memory_cache.remote_tree import RemoteState
from memory_cache.revisions import Cause
from storage_backends.base import Content, Item

_TRASHED = frozenset({FileKind.MEMORY, FileKind.PATTERN})


class Outcome(Enum):
    """What `settle` came to."""

    IN_STEP = "in step"
    DOWNLOADED = "downloaded"
    MERGED = "merged"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class Arrival:
    """What was just read from the storage.

    Attributes:
        partner: the file that it may belong to although it is not bound to its item.
        listed: the item is exactly as the cache has it noted.
    """

    content: Content
    partner: int | None = None
    listed: bool = False


def settle(connection: sqlite3.Connection, arrival: Arrival, device: Device, at: datetime) -> Outcome:
    """Bring together what the storage holds right now and what this device holds."""
    item, data = arrival.content.item, arrival.content.data
    record = (
        files.by_item(connection, item.item_id) or _partner(connection, arrival) or _namesake(connection, item.path)
    )
    if not arrival.listed:
        remote_tree.store(connection, observed(item))
    if record is None:
        _take(connection, item, data, None, at)
        return Outcome.DOWNLOADED
    base = record.base
    if record.item_id is not None and record.item_id != item.item_id:
        remote_tree.forget(connection, record.item_id)
    if data in (record.content, record.sent, base) or record.path == device.path:
        files.record_base(
            connection, record.file_id, item_id=item.item_id, path=item.path, version=item.version, data=data
        )
        return Outcome.IN_STEP
    if record.content is None or record.content == base:
        _take(connection, item, data, record.file_id, at)
        return Outcome.DOWNLOADED
    if base is None and not _same_memory(record.content, data):
        # Two files met at one path. The storage's stays there; ours goes to a path of its own.
        files.move(connection, record.file_id, free_path(connection, record))
        _take(connection, item, data, None, at)
        return Outcome.DOWNLOADED
    return _merge(connection, record, base, arrival.content, device, at)


def bound_elsewhere(
    connection: sqlite3.Connection, content: Content, memory_id: str | None
) -> list[tuple[int, str | None]]:
    """Files bound to another item that is this one by its memory id, or by path and bytes: (file id, item id)."""
    rows = connection.execute(
        "SELECT f.file_id, f.item_id FROM memories m JOIN files f USING (file_id)"
        " WHERE m.written_id = ?1 AND f.item_id IS NOT NULL AND f.item_id <> ?2"
        " UNION SELECT file_id, item_id FROM files"
        " WHERE path = ?3 AND base_hash = ?4 AND item_id IS NOT NULL AND item_id <> ?2 ORDER BY 1",
        (memory_id, content.item.item_id, content.item.path, content_hash(content.data)),
    )
    return [(row[0], row[1]) for row in rows]


def note_absent(connection: sqlite3.Connection, item_id: str | None, version: str | None = None) -> None:
    """The storage was asked for the item and has it no more (`version`: as long as it is noted at this one)."""
    known = remote_tree.divergence(connection, None, item_id).remote
    if known is not None and known.state is RemoteState.PRESENT and version in (None, known.version):
        remote_tree.store(connection, replace(known, state=RemoteState.ABSENT))


def _partner(connection: sqlite3.Connection, arrival: Arrival) -> FileRecord | None:
    if arrival.partner is None:
        return None
    record = files.get(connection, arrival.partner)
    if record is None or record.item_id is None:
        return record
    # Only as long as its own item is not there again.
    state = connection.execute("SELECT state FROM remote_items WHERE item_id = ?", (record.item_id,)).fetchone()
    return None if state is not None and state[0] == "present" else record


def _namesake(connection: sqlite3.Connection, path: str) -> FileRecord | None:
    """A file of this path that came up here since the plan was made, such as the very conflict that is arriving."""
    row = connection.execute(
        "SELECT file_id FROM files WHERE path = ? AND item_id IS NULL ORDER BY file_id LIMIT 1", (path,)
    ).fetchone()
    return files.get(connection, row["file_id"]) if row is not None else None


def _same_memory(one: bytes, other: bytes) -> bool:
    first, second = text_format.read(one).id, text_format.read(other).id
    return first == second


def _take(connection: sqlite3.Connection, item: Item, data: bytes, file_id: int | None, at: datetime) -> None:
    files.take_remote(
        connection, item_id=item.item_id, path=item.path, version=item.version, data=data, file_id=file_id,
        cause=Cause("sync", at),
    )  # fmt: skip


def _merge(
    connection: sqlite3.Connection,
    record: FileRecord,
    base: bytes | None,
    content: Content,
    device: Device,
    at: datetime,
) -> Outcome:
    """What the storage holds becomes the base, what both edits make becomes the content: an ordinary change of
    this device, to be uploaded over exactly that version."""
    item, data = content.item, content.data
    mine = record.content or b""
    merged = merge(record.kind, base, mine, data)
    files.record_base(connection, record.file_id, item_id=item.item_id, path=item.path, version=item.version, data=data)
    memory_id = identity_of(connection, record.file_id)
    if merged.data != data and memory_id is not None:
        revisions.keep(connection, memory_id, item.path, data, content_hash(data), Cause("merge", at))
    files.write(connection, record.file_id, merged.data, cause=Cause("merge", at))
    end_needless_conflicts(connection, record.file_id)
    if merged.loser is None:
        return Outcome.MERGED
    keep_loser(connection, record.file_id, base, merged, mine, device, at)
    return Outcome.CONFLICT


def identity_of(connection: sqlite3.Connection, file_id: int) -> str | None:
    """Id of the memory that lives in this file."""
    row = connection.execute("SELECT id FROM memories WHERE file_id = ?", (file_id,)).fetchone()
    return None if row is None else str(row["id"])


def keep_loser(
    connection: sqlite3.Connection,
    file_id: int,
    base: bytes | None,
    merged: Merged,
    mine: bytes,
    device: Device,
    at: datetime,
) -> None:
    """Keep the losing version whole: as an open conflict of its memory, or as a file of its own where it names none.

    `mine`: the version of this device.
    """
    record, loser = files.get(connection, file_id), merged.loser
    if record is None or loser is None:
        return
    memory_id = identity_of(connection, file_id) or text_format.read(merged.data).id
    if memory_id is not None:
        author = device.name if loser == mine else ""
        note = ConflictRecord(memory_id, record.path, author, at, base, loser, {device.id: at})
        path = conflicts.path_of(note)
        known = connection.execute(
            "SELECT file_id, content, coalesce(content, base_content) AS latest FROM files WHERE path = ?", (path,)
        ).fetchone()
        if known is None:
            files.add(connection, path, conflicts.encode(note))
            return
        earlier = _note(known["latest"])
        if known["content"] is None or (earlier is not None and earlier.theirs == loser):
            # The same version has lost again. Whoever settled it before, here or elsewhere, has not seen that:
            # a changed record is not deleted with the old one.
            files.write(connection, known["file_id"], conflicts.encode(_lost_again(note, earlier, device)))
            return
    stem, dot, suffix = record.path.rpartition(".")
    path = f"{stem}-{content_hash(loser)[:8]}{dot}{suffix}"
    if connection.execute("SELECT 1 FROM files WHERE path = ?", (path,)).fetchone() is None:
        files.add(connection, path, loser)


def _lost_again(note: ConflictRecord, earlier: ConflictRecord | None, device: Device) -> ConflictRecord:
    if earlier is None:
        return note
    at = later_than(earlier.at, note.at)
    return replace(note, at=at, kept_by={**earlier.kept_by, device.id: at})


def end_needless_conflicts(connection: sqlite3.Connection, file_id: int) -> None:
    """After a merge: a conflict that nobody else has seen yet, and whose other version is the one that stands now."""
    memory_id = identity_of(connection, file_id)
    if memory_id is None:
        return
    for conflict_file in conflicts.of_memory(connection, memory_id):
        end_needless_conflict(connection, conflict_file)


def end_needless_conflict(connection: sqlite3.Connection, conflict_file: int) -> bool:
    """Delete this conflict if nobody else has seen it yet and its other version stands now. Whether it was so."""
    found = files.get(connection, conflict_file)
    note = _note(found.content) if found is not None else None
    if found is None or note is None or found.item_id is not None or found.sent is not None:
        return False
    row = connection.execute(
        "SELECT 1 FROM memories m JOIN files f USING (file_id) WHERE m.id = ?1 AND f.content = ?3"
        " UNION ALL SELECT 1 FROM files WHERE path = ?2 AND content = ?3",
        (note.memory_id, note.path, note.theirs),
    ).fetchone()
    if row is not None:
        files.delete(connection, conflict_file)
    return row is not None


def _note(data: bytes | None) -> ConflictRecord | None:
    try:
        return conflicts.decode(data or b"")
    except (ValueError, TypeError, RecursionError):
        return None


def free_path(connection: sqlite3.Connection, record: FileRecord, *, plain: bool = False) -> str:
    """A path for this file that nothing uses and any storage accepts. `plain`: not even in the same folder."""
    parsed = text_format.read(record.content or b"")
    marks = content_hash(record.content or b"")
    if record.kind is FileKind.MEMORY:
        category = paths.DEFAULT_CATEGORY if plain else paths.category_of(record.path)
        created = parsed.created or parsed.updated or paths.date_of(record.path) or EPOCH
        title = parsed.title
        try:
            return paths.memory_path(category, created, title, parsed.id or marks, lambda p: files.taken(connection, p))
        except InvalidInput:
            return paths.memory_path(
                paths.DEFAULT_CATEGORY, created, title, parsed.id or marks, lambda p: files.taken(connection, p)
            )
    folder, _, name = record.path.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    return f"{folder}/{paths.slug(stem)}-{marks[:8]}{dot}{suffix}"


def move(connection: sqlite3.Connection, step: Step) -> bool:
    """The same bytes stand at another path in the storage: here, too. False when that is not so any more."""
    pair = remote_tree.divergence(connection, step.file_id, step.item_id)
    file, item = pair.file, pair.remote
    if file is None or item is None or file.base is None or item.version != file.base_version:
        return False
    files.record_base(
        connection, file.file_id, item_id=item.item_id, path=item.path, version=item.version, data=file.base
    )
    return True


def uploaded(connection: sqlite3.Connection, file_id: int, item: Item, data: bytes) -> None:
    """The storage took these bytes of ours."""
    remote_tree.store(connection, observed(item))
    files.record_base(connection, file_id, item_id=item.item_id, path=item.path, version=item.version, data=data)


def winner_is_out(connection: sqlite3.Connection, conflict_file: int) -> bool:
    """Whether the storage holds what the memory of this conflict became here."""
    row = connection.execute(
        "SELECT 1 FROM conflicts c JOIN memories m ON m.id = c.memory_id JOIN files f ON f.file_id = m.file_id"
        " WHERE c.file_id = ? AND f.content_hash IS NOT f.base_hash",
        (conflict_file,),
    ).fetchone()
    return row is None


def _taken_in_elsewhere(connection: sqlite3.Connection, copy: FileRecord) -> bool:
    """Whether all that a deleted conflict copy held is in the storage: its original, and what lost against it."""
    memory_id = text_format.read(copy.base or b"").id
    row = connection.execute(
        "SELECT 1 FROM memories m JOIN files f USING (file_id) WHERE m.written_id = ?1"
        " AND f.content_hash IS NOT f.base_hash"
        " UNION ALL SELECT 1 FROM conflicts c JOIN files f USING (file_id)"
        " WHERE c.memory_id = ?1 AND f.item_id IS NULL",
        (memory_id,),
    ).fetchone()
    return row is None


def still_due(connection: sqlite3.Connection, step: Step) -> bool:
    """Whether this delete is what the file still needs, after all that the round did since it was planned."""
    record = files.get(connection, step.file_id or 0)
    if record is None or record.item_id is None or record.item_id != step.item_id:
        return False  # moved, or dealt with
    if isinstance(step.action, DeleteRemote):
        due = record.content is None and record.base_version == step.version
        return due and _taken_in_elsewhere(connection, record)
    return record.content is not None and record.content == record.base


def deleted_here(connection: sqlite3.Connection, step: Step, at: datetime) -> bool:
    """The file is gone in the storage (confirmed) and was not changed here: it goes to the trash of this device.

    False when it was changed meanwhile, or is there again.
    """
    if not still_due(connection, step):
        return False
    if step.kind in _TRASHED and step.file_id is not None:
        trash.keep(connection, step.file_id, Cause("deleted elsewhere", at))
    drop(connection, step)
    return True


def deleted_there(connection: sqlite3.Connection, step: Step) -> bool:
    """The storage has followed a delete of this device. When the file came back here meanwhile, it counts as new."""
    record = files.get(connection, step.file_id or 0)
    if record is not None and record.item_id == step.item_id and record.content is None:
        drop(connection, step)
        return True
    create_again(connection, step)
    return False


def drop(connection: sqlite3.Connection, step: Step) -> None:
    """Neither side has the file any more: forget both notes of it."""
    if step.file_id is not None:
        files.drop(connection, step.file_id)
    if step.item_id is not None:
        remote_tree.forget(connection, step.item_id)


def drop_deleted(connection: sqlite3.Connection, step: Step) -> None:
    """Gone on both sides; nothing happens when the file came back here meanwhile."""
    record = files.get(connection, step.file_id) if step.file_id is not None else None
    if record is None or (record.content is None and record.item_id == step.item_id):
        drop(connection, step)


def create_again(connection: sqlite3.Connection, step: Step) -> None:
    """The file is gone in the storage (confirmed) and was changed here: it counts as new."""
    record = files.get(connection, step.file_id or 0)
    if record is not None and record.item_id == step.item_id:
        files.clear_base(connection, record.file_id)
    if step.item_id is not None:
        remote_tree.forget(connection, step.item_id)
