"""The daemon's local socket: who may connect, and what a connection is for.

A connection begins with one line of JSON, the preamble. Its `kind` says who goes on with it: `mcp` (the
daemon answers with one `{"ready": …}` line, then both sides speak MCP) or `control` (one request, any number of
progress lines, one last line). Other rooms may add kinds.

Only the user who runs the daemon gets in: the socket has mode 0600 in a directory of mode 0700, and the peer's
user id is checked where the system tells it. Windows has loopback TCP instead, with a random token in a
file of the home.
"""

import hmac
import json
import logging
import os
import secrets
import socket
import struct
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketAttribute, SocketListener, SocketStream, TaskGroup
from anyio.streams.buffered import BufferedByteStream

from memory_cache.endpoint import ADDRESS_NAME
from memory_cache.home import Home

PREAMBLE_BYTES = 64 * 1024
PREAMBLE_SECONDS = 10.0
_BACKLOG = 256

_log = logging.getLogger(__name__)

Preamble = Mapping[str, Any]
Handler = Callable[[BufferedByteStream, Preamble], Awaitable[None]]
"""Serves one connection; it is closed when the handler returns."""


async def send_line(stream: BufferedByteStream, message: Mapping[str, Any]) -> None:
    """Send one message as one line."""
    await stream.send(json.dumps(message, default=str).encode() + b"\n")


class ControlSocket:
    """The bound socket of one home. The caller holds the home's lock, so whatever lies at its place is stale."""

    def __init__(self, home: Home, listener: SocketListener, token: str) -> None:
        self._home = home
        self._listener = listener
        self._token = token
        self._inode = _inode(home.socket_path)

    @property
    def in_place(self) -> bool:
        """Whether clients still find this socket: a cleaner of /tmp, or a person, may have removed it."""
        return sys.platform == "win32" or _inode(self._home.socket_path) == self._inode

    async def serve(self, handlers: Mapping[str, Handler], connections: TaskGroup | None = None) -> None:
        """Accept until cancelled. A connection that fails ends alone; with `connections`, they outlive this call."""

        async def one(stream: SocketStream) -> None:
            try:
                async with stream:
                    await self._one(stream, handlers)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream):
                _log.debug("a client went away")
            except Exception:  # noqa: BLE001 - one connection must not end the others
                _log.exception("a connection failed")

        await self._listener.serve(one, connections)

    async def _one(self, stream: SocketStream, handlers: Mapping[str, Handler]) -> None:
        if not _is_same_user(stream.extra(SocketAttribute.raw_socket)):  # noqa: S610 - no Django here
            _log.warning("a connection of another user was refused")
            return
        buffered = BufferedByteStream(stream)
        try:
            with anyio.fail_after(PREAMBLE_SECONDS):
                preamble = _preamble(await buffered.receive_until(b"\n", PREAMBLE_BYTES))
        except (TimeoutError, ValueError, anyio.DelimiterNotFound, anyio.IncompleteRead):
            return  # nobody who knows the protocol
        handler = handlers.get(str(preamble.get("kind")))
        if self._token and not hmac.compare_digest(str(preamble.get("token", "")).encode(), self._token.encode()):
            await send_line(buffered, {"error": {"title": "Not allowed", "message": "wrong token"}})
        elif handler is None:
            await send_line(buffered, {"error": {"title": "Unknown request", "message": "unknown kind"}})
        else:
            await handler(buffered, preamble)


def _preamble(line: bytes) -> Preamble:
    preamble = json.loads(line)
    if not isinstance(preamble, dict):
        raise ValueError("the preamble is no object")  # noqa: TRY004 - one kind of error for what cannot be read
    return preamble


@asynccontextmanager
async def open_socket(home: Home) -> AsyncIterator[ControlSocket]:
    """Bind the socket of this home; it is removed at the end. Raises: OSError."""
    home.ensure()
    token = secrets.token_urlsafe(32) if sys.platform == "win32" else ""
    if sys.platform == "win32":
        bound = _bind_loopback(home.root / ADDRESS_NAME, token)
    else:
        bound = _bind_unix(home.socket_path)
    listener = await SocketListener.from_socket(bound)
    control = ControlSocket(home, listener, token)
    try:
        yield control
    finally:
        if control.in_place:
            (home.root / ADDRESS_NAME if token else home.socket_path).unlink(missing_ok=True)
        await listener.aclose()


def _bind_unix(path: Path) -> socket.socket:
    path.unlink(missing_ok=True)
    # By name: type checkers know that Windows has no AF_UNIX.
    bound = socket.socket(getattr(socket, "AF_UNIX"), socket.SOCK_STREAM)  # noqa: B009
    try:
        bound.bind(str(path))
        # Nobody can connect before listen(), so there is no moment with wider rights.
        path.chmod(0o600)
        bound.listen(_BACKLOG)
    except BaseException:
        bound.close()
        raise
    bound.setblocking(False)
    return bound


def _bind_loopback(address_file: Path, token: str) -> socket.socket:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform == "win32":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        bound.bind(("127.0.0.1", 0))
        bound.listen(_BACKLOG)
        address_file.unlink(missing_ok=True)
        descriptor = os.open(address_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{bound.getsockname()[1]} {token}\n")
    except BaseException:
        bound.close()
        raise
    bound.setblocking(False)
    return bound


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        facts = path.lstat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def _is_same_user(connection: socket.socket) -> bool:
    if sys.platform == "win32" or connection.family != socket.AF_UNIX:
        return True  # TCP: the token decides
    user = _peer_user(connection)
    return user is None or user == os.getuid()


def _peer_user(connection: socket.socket) -> int | None:
    """The user id at the other end, or None where the system does not tell."""
    if sys.platform == "linux":
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", credentials)[1])
    if sys.platform == "darwin":
        # struct xucred: version, uid, number of groups, groups. SOL_LOCAL is 0, LOCAL_PEERCRED 1.
        credentials = connection.getsockopt(0, 1, 76)
        return int(struct.unpack("2I", credentials[:8])[1])
    return None
