"""One change to many memories. A query here selects for a write, so it matches strictly: no ranking, no guessing."""

import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta

from memory_cache import drafts, files, memories, tag_lines, trash, writing
from memory_cache.clock import from_text, later_than, to_text
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
    quick: list[files.Retagged] = []
    for stored in select(connection, filter_, query, cause.at):
        tags = drafts.changed_tags(stored.memory.tags, change)
        if tags is None or tags == stored.memory.tags:
            continue
        step = None if dry_run else _retagged(connection, stored, tags, cause)
        if dry_run:
            changed.append(stored.memory)
        elif step is not None:
            quick.append(step)
            changed.append(stored.memory.model_copy(update={"tags": tags, "updated": step.updated}))
        else:
            try:
                changed.append(writing.rewrite(connection, stored, cause, values={"tags": list(tags)}))
            except MemoryCacheError as error:
                skipped.append(error.message)
    files.retag(connection, quick, cause)
    return BatchResult(memories=tuple(changed), skipped=tuple(skipped), dry_run=dry_run)


def _retagged(
    connection: sqlite3.Connection, stored: Stored, tags: tuple[str, ...], cause: Cause
) -> files.Retagged | None:
    """The change of a file that is plain enough for it; the others are rewritten one by one."""
    memory = stored.memory
    if memory.read_only is not None:
        return None
    (content,) = connection.execute("SELECT content FROM files WHERE file_id = ?", (stored.file_id,)).fetchone()
    updated = from_text(to_text(later_than(memory.updated, cause.at)))
    new = tag_lines.retagged(content, memory.tags, tags, updated)
    return None if new is None else files.Retagged(stored.file_id, new, tags, updated)


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
        trash.move_in_many(connection, [stored.file_id for stored in chosen], cause)
    return BatchResult(memories=tuple(stored.memory for stored in chosen), dry_run=dry_run)
