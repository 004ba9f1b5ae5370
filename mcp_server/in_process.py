"""A server in a thread of the relay's own process, at the other end of a socket pair.

To the relay it is a server like the daemon: it is spoken to in lines and may end.
"""

import gc
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_JOIN_SECONDS = 10.0


def serve_in_thread(
    home: str, environ: Mapping[str, str], preamble: Mapping[str, str]
) -> tuple["ThreadServer", socket.socket]:
    """Start the server; returns it and the relay's end of its socket."""
    ours, theirs = socket.socketpair()
    return ThreadServer(home, environ, preamble, theirs), ours


class ThreadServer:
    """The running server.

    Attributes:
        failure: why it could not go on; empty while it runs and after a normal end.
    """

    def __init__(
        self, home: str, environ: Mapping[str, str], preamble: Mapping[str, str], connection: socket.socket
    ) -> None:
        self.failure = ""
        self._thread = threading.Thread(
            target=self._run, args=(home, environ, preamble, connection), name="mcp-server", daemon=True
        )
        self._thread.start()

    def join(self) -> bool:
        """Wait until the session that ended has closed the cache; whether it did so in time."""
        self._thread.join(_JOIN_SECONDS)
        return not self._thread.is_alive()

    def _run(
        self, home: str, environ: Mapping[str, str], preamble: Mapping[str, str], connection: socket.socket
    ) -> None:
        from memory_cache.errors import MemoryCacheError

        try:
            _warm_up()
            import anyio

            anyio.run(_serve, home, environ, preamble, connection)
        except MemoryCacheError as error:
            self.failure = f"{error.message} {error.hint}".strip()
        except Exception as error:  # noqa: BLE001 - whatever it was, the client must be told
            # The type only: its text may quote a memory.
            self.failure = f"The memory server ended unexpectedly ({type(error).__name__})."
        finally:
            connection.close()


def _warm_up() -> None:
    # Nothing can be garbage while the SDK is being imported and the tools are built, and looking for it takes a fifth
    # of the time.
    gc.disable()
    try:
        from mcp_server import sessions

        sessions.warm_up()
    finally:
        gc.freeze()
        gc.enable()


async def _serve(home: str, environ: Mapping[str, str], preamble: Mapping[str, Any], connection: socket.socket) -> None:
    from anyio.abc import SocketStream

    from mcp_server.sessions import serve_session
    from memory_cache import settings as settings_file
    from memory_cache.cache import open_cache
    from memory_cache.home import Home

    here = Home(Path(home))
    here.ensure()
    settings = settings_file.load(here, environ)
    async with open_cache(here, settings) as cache, await SocketStream.from_socket(connection) as stream:
        await serve_session(cache, stream, stream, preamble)
