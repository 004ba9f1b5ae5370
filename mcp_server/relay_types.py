"""What the parts of the relay expect of each other. For type checkers only: `typing` costs a relay ten milliseconds."""

from collections.abc import Callable
from typing import Protocol


class HasDescriptor(Protocol):
    """What can be waited for."""

    def fileno(self) -> int: ...


Waitable = int | HasDescriptor


class Client(HasDescriptor, Protocol):
    """The reading end of the client's pipe."""

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        ...


class Server(HasDescriptor, Protocol):
    """What a relay needs of a connected socket."""

    def setblocking(self, flag: bool, /) -> None: ...
    def send(self, data: bytes | memoryview, /) -> int: ...
    def recv(self, size: int, /) -> bytes: ...
    def close(self) -> None: ...


class Started(Protocol):
    """A process that was started."""

    def poll(self) -> int | None: ...


class InProcess(Protocol):
    """A server in a thread of this process (`mcp_server.in_process`).

    `failure` says why it could not go on; empty while it runs and after a normal end.
    """

    failure: str

    def join(self) -> bool:
        """Wait until it has closed the cache; whether it did so in time."""
        ...


StartDaemon = Callable[[], Started]
"""Starts a daemon that outlives this process. Raises OSError."""
