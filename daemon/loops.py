"""The loops of the daemon: one keeps the storage in step, the others run small jobs now and then.

A loop survives whatever fails in it: it says so, waits a little longer each time, and goes on. Only damage of
the cache ends all of them: it is examined and repaired when the daemon opens it anew.
"""

import logging
import sqlite3
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any, Protocol

import anyio

from daemon import outcome
from daemon.logging_setup import error_words, logged_name
from daemon.notify import Progress
from daemon.observed import ObservedStorage
from daemon.round_report import RoundReport
from daemon.schedule import Pace, Schedule
from memory_cache import health
from memory_cache.clock import utc_now
from memory_cache.database import Database
from memory_cache.errors import CacheDamaged
from memory_cache.models import SyncHealth
from storage_backends.base import StorageBackend
from storage_backends.errors import StorageError, Throttled, Unreachable

STALLED_SECONDS = 300.0
"""A round in which no call to the storage comes back for this long is given up."""

_LOOK_SECONDS = 0.2
_ASK_SECONDS = 2.0
_SLEPT_SECONDS = 10.0
_WATCH_SECONDS = 60.0
_LONGEST_PAUSE = 600.0

_log = logging.getLogger(__name__)


class Engine(Protocol):
    """What runs one round (`daemon.engine.SyncEngine`)."""

    async def round(self, *, full: bool = False, confirm_deletes: bool = False) -> RoundReport: ...


OpenBackend = Callable[[], AbstractAsyncContextManager[StorageBackend]]
MakeEngine = Callable[[StorageBackend], Engine]


@dataclass(slots=True)
class LoopHealth:
    """How a loop fares: `failures` in a row, and when it last got through (ISO 8601, UTC)."""

    failures: int = 0
    last_error: str = ""
    last_ok: str = ""

    def well(self) -> None:
        """It got through."""
        self.failures, self.last_error = 0, ""
        self.last_ok = datetime.now(UTC).isoformat(timespec="seconds")

    def failed(self, error: Exception) -> None:
        """It did not."""
        self.failures += 1
        self.last_error = error_words(error)


@dataclass(slots=True)
class Request:
    """A round that somebody asked for, and what became of it."""

    full: bool = False
    confirm_deletes: bool = False
    done: anyio.Event = field(default_factory=anyio.Event)
    outcome: RoundReport | Exception | None = None


class SyncLoop:
    """Runs rounds when `daemon.schedule` says so. `calls` counts what was asked of the storage."""

    def __init__(
        self,
        database: Database,
        open_backend: OpenBackend,
        make_engine: MakeEngine,
        pace: Pace,
        progress: Progress,
        *,
        cache_file: Path,
        backend_name: str,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._database = database
        self._log_file = cache_file.with_name(cache_file.name + "-wal")
        self._open_backend = open_backend
        self._make_engine = make_engine
        self._progress = progress
        self._backend_name = backend_name
        self._now = now
        self._schedule = Schedule(pace, time.monotonic())
        self._wake = anyio.Event()
        self._requests: list[Request] = []
        self._full_next = False
        self._reopen = False
        self._ending = False
        self._resting = anyio.Event()
        self._resting.set()
        self._known: frozenset[tuple[int, int]] = frozenset()
        self._give_up: anyio.CancelScope | None = None
        self.health = LoopHealth()
        self.sync = SyncHealth()
        self.calls = 0

    @property
    def running(self) -> bool:
        """Whether a round is under way."""
        return not self._resting.is_set()

    def request(self, *, full: bool, confirm_deletes: bool) -> Request:
        """Ask for a round now. Its `done` is set when it is over; at once where a pause of the service forbids it."""
        asked = Request(full, confirm_deletes)
        wait = self._schedule.held_until - time.monotonic()
        if wait > 0:
            until = self.sync.throttled_until
            clock = f"until {until.astimezone():%H:%M:%S}" if until else f"for {wait:.0f} s"
            asked.outcome = Throttled(f"The storage asked for a pause {clock}.", retry_after=wait)
            asked.done.set()
            return asked
        self._requests.append(asked)
        self.wake()
        return asked

    def wake(self, *, full: bool = False) -> None:
        """Run a round soon; with `full`, one that enumerates everything."""
        self._full_next |= full
        self._schedule.want(time.monotonic())
        self._wake.set()

    def reopen(self) -> None:
        """Open the backend anew: the login or the settings changed."""
        self._reopen = True
        self.wake()

    async def finish(self, seconds: float) -> None:
        """Begin no further round, and wait at most this long for one that is under way."""
        self._ending = True
        self.wake()
        with anyio.move_on_after(seconds):
            await self._resting.wait()

    async def run(self) -> None:
        """Keep in step until cancelled or finished. Raises: CacheDamaged."""
        self.sync = await self._database.read(health.read)
        if self.sync.throttled_until is not None:
            # The pause survives a restart.
            left = (self.sync.throttled_until - self._now()).total_seconds()
            if left > 0:
                self._schedule.throttled(time.monotonic(), left)
        while not self._ending:
            self._reopen = False
            try:
                async with self._open_backend() as backend:
                    self.sync = self.sync.model_copy(
                        update={"backend": self._backend_name, "location": backend.location}
                    )
                    await self._with(ObservedStorage(backend, self._call_ended))
            except Exception as error:
                # A backend that cannot be opened is no reason to end.
                if (damage := damage_in(error)) is not None:
                    raise damage from error
                # What was wanted has been tried: without this, the next try would be due at once, over and over.
                self._schedule.begin(time.monotonic())
                await self._failed(error, [])
                await self._until_due()

    async def _with(self, backend: ObservedStorage) -> None:
        engine = self._make_engine(backend)
        async with anyio.create_task_group() as group:
            group.start_soon(self._watch_local)
            group.start_soon(self._watch_clock)
            if backend.capabilities.pushes:
                group.start_soon(self._watch_remote, backend)
            while True:
                await self._until_due()
                if self._reopen or self._ending:
                    break
                await self._round(engine)
            group.cancel_scope.cancel()

    async def _until_due(self) -> None:
        while (wait := self._schedule.due() - time.monotonic()) > 0:
            wait = min(wait, 5.0)
            self._progress.beat("sync", wait + 10.0)
            self._wake = anyio.Event()
            with anyio.move_on_after(wait):
                await self._wake.wait()

    async def _round(self, engine: Engine) -> None:
        self._known = await self._database.read(unsent)
        # From here to the round nothing waits: what is asked for meanwhile would neither be in this round nor
        # lead to another one.
        asked, self._requests = self._requests, []
        full = self._full_next or any(request.full for request in asked)
        self._full_next = False
        self._schedule.begin(time.monotonic())
        self._resting = anyio.Event()
        try:
            # The deadline moves with every call that comes back.
            with anyio.CancelScope() as self._give_up:
                self._got_on()
                report = await engine.round(
                    full=full, confirm_deletes=any(request.confirm_deletes for request in asked)
                )
            if self._give_up.cancelled_caught:
                raise Unreachable(f"Nothing came back from the storage for {STALLED_SECONDS:.0f} s.")  # noqa: TRY301
            await self._succeeded(report, asked)
        except CacheDamaged as error:
            _settle(asked, error)
            raise
        except Exception as error:  # noqa: BLE001 - the next round may do better
            await self._failed(error, asked)
        finally:
            self._give_up = None
            self._resting.set()

    def _call_ended(self) -> None:
        self.calls += 1
        self._got_on()

    def _got_on(self) -> None:
        self._progress.beat("sync", STALLED_SECONDS + 10.0)
        if self._give_up is not None:
            self._give_up.deadline = anyio.current_time() + STALLED_SECONDS

    async def _succeeded(self, report: RoundReport, asked: Sequence[Request]) -> None:
        wrote = bool(report.uploaded or report.merged or report.deleted)
        self._schedule.succeeded(
            time.monotonic(), active=not report.quiet, wrote=wrote, again_in=report.again_in
        )  # fmt: skip
        self.health.well()
        await self._publish(outcome.after_report(self.sync, report, self._now()))
        if not report.quiet or report.errors or report.held:
            _log.info("round", extra={**outcome.report_json(report), "errors": len(report.errors)})
        for problem in report.errors:
            _log.warning("file not in step", extra={"file": logged_name(problem.path), "reason": problem.title})
        _settle(asked, report)

    async def _failed(self, error: Exception, asked: Sequence[Request]) -> None:
        now = time.monotonic()
        self._schedule.failed(now, transient=outcome.is_transient(error))
        if isinstance(error, Throttled):
            self._schedule.throttled(now, outcome.pause_of(error))
        self.health.failed(error)
        known = isinstance(error, StorageError)
        _log.log(logging.WARNING if known else logging.ERROR, "round failed: %s", error_words(error),
                 exc_info=None if known else error)  # fmt: skip
        _settle([*asked, *self._requests], error)
        self._requests = []
        try:
            pending = len(await self._database.read(unsent))
            await self._publish(outcome.after_error(self.sync, error, self._now(), pending=pending))
        except CacheDamaged:
            raise
        except Exception:  # noqa: BLE001 - a full disk keeps the report out of the cache, too
            _log.warning("the health could not be stored")

    async def _publish(self, report: SyncHealth) -> None:
        self.sync = report
        await self._database.write(lambda connection: health.report(connection, report))

    async def _watch_local(self) -> None:
        """Other processes and sessions of this one write into the cache; what they leave is found, not told."""
        seen: int | None = None
        log, asked = (0, 0), -inf
        while True:
            # Every commit leaves its mark on the write-ahead log's file, which is cheap to look at. Two commits in
            # one tick of the file system's clock may leave one mark, so the database is asked now and then as well.
            now, before, log = time.monotonic(), log, file_mark(self._log_file)
            if log != before or now > asked + _ASK_SECONDS:
                asked = now
                version = await self._database.data_version()
                if version != seen:
                    seen = version
                    await self._look_for_changes()
            await anyio.sleep(_LOOK_SECONDS)

    async def _look_for_changes(self) -> None:
        now_unsent = await self._database.read(unsent)
        if now_unsent - self._known:
            self._known = now_unsent
            self._schedule.local_change(time.monotonic())
            self._wake.set()

    async def _watch_remote(self, backend: StorageBackend) -> None:
        pause = 1.0
        while True:
            try:
                changed = await backend.wait_for_change(_WATCH_SECONDS)
                pause = 1.0
            except StorageError as error:
                _log.debug("no hints for now: %s", error_words(error))
                await anyio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
                continue
            if changed:
                self._schedule.hint(time.monotonic())
                self._wake.set()
                await anyio.sleep(0.05)

    async def _watch_clock(self) -> None:
        """The monotonic clock stands still while a machine sleeps, and so do hints: look at everything anew."""
        wall, steady = time.time(), time.monotonic()
        while True:
            await anyio.sleep(5.0)
            slept = (time.time() - wall) - (time.monotonic() - steady)
            wall, steady = time.time(), time.monotonic()
            if slept > _SLEPT_SECONDS:
                _log.info("woke up", extra={"slept_seconds": round(slept)})
                if self.sync.throttled_until is not None:
                    left = (self.sync.throttled_until - self._now()).total_seconds()
                    self._schedule.throttled(time.monotonic(), max(left, 0.0))
                self.wake(full=True)


def damage_in(error: BaseException) -> CacheDamaged | None:
    """The damage of the cache that this error, or one in this group of errors, is about."""
    if isinstance(error, BaseExceptionGroup):
        return next((found for inner in error.exceptions if (found := damage_in(inner))), None)
    return error if isinstance(error, CacheDamaged) else None


def _settle(asked: Sequence[Request], result: RoundReport | Exception) -> None:
    for request in asked:
        request.outcome = result
        request.done.set()


def file_mark(path: Path) -> tuple[int, int]:
    """What changes when a file is written; zeros when there is none."""
    try:
        facts = path.stat()
    except OSError:
        return 0, 0
    return facts.st_mtime_ns, facts.st_size


def unsent(connection: sqlite3.Connection) -> frozenset[tuple[int, int]]:
    """File id and local version of every file that differs from what the storage was last known to hold."""
    rows = connection.execute(
        "SELECT file_id, local_version FROM files"
        " WHERE content_hash IS NOT base_hash OR path IS NOT base_path OR item_id IS NULL"
    )
    return frozenset((row[0], row[1]) for row in rows)


@dataclass(frozen=True, slots=True)
class Job:
    """Something to do now and then: at the start, then every `every` seconds, and soon after the cache changed
    where `on_change`."""

    name: str
    run: Callable[[], Awaitable[Any]]
    every: float
    on_change: bool = False
    longest: float = 600.0
    """Seconds after which a run counts as hanging."""


async def run_job(job: Job, database: Database, progress: Progress, state: LoopHealth) -> None:
    """Run a job until cancelled. Raises: CacheDamaged."""
    pause = 1.0
    while True:
        progress.beat(job.name, job.longest)
        seen = await database.data_version()
        try:
            await job.run()
            state.well()
            pause, wait = 1.0, job.every
        except CacheDamaged:
            raise
        except Exception as error:  # noqa: BLE001 - the next run may do better
            state.failed(error)
            _log.exception("%s failed", job.name)
            pause = wait = min(pause * 2, _LONGEST_PAUSE, job.every)
        until = time.monotonic() + wait
        while (left := until - time.monotonic()) > 0:
            nap = min(left, 5.0)
            progress.beat(job.name, nap + 30.0)
            await anyio.sleep(nap)
            if job.on_change and not state.failures and await database.data_version() != seen:
                break
