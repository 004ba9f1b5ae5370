"""The life of the daemon of one home: lock, cache, socket, loops, and a quiet end.

What it works with comes from outside (`Parts`): which storage, how sessions are served, which jobs run in
the background. `command_line` puts it together.
"""

import logging
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup, TaskStatus
from anyio.streams.buffered import BufferedByteStream

from daemon import lock
from daemon.control import Handler, open_socket
from daemon.engine import SyncEngine
from daemon.logging_setup import error_words
from daemon.loops import Engine, Job, LoopHealth, MakeEngine, OpenBackend, SyncLoop, damage_in, file_mark, run_job
from daemon.notify import Notifier, Progress, feed_watchdog
from daemon.requests import ControlRequests
from daemon.round_context import Device
from daemon.schedule import Pace
from daemon.sessions import Sessions
from daemon.upkeep import standard_jobs
from memory_cache import health
from memory_cache.cache import MemoryCache
from memory_cache.errors import CacheDamaged
from memory_cache.home import Home
from memory_cache.settings import Settings
from storage_backends.base import StorageBackend

SESSION_SECONDS, ROUND_SECONDS = 3.0, 5.0
"""How long, at the end, sessions may finish their answers and a round may go on."""

_CHECK_SECONDS = 5.0
_LONGEST_PAUSE = 5.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a daemon is put together from.

    Attributes:
        open_cache: the opened cache of this home.
        open_backend: the storage, made anew whenever the login or the settings changed.
        serve_session: speaks MCP with one client.
        warm_up: imports what sessions need; run in a thread once everything else is under way.
        jobs: what runs in the background, given the cache.
        handlers: further kinds of connections, given the running daemon.
    """

    open_cache: Callable[[], AbstractAsyncContextManager[MemoryCache]]
    open_backend: OpenBackend
    serve_session: Callable[[MemoryCache, BufferedByteStream, Mapping[str, Any]], Awaitable[None]]
    warm_up: Callable[[], None] = lambda: None
    jobs: Callable[[MemoryCache], Sequence[Job]] = lambda cache: ()
    handlers: Callable[["Service"], Mapping[str, Handler]] = lambda service: {}


@dataclass(slots=True)
class Service:
    """A running daemon, as its requests see it."""

    home: Home
    settings: Settings
    cache: MemoryCache
    version: str
    auto_started: bool
    sessions: Sessions
    sync: SyncLoop
    jobs: dict[str, LoopHealth] = field(default_factory=dict)
    stopping: anyio.Event = field(default_factory=anyio.Event)
    since: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    def stop(self, why: str) -> None:
        """Begin the end."""
        if not self.stopping.is_set():
            _log.info("stopping", extra={"why": why})
            self.stopping.set()

    def status(self) -> dict[str, Any]:
        """How this process is, in plain values."""
        return {
            "pid": os.getpid(),
            "version": self.version,
            "since": self.since,
            "auto_started": self.auto_started,
            "sessions": self.sessions.count,
            "syncing": self.sync.running,
            "sync": self.sync.sync.model_dump(mode="json"),
            "loops": {"sync": asdict(self.sync.health), **{name: asdict(state) for name, state in self.jobs.items()}},
        }


async def run_daemon(
    home: Home,
    settings: Settings,
    parts: Parts,
    *,
    version: str,
    environ: Mapping[str, str] = os.environ,
    auto_started: bool = False,
    on_ready: Callable[[Service], Coroutine[Any, Any, None]] | None = None,
) -> None:
    """Serve this home until a signal, a `stop` request, or, when `auto_started`, a long time without clients.

    `on_ready` runs beside the service (a live view …); when it returns nothing happens, and it is cancelled at the end.

    A cache that is damaged, removed or replaced meanwhile is opened anew, which repairs it: no device stays out of
    step because somebody cleaned up.

    Raises: daemon.lock.AlreadyLocked, CacheUnusable, OSError (no socket can be made).
    """
    home.ensure()
    notifier = Notifier(environ)
    with lock.hold(home.lock_file, "daemon"):
        own = _inode(home.lock_file)
        opened = anyio.Event()
        short_lives = 0
        try:
            while True:
                began = time.monotonic()
                try:
                    await _with_cache(home, settings, parts, notifier, version, auto_started, on_ready, opened)
                except CacheDamaged as damage:
                    if _inode(home.lock_file) != own:
                        _log.info("stopping", extra={"why": "the home was removed"})
                        break
                    if not opened.is_set():
                        raise
                    _log.warning("the cache is opened anew: %s", error_words(damage))
                    short_lives = short_lives + 1 if time.monotonic() < began + _LONGEST_PAUSE else 0
                    await anyio.sleep(min(2.0 ** max(short_lives - 1, 0) - 1, _LONGEST_PAUSE))
                else:
                    break
        finally:
            notifier.stopping()
    _log.info("ended")


async def _with_cache(
    home: Home,
    settings: Settings,
    parts: Parts,
    notifier: Notifier,
    version: str,
    auto_started: bool,
    on_ready: Callable[[Service], Coroutine[Any, Any, None]] | None,
    opened: anyio.Event,
) -> None:
    """Serve with one cache until the end; `opened` is set when it could be opened.

    Raises: CacheDamaged when it is not usable any more, and what `run_daemon` raises.
    """
    progress = Progress()
    async with parts.open_cache() as cache:
        opened.set()
        service = await _service(home, settings, parts, cache, progress, version, auto_started)
        try:
            await _live(service, parts, cache, notifier, progress, on_ready)
        except BaseExceptionGroup as group:
            damage = damage_in(group)
            if damage is None:
                raise
            raise damage from group


async def _service(
    home: Home,
    settings: Settings,
    parts: Parts,
    cache: MemoryCache,
    progress: Progress,
    version: str,
    auto_started: bool,
) -> Service:
    async def serve(stream: BufferedByteStream, preamble: Mapping[str, Any]) -> None:
        await parts.serve_session(cache, stream, preamble)

    pace = Pace(settings.sync.poll_seconds, settings.sync.idle_poll_seconds, settings.sync.debounce_seconds)
    make_engine = await engine_maker(cache, version)
    sync = SyncLoop(
        cache.database, parts.open_backend, make_engine, pace, progress,
        cache_file=home.cache_file, backend_name=settings.storage.backend,
    )  # fmt: skip
    sessions = Sessions(serve, {"ready": version, "pid": os.getpid(), "repeats": True})
    return Service(home, settings, cache, version, auto_started, sessions, sync)


async def engine_maker(cache: MemoryCache, version: str) -> MakeEngine:
    """Makes the engine of this device for any storage."""
    device_id, name = await cache.database.read(health.device)
    hours = cache.settings.sync.full_enumeration_hours

    def make(backend: StorageBackend) -> Engine:
        device = Device(device_id, name, version)
        return SyncEngine(cache.database, backend, device, full_enumeration=timedelta(hours=hours))

    return make


async def _live(
    service: Service,
    parts: Parts,
    cache: MemoryCache,
    notifier: Notifier,
    progress: Progress,
    on_ready: Callable[[Service], Coroutine[Any, Any, None]] | None,
) -> None:
    handlers: dict[str, Handler] = {
        **parts.handlers(service),
        "mcp": service.sessions.handle,
        "control": ControlRequests(service).handle,
    }
    listening = anyio.CancelScope()
    async with anyio.create_task_group() as group:
        await group.start(_heed_signals, service, group)
        await group.start(_listen, service.home, handlers, group, listening)
        group.start_soon(service.sync.run)
        for job in (*standard_jobs(service.home, cache), *parts.jobs(cache)):
            service.jobs[job.name] = LoopHealth()
            group.start_soon(run_job, job, cache.database, progress, service.jobs[job.name])
        group.start_soon(_watch_over, service, notifier)
        group.start_soon(feed_watchdog, notifier, progress, _Complaint())
        notifier.ready("running")
        _log.info("ready", extra={"home": str(service.home.root), "version": service.version})
        if on_ready is not None:
            group.start_soon(on_ready, service)
        group.start_soon(_warm_up, parts.warm_up, service.sessions)
        await service.stopping.wait()
        notifier.stopping()
        notifier.extend_timeout(SESSION_SECONDS + ROUND_SECONDS + 5.0)
        listening.cancel()  # first: whoever comes now finds no daemon and looks after itself
        async with anyio.create_task_group() as ending:
            ending.start_soon(service.sessions.end, SESSION_SECONDS)
            ending.start_soon(service.sync.finish, ROUND_SECONDS)
        group.cancel_scope.cancel()


async def _listen(
    home: Home,
    handlers: Mapping[str, Handler],
    connections: TaskGroup,
    scope: anyio.CancelScope,
    *,
    task_status: TaskStatus[None],
) -> None:
    """Accept connections, at a new socket when the old one was removed (a cleaner of /tmp, a person)."""
    with scope:
        started = False
        while True:
            async with open_socket(home) as control, anyio.create_task_group() as group:
                group.start_soon(control.serve, handlers, connections)
                if not started:
                    started = True
                    task_status.started()
                while control.in_place:  # noqa: ASYNC110 - a file system gives no event
                    await anyio.sleep(_CHECK_SECONDS)
                _log.warning("the socket was removed; it is made anew")
                group.cancel_scope.cancel()


async def _warm_up(warm_up: Callable[[], None], sessions: Sessions) -> None:
    try:
        await anyio.to_thread.run_sync(warm_up, abandon_on_cancel=True)
    finally:
        sessions.ready()


async def _watch_over(service: Service, notifier: Notifier) -> None:
    """End when nobody needs this daemon, or when its home is no longer its home. Open the storage that is set now."""
    own = _inode(service.home.lock_file)
    settings = file_mark(service.home.config_file)
    idle_seconds = service.settings.daemon.idle_exit_minutes * 60
    nap = min(_CHECK_SECONDS, max(idle_seconds / 4, 0.05)) if idle_seconds else _CHECK_SECONDS
    told = ""
    while True:
        await anyio.sleep(nap)
        if _inode(service.home.lock_file) != own:
            service.stop("the home was removed")
        before, settings = settings, file_mark(service.home.config_file)
        if settings != before:
            _log.info("the settings changed")
            service.sync.reopen()
        idle = time.monotonic() - service.sessions.idle_since
        if service.auto_started and idle_seconds and not service.sessions.wanted and idle > idle_seconds:
            service.stop("no client for a long time")
        sync = service.sync.sync
        words = f"{sync.state}, {sync.pending} pending, {service.sessions.count} sessions"
        if words != told:
            told = words
            notifier.status(words)


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


class _Complaint:
    """Says once, not at every turn of the watchdog, that something hangs."""

    def __init__(self) -> None:
        self._last: list[str] = []

    def __call__(self, stalled: list[str]) -> None:
        if stalled != self._last:
            _log.error("no progress", extra={"parts": stalled})
        self._last = stalled


async def _heed_signals(service: Service, group: TaskGroup, *, task_status: TaskStatus[None]) -> None:
    """The first signal begins a quiet end, the second one ends at once."""
    if sys.platform == "win32":
        await _heed_windows_signals(service, task_status)
        return
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        task_status.started()
        async for number in signals:
            if service.stopping.is_set():
                group.cancel_scope.cancel()
            service.stop(signal.Signals(number).name)


async def _heed_windows_signals(service: Service, task_status: TaskStatus[None]) -> None:
    """Windows' event loops take no signal handlers; Ctrl-C and Ctrl-Break set a flag that is looked at."""
    came: list[int] = []
    for name in ("SIGINT", "SIGBREAK", "SIGTERM"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda number, frame: came.append(number))
    task_status.started()
    while not came:  # noqa: ASYNC110 - set by a signal handler, outside of any loop
        await anyio.sleep(0.5)
    service.stop("signal")
