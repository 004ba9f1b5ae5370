"""One complete sync without a daemon: what `claude-memory sync` does when none runs."""

import anyio

from daemon import lock, outcome
from daemon.loops import OpenBackend, unsent
from daemon.round_report import RoundReport
from daemon.service import engine_maker
from memory_cache import health
from memory_cache.cache import MemoryCache
from memory_cache.home import Home
from memory_cache.models import SyncHealth
from storage_backends.errors import Throttled

_FOLLOWING_ROUNDS = 3
_LONGEST_WAIT = 5.0
"""A hand-written file is taken in when it has been quiet for a moment: worth waiting for, other things are not."""


async def sync_once(
    home: Home, cache: MemoryCache, open_backend: OpenBackend, *, version: str, full: bool, confirm_deletes: bool
) -> RoundReport:
    """Run one round, and the next ones where something becomes ready within seconds; one report of all.

    Raises: daemon.lock.AlreadyLocked; Throttled while a pause runs; whatever ends a round.
    """
    with lock.hold(home.lock_file, "sync"):
        before = await cache.database.read(health.read)
        _respect_pause(before, cache)
        try:
            async with open_backend() as backend:
                before = before.model_copy(
                    update={"backend": cache.settings.storage.backend, "location": backend.location}
                )
                engine = (await engine_maker(cache, version))(backend)
                report = await engine.round(full=full, confirm_deletes=confirm_deletes)
                for _ in range(_FOLLOWING_ROUNDS):
                    if report.again_in is None or report.again_in > _LONGEST_WAIT:
                        break
                    await anyio.sleep(report.again_in)
                    report = _added(report, await engine.round(confirm_deletes=confirm_deletes))
        except Exception as error:
            pending = len(await cache.database.read(unsent))
            after = outcome.after_error(before, error, cache.now(), pending=pending)
            await cache.database.write(lambda connection: health.report(connection, after))
            raise
        after = outcome.after_report(before, report, cache.now())
        await cache.database.write(lambda connection: health.report(connection, after))
        return report


def _respect_pause(known: SyncHealth, cache: MemoryCache) -> None:
    until = known.throttled_until
    if until is not None and (left := (until - cache.now()).total_seconds()) > 0:
        raise Throttled(f"The storage asked for a pause until {until.astimezone():%H:%M:%S}.", retry_after=left)


def _added(first: RoundReport, second: RoundReport) -> RoundReport:
    """Both rounds as one; what is held, pending or failed is what still is so at the end."""
    for name in ("uploaded", "downloaded", "merged", "conflicts", "deleted", "requests"):
        setattr(second, name, getattr(first, name) + getattr(second, name))
    return second
