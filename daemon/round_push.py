"""This device's changes go out: each on the condition that nobody was faster.

Before an upload its bytes are noted as sent, so that they are recognised when its answer gets lost.
"""

import sqlite3
from dataclasses import dataclass

from daemon import apply
from daemon.round_context import Round, in_parallel
from daemon.round_observe import observed
from daemon.round_plan import Step
from daemon.round_pull import gone
from memory_cache import files, remote_tree
from memory_cache.errors import EditedMeanwhile
from memory_cache.models import FileKind
from storage_backends.base import Item
from storage_backends.errors import (
    AlreadyExists,
    InvalidName,
    ItemBusy,
    NotFound,
    StorageError,
    StorageFull,
    VersionMismatch,
)

_BATCH = 100
# The other kinds are found by their names: a device note or a conflict under another name would be another one.
_NAMED_FREELY = frozenset({FileKind.MEMORY, FileKind.DOCUMENT, FileKind.PATTERN})


@dataclass(frozen=True, slots=True)
class _Upload:
    step: Step
    file_id: int
    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class _Done:
    upload: _Upload
    item: Item


async def push(current: Round, steps: list[Step]) -> None:
    """Create or update each of these files in the storage. Files that fail are reported; lost races are left
    to the next pass, with what the storage holds by then.

    An open conflict follows the memory that it lost against, never precedes it: whoever settles it elsewhere
    has to see both versions.
    """
    conflicts_last = (
        [s for s in steps if s.kind is not FileKind.CONFLICT],
        [s for s in steps if s.kind is FileKind.CONFLICT],
    )
    for group in conflicts_last:
        for start in range(0, len(group), _BATCH):
            if not current.uploads_paused:
                await _push_batch(current, group[start : start + _BATCH])


async def _push_batch(current: Round, steps: list[Step]) -> None:
    uploads = await current.database.write(lambda connection: [_prepare(connection, step) for step in steps])
    done: list[_Done] = []

    async def one(upload: _Upload) -> None:
        if current.uploads_paused:
            return
        item = await _upload(current, upload)
        if item is not None:
            current.succeeded()
            done.append(_Done(upload, item))

    try:
        await in_parallel([upload for upload in uploads if upload is not None], one)
    except StorageError:
        await _record(current, done)
        raise
    await _record(current, done)


def _prepare(connection: sqlite3.Connection, step: Step) -> _Upload | None:
    """The bytes as they are now, noted as sent; None when the file is not what was planned for any more."""
    record = files.get(connection, step.file_id or 0)
    if record is None or record.content is None:
        return None
    if record.item_id != step.item_id or record.base_version != step.base_version:
        return None
    if record.kind is FileKind.CONFLICT and (
        not apply.winner_is_out(connection, record.file_id) or apply.end_needless_conflict(connection, record.file_id)
    ):
        return None
    if record.sent != record.content:
        files.remember_sent(connection, record.file_id, record.content)
    return _Upload(step, record.file_id, record.path, record.content)


async def _upload(current: Round, upload: _Upload) -> Item | None:
    """The item as written, or None when it was not."""
    step = upload.step
    try:
        if step.item_id is None:
            item = await current.storage.create(upload.path, upload.data)
        else:
            item = await current.storage.update(step.item_id, upload.data, step.base_version or "")
        if item.size != len(upload.data):
            raise ItemBusy(f"The storage took {item.size} of {len(upload.data)} bytes.")
    except VersionMismatch:
        await _look_again(current, step)
    except NotFound:
        await gone(current, step)
    except AlreadyExists:
        await _taken(current, upload)
    except InvalidName as error:
        await _refused(current, upload, error)
    except StorageFull as error:
        current.uploads_paused = True
        current.item_failed(step.key, upload.path, error)
    except StorageError as error:
        current.item_failed(step.key, upload.path, error)
    else:
        return item
    return None


async def _look_again(current: Round, step: Step) -> None:
    """Somebody was faster: note what the storage holds now, so that the next pass merges."""
    try:
        item = await current.storage.stat(step.item_id or "")
    except NotFound:
        await gone(current, step)
    except StorageError as error:
        current.item_failed(step.key, step.path, error)
    else:
        await current.database.write(lambda connection: remote_tree.store(connection, observed(item)))


async def _taken(current: Round, upload: _Upload) -> None:
    """Something is at our path already: our own write whose answer got lost, the same file made
    elsewhere, or another one. The next pass compares the first two; from the third we keep away."""
    try:
        item = await current.storage.find(upload.path)
    except NotFound:
        item = None  # gone again, or a name that differs only by case
    except StorageError as error:
        current.item_failed(upload.step.key, upload.path, error)
        return

    def note(connection: sqlite3.Connection) -> None:
        if item is not None:
            remote_tree.store(connection, observed(item))
        if item is None or item.path != upload.path or files.by_item(connection, item.item_id) is not None:
            _relocate(current, connection, upload.file_id)

    await current.database.write(note)


def _relocate(current: Round, connection: sqlite3.Connection, file_id: int, *, plain: bool = False) -> None:
    record = files.get(connection, file_id)
    if record is None or record.content is None or record.item_id is not None:
        return
    if record.kind not in _NAMED_FREELY:
        current.failed.add(f"file {file_id}")
        return
    current.relocated.add(file_id)
    files.move(connection, file_id, apply.free_path(connection, record, plain=plain))


async def _refused(current: Round, upload: _Upload, error: InvalidName) -> None:
    """The storage cannot hold this name: the file gets a legal one, once."""
    if upload.step.item_id is not None or upload.file_id in current.relocated:
        current.item_failed(upload.step.key, upload.path, error)
        return
    await current.database.write(lambda connection: _relocate(current, connection, upload.file_id, plain=True))


async def _record(current: Round, done: list[_Done]) -> None:
    if not done:
        return
    await current.database.write(lambda connection: _recorded(connection, done))
    for entry in done:
        current.past.add(entry.item.item_id, entry.upload.step.base_version)
        current.report.count_upload(entry.upload.step.kind)


def _recorded(connection: sqlite3.Connection, done: list[_Done]) -> None:
    for entry in done:
        try:
            apply.uploaded(connection, entry.upload.file_id, entry.item, entry.upload.data)
        except EditedMeanwhile:
            remote_tree.store(connection, observed(entry.item))  # the next pass compares anew
