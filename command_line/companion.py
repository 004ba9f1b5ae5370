"""A daemon beside an HTTP server, as there is one beside the sessions on stdin and stdout."""

import contextlib
import subprocess
import threading
import time
from collections.abc import Mapping
from select import select

from command_line.launch import start_detached
from mcp_server.finder import Finder, autostart
from mcp_server.relay_types import Server
from memory_cache.home import Home

_LOOK_AGAIN_SECONDS = 5.0


class Companion:
    """Starts a daemon where none runs, unless `daemon.autostart` is off, and counts as its client: a daemon that was
    started so ends when it has none. One that somebody stops stays stopped."""

    def __init__(self, home: Home, environ: Mapping[str, str]) -> None:
        self._home = str(home.root)
        self._environ = environ
        self._started: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Go to work beside the caller, until the process ends."""
        threading.Thread(target=self._run, name="companion", daemon=True).start()

    def _run(self) -> None:
        finder = Finder(self._home, self._environ, self._start)
        if finder.attempt(0.0, again=True, needed=False) is None and autostart(self._home, self._environ):
            with contextlib.suppress(OSError):
                self._started = self._start()
        while True:
            server = finder.attempt(time.monotonic(), again=True, needed=False)
            if server is not None:
                _until_it_ends(server)
            if self._started is not None:
                self._started.poll()  # no zombie of it
            time.sleep(_LOOK_AGAIN_SECONDS)

    def _start(self) -> "subprocess.Popen[bytes]":
        return start_detached(self._home, self._environ, auto_started=True)


def _until_it_ends(server: Server) -> None:
    with contextlib.suppress(OSError):
        while True:
            readable, _, _ = select([server], [], [])
            if readable and not server.recv(4096):
                break
    server.close()
