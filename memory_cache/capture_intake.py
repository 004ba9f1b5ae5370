"""Takes in what hooks have left in the spool: documents into the document cache, summaries as memories."""

import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio.to_thread

from memory_cache import captures, documents, project, spool
from memory_cache.cache import MemoryCache
from memory_cache.documents import Caps
from memory_cache.errors import InvalidInput
from memory_cache.home import Home
from memory_cache.models import Draft, Project

_log = logging.getLogger(__name__)


async def take_in(cache: MemoryCache, home: Home) -> int:
    """Take in every event that waits. Returns how many were kept.

    An event is removed from the spool only once what it brought is committed; one that two processes take
    in at once is the same document. Events that cannot be understood are dropped.
    """
    kept = 0
    for path, event in spool.events(spool.waiting(str(home.root))):
        if event is not None:
            try:
                kept += await _take(cache, event)
            except InvalidInput as error:
                _log.info("a captured event was not kept", extra={"reason": error.message})
        spool.done(path)
    return kept


async def _take(cache: MemoryCache, event: Mapping[str, Any]) -> int:
    where = await anyio.to_thread.run_sync(_project, event.get("cwd"))
    if event.get("kind") == "summary":
        return await _keep_summary(cache, event, where)
    now = cache.now()
    document = captures.document_of(event, where.id if where else None, now)
    if document is None:
        return 0
    settings = cache.settings.documents
    caps = Caps(
        max_bytes=settings.max_bytes or sys.maxsize,
        max_count=settings.max_count or sys.maxsize,
        max_age_days=settings.max_age_days or 36_500,
    )
    await cache.database.write(lambda c: documents.store(c, document, synced=settings.sync, caps=caps, now=now))
    return 1


async def _keep_summary(cache: MemoryCache, event: Mapping[str, Any], where: Project | None) -> int:
    text = captures.summary_of(event, where.name if where else None, cache.now())
    if text is None:
        return 0
    draft = Draft(
        content=text, category=captures.SUMMARY_CATEGORY, tags=("session-summary",), project=where,
        priority="low", ttl=captures.SUMMARY_TTL,
    )  # fmt: skip
    await cache.remember(draft)
    return 1


def _project(directory: Any) -> Project | None:
    if not isinstance(directory, str) or not Path(directory).is_dir():
        return None
    return project.resolve(environ={}, cwd=Path(directory))
