"""The one place where files are deleted, on either side.

Every delete of a round passes `carry_out`, which counts them before the first one is done. Nothing is deleted here
that the storage does not confirm to be gone, and nothing there that is not at the very version this device has seen.
"""

import sqlite3

from daemon import apply
from daemon.reconcile import DeleteLocal, DeleteRemote, Recreate
from daemon.round_context import Round, in_parallel
from daemon.round_observe import observed
from daemon.round_plan import Step
from daemon.round_pull import missing
from memory_cache import files, remote_tree
from memory_cache.models import FileKind
from storage_backends.errors import NotFound, StorageError, VersionMismatch

# Below this many files at once a wrong delete is a mishap that the trash mends; above, it takes a whole store.
BRAKE_FILES = 10
BRAKE_PERCENT = 25

_COUNTED = (FileKind.MEMORY, FileKind.DOCUMENT, FileKind.PATTERN)


def held(planned: int, known: int) -> bool:
    """Whether so many deletes among so many known files wait for the user's word."""
    return planned > BRAKE_FILES and planned * 100 > known * BRAKE_PERCENT


async def confirm(current: Round, steps: list[Step]) -> None:
    """What the storage shows no more and this device does not simply delete (`Recreate`, `Drop`): ask once again,
    then count an edited file as new, and forget what both sides have deleted."""

    async def one(step: Step) -> None:
        try:
            await _confirm(current, step)
        except StorageError as error:
            current.item_failed(step.key, step.path, error)

    await in_parallel(steps, one)


async def _confirm(current: Round, step: Step) -> None:
    if step.file_id is not None and step.item_id is None:
        await _settle_unknown_create(current, step)
    elif step.file_id is None or await missing(current, step.item_id or ""):
        follow = apply.create_again if isinstance(step.action, Recreate) else apply.drop_deleted
        await current.database.write(lambda connection: follow(connection, step))


async def _settle_unknown_create(current: Round, step: Step) -> None:
    """Deleted here while the outcome of its create was unknown: is it in the storage or not?"""
    try:
        item = await current.storage.find(step.path)
    except NotFound:
        item = None

    def note(connection: sqlite3.Connection) -> None:
        if item is not None and files.by_item(connection, item.item_id) is None:
            remote_tree.store(connection, observed(item))  # the next pass compares it with what was sent
        else:
            apply.drop_deleted(connection, step)

    await current.database.write(note)


async def carry_out(current: Round, steps: list[Step]) -> None:
    """Delete what these steps (`DeleteLocal`, `DeleteRemote`) say, unless there are too many of them."""
    steps = await current.database.read(lambda connection: [s for s in steps if apply.still_due(connection, s)])
    counted = [step for step in steps if step.kind in _COUNTED]
    done = current.deleted  # in earlier passes of this round
    if counted and done + len(counted) > BRAKE_FILES and not current.confirm_deletes:
        known = await current.database.read(_known_files)
        if held(done + len(counted), done + known):
            current.report.held += len(counted)
            current.failed |= {step.key for step in counted}
            steps = [step for step in steps if step.kind not in _COUNTED]
    await in_parallel([step for step in steps if isinstance(step.action, DeleteLocal)], lambda s: _here(current, s))
    await in_parallel([step for step in steps if isinstance(step.action, DeleteRemote)], lambda s: _there(current, s))


def _known_files(connection: sqlite3.Connection) -> int:
    marks = ", ".join("?" * len(_COUNTED))
    row = connection.execute(
        f"SELECT count(*) FROM files WHERE item_id IS NOT NULL AND kind IN ({marks})", _COUNTED
    ).fetchone()
    return int(row[0])


async def _here(current: Round, step: Step) -> None:
    """The storage has the file no more: ask it once again, then follow."""
    at = current.now()
    try:
        if not await missing(current, step.item_id or ""):
            return
    except StorageError as error:
        current.item_failed(step.key, step.path, error)
        return
    if await current.database.write(lambda connection: apply.deleted_here(connection, step, at)):
        _count(current, step)


async def _there(current: Round, step: Step) -> None:
    item_id, version = step.item_id or "", step.version or ""
    try:
        await current.storage.delete(item_id, version)
    except VersionMismatch:
        await _changed(current, step)
        return
    except StorageError as error:
        current.item_failed(step.key, step.path, error)
        return
    current.succeeded()
    current.past.add(item_id, version)
    if await current.database.write(lambda connection: apply.deleted_there(connection, step)):
        _count(current, step)


def _count(current: Round, step: Step) -> None:
    current.report.count_delete(step.kind)
    current.deleted += step.kind in _COUNTED


async def _changed(current: Round, step: Step) -> None:
    """Somebody edited what was deleted here: the next pass sees that edit, and it wins."""
    try:
        item = await current.storage.stat(step.item_id or "")
    except NotFound:
        return
    except StorageError as error:
        current.item_failed(step.key, step.path, error)
        return
    await current.database.write(lambda connection: remote_tree.store(connection, observed(item)))
