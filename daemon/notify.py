"""What the service manager is told (`sd_notify`), and the watchdog that is fed by progress.

Without a service manager every message goes nowhere. A message that cannot be delivered is no reason to fail.
"""

import os
import socket
import time
from collections.abc import Callable, Mapping

import anyio


class Notifier:
    """The way to the service manager of this process's environment."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        # A leading @ stands for the NUL of an abstract address.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self.watchdog_seconds = _watchdog_seconds(environ) if address else None

    def send(self, *assignments: str) -> None:
        """Send `NAME=value` lines."""
        if not self._address or not hasattr(socket, "AF_UNIX"):
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | getattr(socket, "SOCK_CLOEXEC", 0)) as channel:
                channel.setblocking(False)
                channel.connect(self._address)
                channel.send("\n".join(assignments).encode())
        except OSError:
            return

    def ready(self, status: str) -> None:
        """The service works."""
        self.send("READY=1", f"STATUS={status}")

    def status(self, text: str) -> None:
        """One line for people."""
        self.send(f"STATUS={text}")

    def stopping(self) -> None:
        """The service is on its way out."""
        self.send("STOPPING=1", "STATUS=stopping")

    def extend_timeout(self, seconds: float) -> None:
        """Starting or stopping takes up to this much longer, and that is all right."""
        self.send(f"EXTEND_TIMEOUT_USEC={int(seconds * 1_000_000)}")


def _watchdog_seconds(environ: Mapping[str, str]) -> float | None:
    if environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None  # meant for another process
    try:
        microseconds = int(environ["WATCHDOG_USEC"])
    except (KeyError, ValueError):
        return None
    return microseconds / 1_000_000 if microseconds > 0 else None


class Progress:
    """When each part of the daemon last got on with its work.

    A part that waits says how long it may be silent; one that works beats whenever a step is done.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due: dict[str, float] = {}

    def beat(self, part: str, silent_for: float) -> None:
        """`part` is getting on; it may now be silent for this many seconds."""
        self._due[part] = self._clock() + silent_for

    def ended(self, part: str) -> None:
        """`part` is over and nothing is expected of it."""
        self._due.pop(part, None)

    def stalled(self) -> list[str]:
        """The parts that have been silent for too long."""
        now = self._clock()
        return sorted(part for part, due in self._due.items() if due < now)


async def feed_watchdog(notifier: Notifier, progress: Progress, on_stall: Callable[[list[str]], None]) -> None:
    """Tell the service manager that all is well, for as long as every part makes progress.

    When one stalls the watchdog goes hungry, and the service manager restarts the process.
    """
    if notifier.watchdog_seconds is None:
        return
    while True:
        stalled = progress.stalled()
        if stalled:
            on_stall(stalled)
        else:
            notifier.send("WATCHDOG=1")
        await anyio.sleep(notifier.watchdog_seconds / 3)
