"""One connection: JSON-RPC messages, one per line, between a byte stream and the server.

The SDK serves stdio and HTTP only. Serving any other stream takes one name that is not public,
`MCPServer._lowlevel_server`; it is used in `_low_level` alone, and tests/mcp_server/test_connection.py fails
with a clear message when an upgrade moves it.
"""

import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server import NotificationOptions, Server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from mcp_server.changes import announce_changes
from mcp_server.factory import create_server
from mcp_server.server import MemoryServer
from mcp_server.session import Session, SessionContext
from mcp_server.streams import ByteReader, ByteWriter
from memory_cache.cache import MemoryCache

MAX_LINE_BYTES = 32 * 1024 * 1024
"""The longest message that is read; a client that sends a longer one is disconnected."""

DRAIN_SECONDS = 30.0
"""How long requests that came in before the client closed its side may still be answered."""

_log = logging.getLogger(__name__)

Incoming = ObjectReceiveStream[SessionMessage | Exception]
Outgoing = ObjectSendStream[SessionMessage]


async def serve_bytes(
    cache: MemoryCache, reader: ByteReader, writer: ByteWriter, context: SessionContext, initial: bytes
) -> None:
    """Serve one client over a byte stream; see `sessions.serve_session`."""
    server = create_server(cache, context)
    async with _framed(reader, writer, initial) as (incoming, outgoing):
        await serve_messages(server, incoming, outgoing)


async def serve_messages(server: MemoryServer, incoming: Any, outgoing: Any) -> None:
    """Drive `server` over a pair of message streams until the client closes its side or vanishes; closes both.

    The SDK cancels what is in work at the end of input. Here such requests are answered first: a client that
    writes its requests, closes, and then reads (a pipe in a shell) gets its answers.
    """
    to_server, server_reads = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    server_writes, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    waiting = _Waiting()
    flushed = anyio.Event()
    streams = (to_server, server_reads, server_writes, from_server, incoming, outgoing)
    async with _closing(*streams), anyio.create_task_group() as group:

        async def pass_in() -> None:
            async with to_server:
                async for received in incoming:
                    item = _readable(received)
                    if isinstance(item, Exception):
                        await _complain(item, outgoing)
                        continue
                    waiting.came_in(item)
                    await to_server.send(item)
                with anyio.move_on_after(DRAIN_SECONDS):
                    await waiting.until_answered()

        async def pass_out() -> None:
            try:
                async for item in from_server:
                    await outgoing.send(item)
                    waiting.went_out(item)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                group.cancel_scope.cancel()  # nobody reads any more
            flushed.set()

        group.start_soon(pass_in)
        group.start_soon(pass_out)
        group.start_soon(announce_changes, server)
        low_level = _low_level(server)
        options = low_level.create_initialization_options(NotificationOptions(resources_changed=True))
        await low_level.run(server_reads, server_writes, options)
        with anyio.move_on_after(DRAIN_SECONDS):
            await flushed.wait()
        group.cancel_scope.cancel()


@asynccontextmanager
async def _closing(*streams: ObjectReceiveStream[Any] | ObjectSendStream[Any]) -> AsyncIterator[None]:
    """Close all of these at the end, however it comes."""
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True):
            for stream in streams:
                await stream.aclose()


def _low_level(server: MemoryServer) -> Server[Session]:
    return server._lowlevel_server


class _Waiting:
    """The requests that are not answered yet. A listening stream is never answered and does not count."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._changed = anyio.Event()

    def came_in(self, item: SessionMessage) -> None:
        message = item.message
        if isinstance(message, JSONRPCRequest) and message.method != "subscriptions/listen":
            self._ids.add(str(message.id))
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._remove((message.params or {}).get("requestId"))

    def went_out(self, item: SessionMessage) -> None:
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self._remove(item.message.id)

    def _remove(self, identifier: object) -> None:
        self._ids.discard(str(identifier))
        self._changed.set()

    async def until_answered(self) -> None:
        while self._ids:
            self._changed = anyio.Event()
            await self._changed.wait()


@asynccontextmanager
async def _framed(reader: ByteReader, writer: ByteWriter, initial: bytes) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Message streams over a byte stream; the same framing as the SDK's stdio."""
    send_in, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, receive_out = anyio.create_memory_object_stream[SessionMessage](0)
    written = anyio.Event()

    async def read() -> None:
        try:
            async with send_in:
                async for line in _lines(reader, initial):
                    await send_in.send(_parsed(line))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            _log.debug("the client is gone")

    async def write() -> None:
        try:
            async with receive_out:
                async for item in receive_out:
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await writer.send(text.encode() + b"\n")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            _log.debug("the client no longer reads")
        finally:
            written.set()

    streams = (send_in, incoming, outgoing, receive_out)
    async with _closing(*streams), anyio.create_task_group() as group:
        group.start_soon(read)
        group.start_soon(write)
        try:
            yield incoming, outgoing
        finally:
            outgoing.close()
            with anyio.move_on_after(DRAIN_SECONDS):  # what is handed over is still written
                await written.wait()
            group.cancel_scope.cancel()


def _parsed(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError as error:
        return _NoMessage(line, error)


class _NoMessage(Exception):
    """A line that is no message, and why."""

    def __init__(self, line: bytes, error: ValidationError) -> None:
        super().__init__(error.title)
        self.line = line
        self.is_json = error.errors()[0]["type"] != "json_invalid"

    def identity(self) -> str | int | None:
        """The id of the request that this was meant to be."""
        found = json.loads(self.line) if self.is_json else None
        identity = found.get("id") if isinstance(found, dict) else None
        return identity if isinstance(identity, str | int) and not isinstance(identity, bool) else None


async def _complain(item: Exception, outgoing: Outgoing) -> None:
    """Tell the client that it sent something else than a message, as JSON-RPC wants it."""
    if not isinstance(item, _NoMessage):
        _log.warning("a message could not be read: %s", type(item).__name__)
        return
    code, what = (INVALID_REQUEST, "JSON, but no JSON-RPC message") if item.is_json else (PARSE_ERROR, "no JSON")
    error = ErrorData(code=code, message=f"That is {what}. One message of JSON-RPC 2.0 per line is understood.")
    await outgoing.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=item.identity(), error=error)))


def _readable(item: SessionMessage | Exception) -> SessionMessage | Exception:
    """Half of a surrogate pair (`"\\ud83d"`: a text cut in the middle of an emoji) becomes U+FFFD. It is JSON that the
    strict parser refuses, and a request that is not read is never answered."""
    if not isinstance(item, _NoMessage) or item.is_json:
        return item
    try:
        text = json.dumps(json.loads(item.line), ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):
        return item
    return _parsed(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode())


async def _lines(reader: ByteReader, initial: bytes) -> AsyncIterator[bytes]:
    """The lines of a byte stream without their ends; empty ones are skipped."""
    buffer = bytearray(initial)
    searched = 0
    while True:
        while (end := buffer.find(b"\n", searched)) >= 0:
            line = bytes(buffer[:end]).strip()
            del buffer[: end + 1]
            searched = 0
            if line:
                yield line
        searched = len(buffer)
        if len(buffer) > MAX_LINE_BYTES:
            _log.warning("a client sent a message of more than %d bytes; disconnected", MAX_LINE_BYTES)
            return
        try:
            buffer += await reader.receive(65536)
        except anyio.EndOfStream:
            return
