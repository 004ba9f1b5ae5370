"""Serving one client over a byte stream: one that the daemon hands on, or the relay's own end of a socket pair.

This module imports nothing heavy, so that a server without a daemon can first switch off the garbage collector:
reading the SDK's modules takes most of the time until the first answer, and collecting while nothing can be
garbage yet takes a fifth of that.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp_server.streams import ByteReader, ByteWriter
    from memory_cache.cache import MemoryCache


def warm_up() -> None:
    """Import and build what the first session would otherwise wait for; the daemon calls this when it starts."""
    from mcp_server import connection
    from mcp_server.tools import built

    del connection
    built("full")


async def serve_session(
    cache: "MemoryCache",
    reader: "ByteReader",
    writer: "ByteWriter",
    preamble: Mapping[str, Any],
    *,
    initial: bytes = b"",
) -> None:
    """Serve one client until it closes its side or goes away.

    Args:
        preamble: what the relay sent first: `cwd`, `project_dir`, `session_id`, `roots`.
        initial: bytes that were already read behind the preamble.

    A client that vanishes is no error. The streams are not closed here.
    """
    from mcp_server.connection import serve_bytes
    from mcp_server.session import SessionContext

    await serve_bytes(cache, reader, writer, SessionContext.from_preamble(preamble), initial)
