"""The drive's notifications: a socket.io endpoint whose events say "something changed", and nothing else.

An event is only a hint to read delta. So all that can go wrong here costs time and never a memory: the
connection comes back with growing pauses, and polling goes on underneath.
"""

import asyncio
import contextlib
import json
import random
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from storage_backends.errors import LoginRequired, PermanentError, StorageError, Throttled
from storage_backends.onedrive.settings import is_loopback
from storage_backends.onedrive.transport import Transport

_NAMESPACE = "/notifications"
_OPEN, _PAUSE_MIN, _PAUSE_MAX = 20.0, 1.0, 60.0  # seconds
_REFUSED = 900.0  # seconds until a service that refuses notifications is asked again
_RENEW_EARLY = 120.0
_CANCEL_AGAIN = 1.0
_LIFETIME_MIN = 10.0
_LIFETIME = 3600.0  # seconds for an address whose end is not told


class Notifications:
    """Keeps one connection, from the first `wait` on, and remembers events that came between two waits."""

    def __init__(self, transport: Transport, address: Callable[[], Awaitable[str]]) -> None:
        self._transport, self._address = transport, address
        self._event = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.connected = False

    async def wait(self, timeout: float) -> bool:
        """True when something may have changed since the last call."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="onedrive-push")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._event.wait()
        happened = self._event.is_set()
        self._event.clear()
        return happened

    async def aclose(self) -> None:
        """End the connection."""
        task, self._task = self._task, None
        # One cancellation may get lost where it meets an answer in the same instant (Python 3.11).
        while task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=_CANCEL_AGAIN)

    async def _run(self) -> None:
        pause = _PAUSE_MIN
        while True:
            await asyncio.sleep(self._transport.pause_left)
            lived = time.monotonic()
            try:
                await self._connect_once()
                wait = 0.0  # ended in good order: the address is renewed
            except Throttled as error:
                wait = max(error.retry_after or _PAUSE_MAX, _PAUSE_MAX)
            except LoginRequired:
                wait = _PAUSE_MAX  # asks nobody until somebody has logged in
            except PermanentError:
                wait = _REFUSED
            except StorageError:
                wait = pause
            except Exception:  # noqa: BLE001 - any failure of a hint is answered by trying again
                wait = pause
            finally:
                self.connected = False
            pause = _PAUSE_MIN if time.monotonic() - lived > _PAUSE_MAX else min(pause * 2, _PAUSE_MAX)
            await asyncio.sleep(wait * random.uniform(0.8, 1.2))  # noqa: S311 - spreads clients, no secret

    async def _connect_once(self) -> None:
        """Register, connect, and listen until the address is about to end."""
        from websockets.asyncio.client import connect

        answer = await self._transport.send("GET", await self._address())
        registration = answer.json()
        lifetime = _lifetime(registration)
        async with connect(
            socket_address(str(registration.get("notificationUrl", ""))),
            open_timeout=_OPEN,
            close_timeout=1,
            ping_interval=None,  # Engine.IO has its own
            max_size=1 << 20,
        ) as connection:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(lifetime):
                    await self._listen(connection)

    async def _listen(self, connection: Any) -> None:
        silence = _OPEN
        async with asyncio.timeout(_OPEN) as opening:
            while True:
                async with asyncio.timeout(silence):
                    packet = await connection.recv()
                if not isinstance(packet, str):
                    continue
                if packet.startswith("0"):
                    silence = _silence(packet)
                    await connection.send("40")
                    await connection.send(f"40{_NAMESPACE}")
                elif packet == "2":
                    await connection.send("3")
                elif packet.startswith(f"40{_NAMESPACE}"):
                    opening.reschedule(None)
                    self.connected = True
                    self._event.set()  # whatever happened while nobody listened
                elif packet.startswith(f"42{_NAMESPACE}"):
                    self._event.set()
                elif packet.startswith((f"44{_NAMESPACE}", "41", "1")):
                    raise ConnectionError("refused or closed by the service")


def socket_address(notification_url: str) -> str:
    """The websocket's address for a notification address. Raises: PermanentError for one that is not encrypted."""
    parts = urlsplit(notification_url)
    secure = parts.scheme == "https"
    if not parts.netloc or not (secure or (parts.scheme == "http" and is_loopback(parts.hostname or ""))):
        raise PermanentError("OneDrive gave an address for notifications that cannot be used.")
    query = f"&{parts.query}" if parts.query else ""
    return f"{'wss' if secure else 'ws'}://{parts.netloc}/socket.io/?EIO=4&transport=websocket{query}"


def _silence(packet: str) -> float:
    """Seconds without a word after which the connection counts as dead."""
    try:
        opening = json.loads(packet[1:])
        return (float(opening["pingInterval"]) + float(opening["pingTimeout"])) / 1000
    except (ValueError, KeyError, TypeError):
        return 85.0


def _lifetime(registration: dict[str, Any]) -> float:
    """Seconds until the address has to be renewed."""
    try:
        ends = datetime.fromisoformat(str(registration["expirationDateTime"])).timestamp()
    except (KeyError, ValueError):
        return _LIFETIME
    return max(ends - time.time() - _RENEW_EARLY, _LIFETIME_MIN)
