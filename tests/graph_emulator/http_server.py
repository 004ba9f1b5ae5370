"""A lean HTTP/1.1 server that can also misbehave on the wire: cut answers, reset connections, say nothing."""

import asyncio
import contextlib
import json
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

_REASONS = {
    100: "Continue", 101: "Switching Protocols", 200: "OK", 201: "Created", 202: "Accepted", 204: "No Content",
    206: "Partial Content", 302: "Found", 304: "Not Modified", 400: "Bad Request", 401: "Unauthorized",
    403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 408: "Request Timeout", 409: "Conflict",
    410: "Gone", 412: "Precondition Failed", 416: "Range Not Satisfiable", 423: "Locked", 429: "Too Many Requests",
    500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
    504: "Gateway Timeout", 507: "Insufficient Storage", 509: "Bandwidth Limit Exceeded",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `headers` have lower-case names; `target` is as sent, percent-encoding and all."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    scheme: str

    @property
    def path(self) -> str:
        """The path as sent."""
        return urlsplit(self.target).path if not self.target.startswith("//") else self.target.split("?", 1)[0]

    @property
    def host(self) -> str:
        """Host and port that the client meant."""
        return self.headers.get("host", "")


@dataclass(slots=True)
class Response:
    """One answer.

    Attributes:
        wire: "" to deliver it; "lose" to close instead of answering; "reset" to break off in the
            middle of the body with RST; "truncate" to end in the middle; "stall" to never answer.
        delay: seconds before it goes out.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    wire: str = ""
    delay: float = 0.0

    @classmethod
    def of_json(cls, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> "Response":
        """A JSON answer."""
        body = json.dumps(value, ensure_ascii=False).encode()
        return cls(status, body, {"Content-Type": "application/json; odata.metadata=minimal", **(headers or {})})


Handler = Callable[[Request], Response]
Upgrade = Callable[[Request, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bool]]


class HttpServer:
    """Serves one handler on any number of listening sockets of one event loop."""

    def __init__(self, handler: Handler, upgrade: Upgrade) -> None:
        self._handler, self._upgrade = handler, upgrade
        self._servers: list[asyncio.Server] = []
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def listen(self, host: str, port: int, tls: ssl.SSLContext | None = None) -> int:
        """Listen; returns the port (chosen by the system when 0)."""
        server = await asyncio.start_server(self._connected, host, port, ssl=tls, limit=1 << 20)
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop listening and end every connection."""
        for server in self._servers:
            server.close()
        open_now = dict(self._connections)
        for task, writer in open_now.items():
            writer.transport.abort()
            task.cancel()
        await asyncio.gather(*open_now, return_exceptions=True)
        await asyncio.sleep(0)  # lets the transports say goodbye

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = writer
        try:
            while await self._serve_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass
        finally:
            with contextlib.suppress(Exception, asyncio.CancelledError):
                writer.close()
                await writer.wait_closed()
            self._connections.pop(task, None)

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        request = await _read_request(reader, writer)
        if request is None:
            return False
        if request.headers.get("upgrade", "").lower() == "websocket":
            return await self._upgrade(request, reader, writer)
        response = self._handler(request)
        if response.delay:
            await asyncio.sleep(response.delay)
        return await _write_response(request, response, writer)


async def _read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    lines = head.decode("latin-1").split("\r\n")
    method, target, _ = lines[0].split(" ", 2)
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, separator, value = line.partition(":")
        if separator:
            headers[name.strip().lower()] = value.strip()
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await writer.drain()
    body = b""
    if "chunked" in headers.get("transfer-encoding", ""):
        body = await _read_chunks(reader)
    elif length := int(headers.get("content-length", "0") or 0):
        body = await reader.readexactly(length)
    scheme = "https" if writer.get_extra_info("ssl_object") else "http"
    if target.startswith("http://") or target.startswith("https://"):
        parts = urlsplit(target)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
    return Request(method.upper(), target, headers, body, scheme)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    parts: list[bytes] = []
    while True:
        size = int((await reader.readline()).split(b";")[0].strip() or b"0", 16)
        if size:
            parts.append(await reader.readexactly(size))
        await reader.readline()
        if not size:
            return b"".join(parts)


async def _write_response(request: Request, response: Response, writer: asyncio.StreamWriter) -> bool:
    if response.wire == "stall":
        await asyncio.sleep(3600)
    if response.wire == "lose":
        return False
    body = b"" if request.method == "HEAD" or response.status in (204, 304) else response.body
    lines = [f"HTTP/1.1 {response.status} {_REASONS.get(response.status, 'Unknown')}"]
    lines += [f"{name}: {value}" for name, value in response.headers.items()]
    if response.status not in (204, 304):
        lines.append(f"Content-Length: {len(response.body)}")
    half = max(len(body) // 2, 0)
    if response.wire in ("reset", "truncate"):
        body = body[:half]
    writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body)
    await writer.drain()
    if response.wire == "reset":
        raw = writer.get_extra_info("socket")
        with contextlib.suppress(OSError, AttributeError):
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return False
    if response.wire == "truncate":
        return False
    return request.headers.get("connection", "").lower() != "close"
