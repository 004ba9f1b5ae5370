"""What a session needs of the byte streams that it is served over."""

from typing import Protocol


class ByteReader(Protocol):
    """Where messages come from; any anyio byte stream will do."""

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """At least one byte, at most `max_bytes`. Raises anyio.EndOfStream at the end."""
        ...


class ByteWriter(Protocol):
    """Where answers go; any anyio byte stream will do."""

    async def send(self, item: bytes) -> None:
        """Write all bytes."""
        ...
