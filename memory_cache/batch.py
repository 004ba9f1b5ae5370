"""One change to many memories. A query here selects for a write, so it matches strictly: no ranking, no guessing."""

import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta

from memory_cache import drafts, memories, trash, writing
from memory_cache.errors import InvalidInput, MemoryCacheError
from memory_cache.memories import Stored
from memory_cache.models import BatchResult, Change, Filter, Memory
from memory_cache.revisions import Cause

STALE_AFTER = timedelta(days=90)


def matches(memory: Memory, query: str) -> bool:
    """Whether every word of the query stands in the memory's body, tags or category; case does not count."""
    text = "\n".join((memory.content, memory.category, *memory.tags)).casefold()
    return all(word in text for word in query.casefold().split())


def is_stale(memory: Memory, now: datetime) -> bool:
    """No expiry, and 90 days without an update."""
    return memory.expires_at is None and memory.updated <= now - STALE_AFTER


def select(
    connection: sqlite3.Connection,
    filter_: Filter,
    query: str | None,
    now: datetime,
    *conditions: Callable[[Memory], bool],
) -> list[Stored]:
    """The memories that meet everything asked for, the most recently updated first.

    Raises: InvalidInput for a query without a word.
    """
    if query is not None and not query.split():
        raise InvalidInput("The query is empty.", "Give words that the memories contain, or leave the query out.")
    file_ids = memories.matching(connection, filter_, now)
    found = memories.by_files(connection, file_ids)
    chosen = (Stored(file_id, found[file_id]) for file_id in file_ids if file_id in found)
    return [
        stored
        for stored in chosen
        if (query is None or matches(stored.memory, query)) and all(holds(stored.memory) for holds in conditions)
    ]


def tag(
    connection: sqlite3.Connection,
    name: str,
    *,
    remove: bool,
    filter_: Filter,
    query: str | None,
    dry_run: bool,
    cause: Cause,
) -> BatchResult:
    """Add a tag to all matching memories, or remove it. What cannot be rewritten is named as skipped."""
    if not drafts.checked_tags([name]):
        raise InvalidInput("The tag is empty.", "Give the tag to add or to remove.")
    change = Change(remove_tags=(name,)) if remove else Change(add_tags=(name,))
    changed: list[Memory] = []
    skipped: list[str] = []
    for stored in select(connection, filter_, query, cause.at):
        if drafts.changed_tags(stored.memory.tags, change) == stored.memory.tags:
            continue
        if dry_run:
            changed.append(stored.memory)
            continue
        try:
            changed.append(writing.update(connection, stored, change, cause, "allow"))
        except MemoryCacheError as error:
            skipped.append(error.message)
    return BatchResult(memories=tuple(changed), skipped=tuple(skipped), dry_run=dry_run)


def delete(
    connection: sqlite3.Connection,
    *,
    filter_: Filter,
    query: str | None,
    expired: bool,
    stale: bool,
    dry_run: bool,
    cause: Cause,
) -> BatchResult:
    """Move all memories to the trash that meet every given condition.

    The scope alone is no condition: without a category, tag, time, query, `expired` or `stale` nothing is deleted.
    Raises: InvalidInput then.
    """
    narrowing = filter_.model_copy(update={"scope": Filter().scope, "with_expired": False})
    if narrowing == Filter() and query is None and not expired and not stale:
        raise InvalidInput(
            "Which memories to delete was not said.", "Give at least one of category, expired, stale or query."
        )
    now = cause.at
    conditions: list[Callable[[Memory], bool]] = []
    if expired:
        conditions.append(lambda memory: memory.expired(now))
    if stale:
        conditions.append(lambda memory: is_stale(memory, now))
    wide = filter_.model_copy(update={"with_expired": True}) if expired else filter_
    chosen = select(connection, wide, query, now, *conditions)
    if not dry_run:
        for stored in chosen:
            trash.move_in(connection, stored.file_id, cause)
    return BatchResult(memories=tuple(stored.memory for stored in chosen), dry_run=dry_run)
