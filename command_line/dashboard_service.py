"""The daemon's side of `claude-memory dashboard`: its pages begin to listen when somebody first asks for them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup
from anyio.streams.buffered import BufferedByteStream

from daemon.control import send_line
from daemon.service import Service
from memory_cache import settings as settings_file
from memory_cache.home import Home

if TYPE_CHECKING:
    from dashboard.server import Dashboard


class DashboardDoor:
    """Answers connections of kind `dashboard` with an address that opens the pages once."""

    def __init__(self, service: Service, home: Home, environ: Mapping[str, str]) -> None:
        self._service = service
        self._home = home
        self._environ = environ
        self._dashboard: Dashboard | None = None
        self._lock = anyio.Lock()

    async def handle(self, stream: BufferedByteStream, preamble: Mapping[str, Any]) -> None:
        """Answer. The first connection's task goes on after that: it serves the pages until the daemon ends."""
        async with anyio.create_task_group() as group:
            async with self._lock:
                with self._service.sessions.visited():
                    await self._answer(group, stream)
            await stream.aclose()

    async def _answer(self, group: TaskGroup, stream: BufferedByteStream) -> None:
        if self._dashboard is None:
            self._dashboard = await anyio.to_thread.run_sync(self._made)
        if self._dashboard.port is None:
            await group.start(self._dashboard.serve)
        await send_line(stream, {"result": {"url": self._dashboard.url(), "port": self._dashboard.port}})

    def _made(self) -> "Dashboard":
        # Imported when it is first wanted: most daemons never show a page.
        from dashboard.running import Running
        from dashboard.server import Dashboard

        service = self._service
        running = Running(
            version=service.version,
            syncing=lambda: service.sync.running,
            health=lambda: service.sync.sync,
            describe=self._described,
            sync_now=service.sync.wake,
            visited=service.sessions.visited,
        )
        return Dashboard(service.cache, running)

    async def _described(self) -> dict[str, Any]:
        from command_line.status_command import describe

        settings = await anyio.to_thread.run_sync(settings_file.load, self._home, self._environ)
        return await describe(self._home, settings, self._service.cache, self._service.status())
