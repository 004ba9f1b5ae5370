"""What can be asked of a running daemon over its socket; one request per connection.

status          → {"result": {…}}
sync            → any number of {"progress": {…}}, then {"result": report, "exit": code} or {"error": …, "exit": code};
                  `full` and `confirm_deletes` as in `claude-memory sync`
wake            → {"result": {}}; a round soon
reload-login    → {"result": {}}; the storage is opened anew
stop            → {"result": {"pid": …}}, then the connection stays open until the process ends
"""

import time
from collections.abc import Mapping
from typing import Any, Protocol

import anyio
from anyio.streams.buffered import BufferedByteStream

from daemon import outcome
from daemon.control import send_line
from daemon.loops import Request, SyncLoop
from daemon.round_report import RoundReport

_PROGRESS_SECONDS = 0.5


class Running(Protocol):
    """The daemon as its requests see it."""

    @property
    def sync(self) -> SyncLoop: ...
    def status(self) -> dict[str, Any]: ...
    def stop(self, why: str) -> None: ...


class ControlRequests:
    """Answers connections of kind `control`."""

    def __init__(self, service: Running) -> None:
        self._service = service

    async def handle(self, stream: BufferedByteStream, preamble: Mapping[str, Any]) -> None:
        """Answer the one request of this connection."""
        request = preamble.get("request")
        if request == "status":
            await send_line(stream, {"result": self._service.status()})
        elif request == "sync":
            full, confirm = preamble.get("full") is True, preamble.get("confirm_deletes") is True
            await self._sync(stream, self._service.sync.request(full=full, confirm_deletes=confirm))
        elif request == "wake":
            self._service.sync.wake()
            await send_line(stream, {"result": {}})
        elif request == "reload-login":
            self._service.sync.reopen()
            await send_line(stream, {"result": {}})
        elif request == "stop":
            await send_line(stream, {"result": self._service.status()})
            self._service.stop("asked to")
            await anyio.sleep_forever()
        else:
            message = f"This daemon does not know the request {request!r}."
            hint = "It may be older than this command: restart it with `claude-memory daemon stop`."
            await send_line(stream, {"error": {"title": "Unknown request", "message": message, "hint": hint}})

    async def _sync(self, stream: BufferedByteStream, asked: Request) -> None:
        began, calls = time.monotonic(), self._service.sync.calls
        while not asked.done.is_set():
            with anyio.move_on_after(_PROGRESS_SECONDS):
                await asked.done.wait()
                break
            progress = {"calls": self._service.sync.calls - calls, "seconds": round(time.monotonic() - began, 1)}
            await send_line(stream, {"progress": progress})
        result = asked.outcome
        if isinstance(result, RoundReport):
            await send_line(stream, {"result": outcome.report_json(result), "exit": outcome.exit_code(result)})
        elif result is not None:
            await send_line(stream, {"error": outcome.error_json(result), "exit": outcome.exit_code(result)})
