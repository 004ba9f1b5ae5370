"""The storage's changes come in: read a few files at a time, record them in transactions of many."""

import sqlite3

from daemon import apply
from daemon.apply import Arrival, Outcome
from daemon.round_context import Round, in_parallel
from daemon.round_observe import observed
from daemon.round_plan import Plan, Step, identity
from daemon.round_report import ItemError
from memory_cache import remote_tree, text_format
from memory_cache.hashing import content_hash
from memory_cache.models import FileKind
from memory_cache.paths import in_scope
from storage_backends.base import Content
from storage_backends.errors import NotFound, StorageError

_BATCH = 200
# A note that somebody reads has a few kilobytes. Beyond this, a file is no memory, and would only fill the cache.
LARGEST_FILE = 8 * 1024 * 1024


async def pull(current: Round, steps: list[Step], plan: Plan) -> None:
    """Read each of these items and settle it with what this device holds. Files that fail are reported."""
    arrivals: list[tuple[Step, Arrival]] = []

    async def one(step: Step) -> None:
        if step.size > LARGEST_FILE:
            current.failed.add(step.key)
            message = f"It has {step.size} bytes; a memory may have {LARGEST_FILE}. It is left where it is."
            current.report.errors.append(ItemError(step.path, "File is too large", message))
            return
        try:
            arrival = await _read(current, step, plan)
        except NotFound:
            await gone(current, step)
            return
        except StorageError as error:
            current.item_failed(step.key, step.path, error)
            return
        current.succeeded()
        if arrival is not None:
            arrivals.append((step, arrival))
        if len(arrivals) >= _BATCH:
            await _record(current, arrivals)

    try:
        await in_parallel(steps, one)
    except StorageError:
        await _record(current, arrivals)  # what was read before the storage failed is not read again
        raise
    await _record(current, arrivals)


async def _read(current: Round, step: Step, plan: Plan) -> Arrival | None:
    """What the storage holds; None when that cannot be told right now."""
    item_id = step.item_id or ""
    content = await current.storage.read(item_id)
    if not in_scope(content.item.path):
        await gone(current, step)
        return None
    if content.item.version != step.version or (item_id, content.item.version) in current.past:
        # A listing or a read that shows an earlier state must not bring it back: the freshest answer decides.
        newest = await current.storage.stat(item_id)
        if newest.version != content.item.version:
            await current.database.write(lambda connection: remote_tree.store(connection, observed(newest)))
            return None
    listed = step.version == content.item.version and step.path == content.item.path
    return Arrival(content, await _partner(current, step, content, plan), listed)


async def _partner(current: Round, step: Step, content: Content, plan: Plan) -> int | None:
    """The file that this item is, where nothing binds them: made here at the same path, or moved in the storage."""
    if step.file_id is not None or (plan.first and not plan.orphans):
        return step.file_id
    memory_id = text_format.read(content.data).id if step.kind is FileKind.MEMORY else None
    marks = identity(step.kind, memory_id, content_hash(content.data))
    candidates = [plan.orphans[mark] for mark in marks if mark in plan.orphans]
    if not candidates and not plan.first:
        # Nobody said that another item is gone, but it may be: a delete that was never announced.
        candidates = await current.database.read(
            lambda connection: apply.bound_elsewhere(connection, content, memory_id)
        )
    for file_id, item_id in candidates:
        if item_id is None or await missing(current, item_id):
            return file_id
    return None


async def missing(current: Round, item_id: str) -> bool:
    """Whether the storage confirms that the item is gone. What it answers is noted."""
    try:
        item = await current.storage.stat(item_id)
    except NotFound:
        item = None
    if item is None or not in_scope(item.path):
        await current.database.write(lambda connection: apply.note_absent(connection, item_id))
        return True
    await current.database.write(lambda connection: remote_tree.store(connection, observed(item)))
    return False


async def gone(current: Round, step: Step) -> None:
    """The storage shows the item no more: the next pass treats it as missing."""
    await current.database.write(lambda connection: apply.note_absent(connection, step.item_id, step.version))


async def _record(current: Round, arrivals: list[tuple[Step, Arrival]]) -> None:
    if not arrivals:
        return
    batch = list(arrivals)
    arrivals.clear()
    at = current.now()

    def settle(connection: sqlite3.Connection) -> list[Outcome]:
        outcomes = []
        for step, arrival in batch:
            outcomes.append(apply.settle(connection, arrival, current.device, at))
            current.arrived.add(arrival.content.item.item_id if step.kind is not FileKind.MEMORY else "")
        return outcomes

    outcomes = await current.database.write(settle)
    for (step, arrival), outcome in zip(batch, outcomes, strict=True):
        if step.base_version != arrival.content.item.version:
            current.past.add(arrival.content.item.item_id, step.base_version)
        if outcome is Outcome.DOWNLOADED:
            current.report.count_download(step.kind)
        elif outcome is not Outcome.IN_STEP:
            current.report.merged += 1
            current.report.conflicts += outcome is Outcome.CONFLICT
