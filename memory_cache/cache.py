"""The memory of this device as the MCP server and the command line use it: every call is one or two transactions.

Only `MemoryCacheError` and its kinds are raised, each with a hint that says what to do.
"""

import math
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from memory_cache import (
    batch,
    changes,
    conflicts,
    drafts,
    exporting,
    health,
    indexing,
    links,
    memories,
    paths,
    problems,
    requests,
    resolving,
    revisions,
    statistics,
    trash,
    writing,
)
from memory_cache.clock import utc_now
from memory_cache.database import Database
from memory_cache.errors import InvalidInput
from memory_cache.home import Home
from memory_cache.models import (
    BatchResult,
    CacheStatus,
    Change,
    Conflict,
    Draft,
    Filter,
    Hit,
    Memory,
    Page,
    Problem,
    Project,
    ProjectContext,
    Remembered,
    Revision,
    Scope,
    SimilarMemory,
    Statistics,
    TrashEntry,
    Undone,
)
from memory_cache.opening import open_home
from memory_cache.resolving import Keep
from memory_cache.revisions import Cause
from memory_cache.search import embedding
from memory_cache.search.vectors import VectorIndex
from memory_cache.settings import Settings

T = TypeVar("T")

_CATCH_UP = 50
_CATCH_UP_SECONDS = 0.2
_CATCH_UP_AT_ONCE = 200
_UNDO_STEPS = 200


@asynccontextmanager
async def open_cache(
    home: Home,
    settings: Settings,
    *,
    now: Callable[[], datetime] = utc_now,
    new_id: Callable[[], str] = paths.new_id,
    examine: bool = False,
) -> AsyncIterator["MemoryCache"]:
    """The cache of this home, ready for use. `examine` as in `opening.open_home`. Raises: CacheUnusable."""
    async with open_home(home, examine=examine) as database:
        if await database.read(lambda c: _differs(c, settings)):
            await database.write(lambda c: _agree(c, settings))
        yield MemoryCache(database, settings, now=now, new_id=new_id)


def _differs(connection: sqlite3.Connection, settings: Settings) -> bool:
    _, name = health.device(connection)
    return name != (settings.device.name or name or None) or embedding.chosen(connection) != settings.recall.embedder


def _agree(connection: sqlite3.Connection, settings: Settings) -> None:
    health.name_device(connection, settings.device.name)
    embedding.choose(connection, settings.recall.embedder)


class MemoryCache:
    """Memories of this device. Safe for any number of tasks at once; other processes may work on the same file."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        *,
        now: Callable[[], datetime] = utc_now,
        new_id: Callable[[], str] = paths.new_id,
    ) -> None:
        self.database = database
        self.settings = settings
        self.now = now
        self._new_id = new_id
        self._vectors = VectorIndex(settings.recall.embedder)

    async def remember(self, draft: Draft) -> Remembered:
        """Store a new memory; never replaces one. Near-duplicates are pointed out, not refused.

        Raises: InvalidInput (empty, too long, bad category, ttl or tag, a secret that is refused);
        UnknownMemory for an id in `related_to`.
        """
        from memory_cache.search import similar  # as with recall: no start waits for what the first search needs

        now = self.now()
        prepared = drafts.prepare(draft, now=now, secrets=self.settings.privacy.secrets)
        scope = Scope(project_key=draft.project.key) if draft.project else Scope.all()
        near = await self.database.read(
            lambda c: [
                SimilarMemory(id=found.id, title=found.title, score=hit.score, difference=hit.difference)
                for hit in similar.near_duplicates(c, prepared.body, Filter(scope=scope), now=now)
                for found in [memories.by_file(c, hit.file_id)]
            ]
        )

        def write(c: sqlite3.Connection) -> Memory:
            file_id = writing.remember(c, prepared, self._new_id(), changes.begin(c, "remember", now))
            return memories.by_file(c, file_id)

        memory = await self.once("remember", Memory, write)
        others = tuple(found for found in near if found.id != memory.id)  # sent again, it would be its own duplicate
        return Remembered(memory=memory, similar=others, warnings=prepared.warnings)

    async def recall(
        self,
        query: str | None,
        *,
        filter: Filter,
        limit: int = 10,
        explain: bool = False,
    ) -> tuple[list[Hit], int]:
        """The memories that fit the query best, and how many more match; without a query the latest ones."""
        from memory_cache.search import recall

        if limit < 1:
            raise InvalidInput(f"A limit of {limit} is too small.", "Give a limit of at least 1.")
        now = self.now()
        if query is not None:
            await self.catch_up(_CATCH_UP_SECONDS)

        def read(c: sqlite3.Connection) -> tuple[list[Hit], int]:
            if query is None or not query.strip():
                latest, more = memories.latest(c, filter, limit, now)
                return [Hit(memory=memory, score=0.0, passage=memory.content, why="recent") for memory in latest], more
            found = recall.search(
                c,
                query,
                filter,
                limit=limit,
                now=now,
                project_key=filter.scope.project_key,
                vectors=self._vectors,
                explain=explain,
            )
            known = memories.by_files(c, [hit.file_id for hit in found.hits])
            return [
                Hit(memory=known[hit.file_id], score=hit.score, passage=hit.passage, why=hit.why) for hit in found.hits
            ], found.more

        return await self.database.read(read)

    async def list(self, filter: Filter, *, limit: int = 50, cursor: str | None = None) -> Page:
        """One page, most recently updated first. Raises: InvalidInput for a wrong limit or cursor."""
        return await self.database.read(lambda c: memories.listed(c, filter, limit, cursor, self.now()))

    async def get(self, id_or_prefix: str) -> Memory:
        """One memory, also an expired one. Raises: InvalidInput, UnknownMemory, AmbiguousId."""
        return (await self.database.read(lambda c: memories.find(c, id_or_prefix))).memory

    async def update(self, id_or_prefix: str, change: Change) -> Memory:
        """Change a memory. Raises: InvalidInput (nothing to change, read-only …), UnknownMemory, AmbiguousId."""
        secrets = self.settings.privacy.secrets
        return await self._change(
            "update", Memory, lambda c, cause: writing.update(c, memories.find(c, id_or_prefix), change, cause, secrets)
        )

    async def forget(self, id_or_prefix: str, reason: str = "forget") -> Memory:
        """Move a memory to the trash; returns it as it was. Raises: InvalidInput, UnknownMemory, AmbiguousId."""

        def run(c: sqlite3.Connection, cause: Cause) -> Memory:
            stored = memories.find(c, id_or_prefix)
            trash.move_in(c, stored.file_id, cause)
            return stored.memory

        return await self._change(reason, Memory, run)

    async def restore(self, id_or_prefix: str, revision: int | None = None) -> Memory:
        """Bring a memory back from the trash, or an earlier text of it.

        Raises: InvalidInput (it is not deleted, it has no such revision), UnknownMemory, AmbiguousId.
        """
        return await self._change("restore", Memory, lambda c, cause: writing.restore(c, id_or_prefix, revision, cause))

    async def history(self, id_or_prefix: str) -> Sequence[Revision]:
        """Earlier texts of a living or deleted memory, the latest first. Raises: as `get`."""
        return await self.database.read(lambda c: revisions.listed(c, writing.living_or_deleted(c, id_or_prefix)))

    async def trash(self, limit: int = 50) -> Sequence[TrashEntry]:
        """What was deleted last; `status` tells how many entries there are."""
        return await self.database.read(lambda c: trash.listed(c, limit)[0])

    async def purge_trash(self, older_than_days: float) -> int:
        """Drop for good what was deleted before that many days, and outdated revisions; returns how many entries."""
        now = self.now()
        before = now - timedelta(days=min(older_than_days, 36_500))  # a century: dates end somewhere

        def run(c: sqlite3.Connection) -> int:
            purged = trash.purge(c, before)
            revisions.purge(c, now)
            requests.purge(c, now)
            return purged

        return await self.database.write(run)

    async def expired(self) -> Sequence[Memory]:
        """Memories past their expiry; every other query hides them."""
        now = self.now()
        return await self.database.read(lambda c: [stored.memory for stored in memories.expired(c, now)])

    async def expire_now(self, grace_days: float) -> Sequence[Memory]:
        """Move to the trash what expired that many days ago."""
        now = self.now()
        before = now - timedelta(days=grace_days)
        if not await self.database.read(lambda c: memories.expired(c, before)):
            return []
        return await self.database.write(lambda c: writing.expire(c, before, Cause("expired", now)))

    async def link(self, id1: str, id2: str, unlink: bool = False) -> tuple[Memory, Memory]:
        """Link two memories in both directions, or end that. Raises: InvalidInput, UnknownMemory, AmbiguousId."""
        return await self._change(
            "unlink" if unlink else "link",
            tuple[Memory, Memory],
            lambda c, cause: links.link(c, id1, id2, unlink=unlink, cause=cause),
        )

    async def related(self, id_or_prefix: str, depth: int = 1) -> Sequence[tuple[Memory, int]]:
        """Memories within `depth` links, with their distance, nearest first."""
        return await self.database.read(lambda c: links.related(c, id_or_prefix, depth, self.now()))

    async def graph(
        self, start: str | None = None, *, depth: int = 3
    ) -> tuple[Sequence[Memory], Sequence[tuple[str, str]]]:
        """Linked memories and each link between them once; all, or those near one."""
        return await self.database.read(lambda c: links.graph(c, start, depth, self.now()))

    async def merge(self, ids: Sequence[str], title: str | None = None) -> Memory:
        """Make one memory of several; the first stays. Raises: InvalidInput, UnknownMemory, AmbiguousId."""
        return await self._change("merge", Memory, lambda c, cause: links.merge(c, ids, title, cause))

    async def batch_tag(
        self,
        tag: str,
        *,
        remove: bool = False,
        filter: Filter | None = None,
        query: str | None = None,
        dry_run: bool = False,
    ) -> BatchResult:
        """Add a tag to all matching memories, or remove it. Raises: InvalidInput for an empty tag or query."""
        chosen = filter or Filter()
        result = await self._change(
            "batch_tag",
            BatchResult,
            lambda c, cause: batch.tag(
                c, tag, remove=remove, filter_=chosen, query=query, dry_run=dry_run, cause=cause
            ),
            dry_run=dry_run,
        )
        await self._catch_up_after(len(result.memories))
        return result

    async def catch_up(self, seconds: float = math.inf) -> None:
        """Refresh search terms that a change to very many memories left waiting; the daemon does so in quiet moments.

        In small transactions, so that nobody waits for them; ends after about so many seconds.
        """
        end = time.monotonic() + seconds
        while await self.database.read(indexing.behind) and time.monotonic() < end:
            await self.database.write(lambda c: indexing.catch_up(c, _CATCH_UP))

    async def _catch_up_after(self, changed: int) -> None:
        # Of thousands, the few that fit into this call would help nobody: the daemon and the next search see to them.
        if changed <= _CATCH_UP_AT_ONCE:
            await self.catch_up(_CATCH_UP_SECONDS)

    async def batch_delete(
        self,
        *,
        filter: Filter | None = None,
        query: str | None = None,
        expired: bool = False,
        stale: bool = False,
        dry_run: bool = True,
    ) -> BatchResult:
        """Move all memories to the trash that meet every condition. Raises: InvalidInput when there is no condition."""
        chosen = filter or Filter()
        return await self._change(
            "batch_delete",
            BatchResult,
            lambda c, cause: batch.delete(
                c, filter_=chosen, query=query, expired=expired, stale=stale, dry_run=dry_run, cause=cause
            ),
            dry_run=dry_run,
        )

    async def statistics(self) -> Statistics:
        """All counts of `get_statistics`."""
        return await self.database.read(lambda c: statistics.statistics(c, self.now()))

    async def conflicts(self) -> Sequence[Conflict]:
        """All open conflicts, the oldest first."""
        return await self.database.read(conflicts.listed)

    async def resolve_conflict(self, id: str, *, keep: Keep | None = None, content: str | None = None) -> Memory:
        """Settle a conflict. Raises: UnknownMemory, AmbiguousId, InvalidInput."""
        secrets = self.settings.privacy.secrets
        return await self._change(
            "resolve_conflict", Memory, lambda c, cause: resolving.resolve(c, id, keep, content, cause, secrets)
        )

    async def undo_last_change(self) -> Undone:
        """Undo what the last tool call on this device changed. Raises: InvalidInput when there is nothing to undo.

        A change of very many memories is undone in several transactions: nobody else waits for all of it.
        """
        now = self.now()
        earlier: Undone | None = await self.done_before("undo", Undone)
        if earlier is not None:
            return earlier
        change = await self.database.read(changes.last)
        results: list[Memory | str] = []
        *parts, last = change.portions(_UNDO_STEPS)
        for part in parts:
            results += await self.database.write(partial(changes.undo, steps=part, now=now))
        undone = await self.once("undo", Undone, lambda c: changes.close(c, change, results, last, now))
        await self._catch_up_after(len(change.steps))
        return undone

    async def once(self, action: str, kind: Any, function: Callable[[sqlite3.Connection], T]) -> T:
        """Run `function` in one write transaction; a request that is sent again gets the result of the first time,
        texts left out. `kind` is the type of the result."""
        request = requests.current()
        return await self.database.write(lambda c: requests.once(c, request, action, kind, self.now, function))

    async def done_before(self, action: str, kind: Any) -> Any:
        """The result of `action` for this request when it is one that is sent again and was carried out, else None."""
        request = requests.current()
        return await self.database.read(lambda c: requests.result(c, request, action, kind)) if request else None

    async def rebuild(self) -> None:
        """Derive everything anew from the bytes of the files, in small transactions; for `doctor --repair`."""
        position: int | None = 0
        while position is not None:
            position = await self.database.write(partial(indexing.rebuild_some, after=position, limit=200))

    async def problems(self) -> Sequence[Problem]:
        """Files that could not be taken in whole."""
        return await self.database.read(problems.listed)

    async def status(self) -> CacheStatus:
        """Counts, health and device."""
        return await self.database.read(lambda c: statistics.status(c, self.now()))

    async def context(self, project: Project | None, *, limit: int = 5, max_tokens: int = 2000) -> ProjectContext:
        """What matters for a project now. `limit` holds for each section."""
        from memory_cache import context

        return await context.assemble(self.database, project, limit=limit, max_tokens=max_tokens, now=self.now())

    async def export(self, category: str | None = None) -> Sequence[dict[str, Any]]:
        """All memories whole, expired ones too, oldest first."""
        return await self.database.read(lambda c: exporting.whole(c, category))

    @staticmethod
    def as_json(memory: Memory) -> dict[str, Any]:
        """A memory as the JSON object that is shown everywhere."""
        return exporting.as_json(memory)

    async def _change(
        self, action: str, kind: Any, function: Callable[[sqlite3.Connection, Cause], T], *, dry_run: bool = False
    ) -> T:
        now = self.now()
        if dry_run:
            return await self.database.read(lambda c: function(c, Cause(action, now)))
        return await self.once(action, kind, lambda c: function(c, changes.begin(c, action, now)))
