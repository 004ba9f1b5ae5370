"""The MCP server over HTTP without a bearer, for the conformance suite alone: it knows no header to send.

Prints one JSON line with the address once it listens. Loopback only; nothing in the product starts this.
"""

import json
import os
import socket

import anyio

from mcp_server.factory import create_server
from mcp_server.http import MCP_PATH, build_app, serve
from memory_cache.cache import open_cache
from memory_cache.home import Home
from memory_cache.settings import load


async def main() -> None:
    """Serve until a signal ends the process."""
    home = Home.current()
    home.ensure()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}{MCP_PATH}"
        async with open_cache(home, load(home, os.environ)) as cache:
            server = create_server(cache)
            await serve(
                server, build_app(server, token=None), listening, lambda: print(json.dumps({"url": url}), flush=True)
            )


if __name__ == "__main__":
    anyio.run(main)
