"""The MCP sessions that the daemon serves: how many, and how they end well.

At the end of the daemon each session sees the end of its input: what it has begun it still answers.
"""

import logging
import socket
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import anyio
from anyio.abc import SocketAttribute
from anyio.streams.buffered import BufferedByteStream

from daemon.control import send_line

ServeSession = Callable[[BufferedByteStream, Mapping[str, Any]], Awaitable[None]]
"""Speaks MCP over this stream until the client closes its side; the second argument is the preamble."""

_log = logging.getLogger(__name__)


class Sessions:
    """The open sessions of this daemon."""

    def __init__(self, serve: ServeSession, welcome: Mapping[str, Any]) -> None:
        self._serve = serve
        self._welcome = welcome
        self._open: set[socket.socket] = set()
        self._none = anyio.Event()
        self._none.set()
        self._ready = anyio.Event()
        self._ending = False
        self._visitors = 0
        self.idle_since = time.monotonic()

    @property
    def count(self) -> int:
        """How many sessions are open."""
        return len(self._open)

    def ready(self) -> None:
        """Sessions can be served now; those that came earlier have waited."""
        self._ready.set()

    async def handle(self, stream: BufferedByteStream, preamble: Mapping[str, Any]) -> None:
        """Serve one connection that began with a preamble of kind `mcp`."""
        connection: socket.socket = stream.extra(SocketAttribute.raw_socket)  # noqa: S610 - no Django here
        if self._ending:
            return
        if not self._open:
            self._none = anyio.Event()
        self._open.add(connection)
        try:
            await send_line(stream, self._welcome)
            await self._ready.wait()
            await self._serve(stream, preamble)
        finally:
            self._open.discard(connection)
            if not self._open:
                self.idle_since = time.monotonic()
                self._none.set()

    @property
    def wanted(self) -> bool:
        """Whether somebody is there: a session, or another client."""
        return bool(self._open or self._visitors)

    @contextmanager
    def visited(self) -> Iterator[None]:
        """Somebody uses the daemon, within the block, in another way than by a session."""
        self._visitors += 1
        try:
            yield
        finally:
            self._visitors -= 1
            self.idle_since = time.monotonic()

    async def end(self, seconds: float) -> None:
        """Let every session finish what came in, for at most this long."""
        self._ending = True
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)
        with anyio.move_on_after(seconds):
            await self._none.wait()
        if self._open:
            _log.info("sessions cut off", extra={"sessions": len(self._open)})
