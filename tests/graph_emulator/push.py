"""The drive's notification endpoint: socket.io (Engine.IO 4) over a websocket, framed by hand."""

import asyncio
import base64
import hashlib
import json
import random
import struct
from dataclasses import dataclass, field
from typing import Any

from tests.graph_emulator.clock import Clock
from tests.graph_emulator.delta import query_of
from tests.graph_emulator.http_server import Request
from tests.graph_emulator.switches import Switches

_MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


@dataclass(eq=False)
class Client:
    """One connected websocket. `joined`: it has entered the namespace; `pongs`: answers to pings."""

    writer: asyncio.StreamWriter
    joined: bool = False
    pongs: int = 0


@dataclass
class Push:
    """Registered notification URLs and connected clients.

    Attributes:
        ping_interval, ping_timeout: seconds, told to the client in the opening packet.
        registrations: how often the endpoint was asked for.
        connected: how often a client came through to the namespace.
    """

    clock: Clock
    switches: Switches
    rng: random.Random
    ping_interval: float = 25.0
    ping_timeout: float = 60.0
    registrations: int = 0
    connected: int = 0
    _tokens: dict[str, float] = field(default_factory=dict)
    clients: set[Client] = field(default_factory=set)
    _loop: asyncio.AbstractEventLoop | None = None

    def register(self, base: str) -> dict[str, Any]:
        """What `…/root/subscriptions/socketIo` answers."""
        self.registrations += 1
        token = f"{self.rng.getrandbits(64):x}"
        self._tokens[token] = self.clock.now() + self.switches.socket_lifetime
        ends = Clock(self._tokens[token]).stamp()
        return {
            "@odata.type": "#microsoft.graph.subscription",
            "id": token,
            "notificationUrl": f"{base}/notifications?token={token}&applicationId=emulated",
            "expirationDateTime": ends,
        }

    def notify(self) -> None:
        """Something changed in the drive; from any thread."""
        if self._loop is not None and not self.switches.socket_silent:
            self._loop.call_soon_threadsafe(self._send_notifications)

    def drop_all(self) -> None:
        """The network drops every connection; from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._abort)

    @property
    def listeners(self) -> int:
        """Clients that would hear of a change now."""
        return sum(1 for client in self.clients if client.joined)

    async def serve(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """A websocket request; never keeps the connection for HTTP afterwards."""
        self._loop = asyncio.get_running_loop()
        query = query_of(request.target)
        ends = self._tokens.get(query.get("token", ""), 0.0)
        if not request.path.startswith("/socket.io/") or query.get("EIO") != "4" or ends < self.clock.now():
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return False
        accept = base64.b64encode(
            hashlib.sha1((request.headers["sec-websocket-key"] + _MAGIC).encode(), usedforsecurity=False).digest()
        )
        writer.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
        )
        client = Client(writer)
        self.clients.add(client)
        pinger = asyncio.create_task(self._ping(client))
        try:
            await self._converse(client, reader)
        finally:
            pinger.cancel()
            self.clients.discard(client)
        return False

    async def _converse(self, client: Client, reader: asyncio.StreamReader) -> None:
        opening = {
            "sid": f"{self.rng.getrandbits(64):x}",
            "upgrades": [],
            "pingInterval": int(self.ping_interval * 1000),
            "pingTimeout": int(self.ping_timeout * 1000),
        }
        self._send(client, "0" + json.dumps(opening))
        while True:
            opcode, payload = await _read_frame(reader)
            if opcode == 8:
                return
            if opcode == 9:
                client.writer.write(_frame(payload, 10))
                continue
            text = payload.decode("utf-8", "replace")
            if text == "40":
                self._send(client, '40{"sid":"a"}')
            elif text == "40/notifications" or text.startswith("40/notifications,"):
                self._send(client, '40/notifications,{"sid":"b"}')
                client.joined = True
                self.connected += 1
            elif text == "3":
                client.pongs += 1

    async def _ping(self, client: Client) -> None:
        while True:
            await asyncio.sleep(self.ping_interval)
            self._send(client, "2")

    def _send_notifications(self) -> None:
        change = json.dumps({"value": [{"resource": "me/drive/root", "clientState": ""}]})
        packet = "42/notifications," + json.dumps(["notification", change])
        for client in self.clients:
            if client.joined:
                self._send(client, packet)

    def _abort(self) -> None:
        for client in list(self.clients):
            client.writer.transport.abort()

    @staticmethod
    def _send(client: Client, text: str) -> None:
        client.writer.write(_frame(text.encode(), 1))


def _frame(payload: bytes, opcode: int) -> bytes:
    head = bytes([0x80 | opcode])
    if len(payload) < 126:
        return head + bytes([len(payload)]) + payload
    return head + bytes([126]) + struct.pack(">H", len(payload)) + payload


async def _read_frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    first, second = await reader.readexactly(2)
    length = second & 0x7F
    if length == 126:
        length = struct.unpack(">H", await reader.readexactly(2))[0]
    elif length == 127:
        length = struct.unpack(">Q", await reader.readexactly(8))[0]
    mask = await reader.readexactly(4) if second & 0x80 else b"\0\0\0\0"
    data = await reader.readexactly(length)
    return first & 0x0F, bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))
