"""Changes of a memory on the condition that it still is what the person saw; each is one transaction."""

import sqlite3
from collections.abc import Callable
from typing import TypeVar

from memory_cache import changes, conflicts, files, links, memories, resolving, trash, writing
from memory_cache.cache import MemoryCache
from memory_cache.errors import EditedMeanwhile, InvalidInput
from memory_cache.hashing import content_hash
from memory_cache.memories import Stored
from memory_cache.models import Change, Conflict, Memory
from memory_cache.resolving import Keep
from memory_cache.revisions import Cause

T = TypeVar("T")


def version_of(connection: sqlite3.Connection, file_id: int) -> str:
    """What names the bytes of a memory: the same version is the same file."""
    record = files.get(connection, file_id)
    return content_hash(record.content) if record is not None and record.content is not None else ""


async def update(cache: MemoryCache, memory_id: str, version: str, change: Change) -> Memory:
    """Change a memory. Raises: EditedMeanwhile; as `MemoryCache.update`."""
    secrets = cache.settings.privacy.secrets
    return await _changed(
        cache, "update", lambda c, cause: writing.update(c, _as_read(c, memory_id, version), change, cause, secrets)
    )


async def forget(cache: MemoryCache, memory_id: str, version: str) -> Memory:
    """Move a memory to the trash. Raises: EditedMeanwhile; as `MemoryCache.forget`."""

    def run(c: sqlite3.Connection, cause: Cause) -> Memory:
        stored = _as_read(c, memory_id, version)
        trash.move_in(c, stored.file_id, cause)
        return stored.memory

    return await _changed(cache, "forget", run)


async def go_back(cache: MemoryCache, memory_id: str, version: str, revision: int) -> Memory:
    """Bring an earlier text back. Raises: EditedMeanwhile; as `MemoryCache.restore`."""

    def run(c: sqlite3.Connection, cause: Cause) -> Memory:
        return writing.restore(c, _as_read(c, memory_id, version).memory.id, revision, cause)

    return await _changed(cache, "restore", run)


async def link(cache: MemoryCache, memory_id: str, version: str, other: str, *, unlink: bool) -> Memory:
    """Link two memories, or end their link; returns the first. Raises: EditedMeanwhile; as `MemoryCache.link`."""

    def run(c: sqlite3.Connection, cause: Cause) -> Memory:
        stored = _as_read(c, memory_id, version)
        return links.link(c, stored.memory.id, other, unlink=unlink, cause=cause)[0]

    return await _changed(cache, "unlink" if unlink else "link", run)


def version_of_conflict(conflict: Conflict) -> str:
    """What names the two texts of a conflict."""
    return content_hash(f"{conflict.mine}\0{conflict.theirs}".encode("utf-8", "surrogatepass"))


async def settle(cache: MemoryCache, conflict_id: str, version: str, keep: Keep | None, content: str | None) -> Memory:
    """Settle a conflict whose two texts are still those that were seen.

    Raises: EditedMeanwhile; as `MemoryCache.resolve_conflict`.
    """
    secrets = cache.settings.privacy.secrets

    def run(c: sqlite3.Connection, cause: Cause) -> Memory:
        found = [conflict for conflict in conflicts.listed(c) if conflict.id == conflict_id]
        if not found:
            raise InvalidInput("This conflict is settled already.", "The list shows the open ones.")
        if version_of_conflict(found[0]) != version:
            raise _meanwhile(found[0].title)
        return resolving.resolve(c, conflict_id, keep, content, cause, secrets)

    return await _changed(cache, "resolve_conflict", run)


async def _changed(cache: MemoryCache, action: str, function: Callable[[sqlite3.Connection, Cause], T]) -> T:
    now = cache.now()
    return await cache.database.write(lambda c: function(c, changes.begin(c, action, now)))


def _as_read(connection: sqlite3.Connection, memory_id: str, version: str) -> Stored:
    stored = memories.find(connection, memory_id)
    if version_of(connection, stored.file_id) != version:
        raise _meanwhile(stored.memory.title)
    return stored


def _meanwhile(title: str) -> EditedMeanwhile:
    return EditedMeanwhile(
        f"“{title}” was changed meanwhile; nothing was written.", "Look at it as it is now, then change it again."
    )
