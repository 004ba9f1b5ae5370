"""The small jobs of every daemon: what has expired goes to the trash, what lies there long enough goes, and the
write-ahead log of the cache does not grow without end."""

import logging
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import anyio.to_thread

from daemon.expiry import retire
from daemon.loops import Job
from memory_cache import database
from memory_cache.cache import MemoryCache
from memory_cache.home import Home

_EXPIRY_SECONDS = 3600.0
_UPKEEP_SECONDS = 600.0
_LARGE_LOG_BYTES = 4 * 1024 * 1024

_log = logging.getLogger(__name__)


def standard_jobs(home: Home, cache: MemoryCache) -> Sequence[Job]:
    """The jobs that every daemon has."""

    async def expire() -> None:
        expiry = cache.settings.expiry
        more = True
        while more:
            done = await retire(
                cache.database, now=cache.now(), grace_days=expiry.grace_days, trash_days=expiry.trash_days
            )
            more = done.more
            if done.expired or done.purged:
                _log.info("retired", extra={"expired": done.expired, "purged": done.purged})

    async def tidy() -> None:
        await anyio.to_thread.run_sync(checkpoint, home.cache_file)

    return [Job("expiry", expire, _EXPIRY_SECONDS), Job("upkeep", tidy, _UPKEEP_SECONDS)]


def checkpoint(cache_file: Path) -> None:
    """Move a large write-ahead log into the database and refresh the planner's statistics.

    Readers that are busy are not waited for: the next time will do.
    """
    log = cache_file.with_name(cache_file.name + "-wal")
    with closing(database.connect(cache_file)) as connection:
        connection.execute("PRAGMA busy_timeout = 200")
        try:
            connection.execute("PRAGMA optimize")
            if log.exists() and log.stat().st_size > _LARGE_LOG_BYTES:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.OperationalError:
            _log.debug("the cache is busy; tidied up another time")
