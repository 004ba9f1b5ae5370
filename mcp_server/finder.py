"""Finding a server for a relay: the daemon, a daemon that is being started, or a thread of this process.

No daemon at the start of a session: the first relay serves in its own process at once, and starts a daemon
for the next time when the first answer is out, so that the two do not compete for the processor. Further
relays that come meanwhile start the daemon at once and wait for it: twenty sessions that open together
load the SDK twice and not twenty times. Two locks in the home tell them apart; the kernel frees them with
the process.

A daemon that is lost in the middle of a session is started again and waited for; where that is turned
off or does not work, the session goes on in this process.
"""

from __future__ import annotations

import os
import sys

from memory_cache import endpoint

TYPE_CHECKING = False  # importing it from `typing` costs what this process has not got
if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_server.relay_types import InProcess, Server, StartDaemon, Started

START_SECONDS = 15.0
"""How long a relay waits for a daemon that is being started."""

READY = b'{"ready"'
"""How the daemon's answer to a preamble begins when it takes the connection."""

REPEATS = b'"repeats"'
"""In that answer of a daemon that carries out once what a relay sends again."""

_RETURN_SECONDS = 1.0
"""How long a relay waits for a lost daemon that it must not start itself."""

_LOOK_AGAIN_SECONDS = 5.0
_READY_SECONDS = 3.0
_FIRST, _STARTING = 0, 1


class NoServer(Exception):
    """No server can be had; the text says why."""


class Finder:
    """Looks for a server whenever the relay has none."""

    def __init__(self, home: str, environ: Mapping[str, str], start_daemon: StartDaemon) -> None:
        self._home = home
        self._environ = environ
        self._start_daemon = start_daemon
        self._preamble = preamble(environ)
        self._locks = _Locks(home)
        self._autostart: bool | None = None
        self._deadline: float | None = None
        self._look_again = 0.0
        self._start_when_answered = False
        self._started: Started | None = None
        self._started_at = 0.0
        self._reached = False
        self.repeats = True
        """Every server of this session so far carries out once what is sent again (an older daemon does not)."""
        self._in_process: InProcess | None = None

    def attempt(self, now: float, *, again: bool, needed: bool) -> Server | None:
        """A connected server, or None: ask again soon.

        Args:
            again: the session had a server and lost it.
            needed: something waits for an answer. Otherwise only a daemon that is there anyway is taken, so that
                a daemon that was stopped on purpose stays stopped until it is wanted.

        Raises: NoServer.
        """
        if self._in_process is not None and again:
            self._in_process.join()  # why it ended is said after its connection is closed
        if self._in_process is not None and self._in_process.failure:
            raise NoServer(self._in_process.failure)
        if not needed and now < self._look_again:
            return None
        self._look_again = now + _LOOK_AGAIN_SECONDS
        server = self._daemon()
        if server is None and needed:
            server = self._other_than_running(now, again)
        if server is not None:
            self._deadline = None
        return server

    def answered(self, now: float) -> None:
        """An answer has reached the client: the time to start a daemon for the next session."""
        if self._start_when_answered:
            self._start_when_answered = False
            if self._locks.take(_STARTING) and not self._is_running():
                self._start(now)
            self._locks.release(_FIRST)

    def tick(self, now: float) -> None:
        """Called now and then: collects a started daemon that has ended, so that it does not stay a zombie."""
        if self._started is None:
            return
        code = self._started.poll()
        if code is not None:
            self._started = None
            # 0: another daemon was quicker. One that had served was killed, and can be started again.
            self._autostart = self._autostart and (code == 0 or self._reached)
        if code is not None or now > self._started_at + START_SECONDS:
            self._locks.release(_STARTING)

    def close(self) -> bool:
        """Let a server in this process finish what it began; whether it did."""
        return self._in_process is None or self._in_process.join()

    def _other_than_running(self, now: float, again: bool) -> Server | None:
        if self._deadline is None:
            self._deadline = now + self._patience(again)
        if self._autostart and not self._start_when_answered:
            if self._started is None and self._locks.take(_STARTING):
                self._start(now)
            if now < self._deadline:
                return None
        elif self._autostart is False and again and now < self._deadline:
            return None
        return self._serve_here()

    def _patience(self, again: bool) -> float:
        if self._autostart is None:
            self._autostart = autostart(self._home, self._environ)
        if not self._autostart:
            return _RETURN_SECONDS
        if not again and self._locks.take(_FIRST):
            self._start_when_answered = True
        return START_SECONDS

    def _start(self, now: float) -> None:
        try:
            self._started = self._start_daemon()
            self._started_at, self._reached = now, False
        except OSError:
            self._autostart = False  # no use waiting for it
            self._locks.release(_STARTING)

    def _is_running(self) -> bool:
        try:
            connection, _ = endpoint.connect(self._home)
        except (OSError, ValueError):
            return False
        connection.close()
        self._locks.release(_STARTING)
        return True

    def _daemon(self) -> Server | None:
        try:
            connection, token = endpoint.connect(self._home)
        except (OSError, ValueError):
            return None
        try:
            connection.settimeout(_READY_SECONDS)
            connection.sendall(encoded({**self._preamble, "token": token}))
            answer = b""
            while not answer.endswith(b"\n"):
                # The daemon says nothing more before it is asked: this never reads beyond its first line.
                data = connection.recv(4096)
                if not data:
                    break
                answer += data
        except OSError:
            answer = b""
        if answer.startswith(READY):
            self._reached = True
            self.repeats = self.repeats and REPEATS in answer
            self._locks.release(_STARTING)
            return connection
        connection.close()
        return None

    def _serve_here(self) -> Server:
        from mcp_server.in_process import serve_in_thread

        self._in_process, server = serve_in_thread(self._home, self._environ, self._preamble)
        return server


def preamble(environ: Mapping[str, str]) -> dict[str, str]:
    """What a server is told of this session before its first line.

    `session_key` names this relay's session through every connection it makes: with the id of a request it
    names one request, even when that is sent twice.
    """
    try:
        directory = os.getcwd()  # noqa: PTH109
    except OSError:  # it was removed
        directory = ""
    return {
        "kind": "mcp",
        "cwd": directory,
        "project_dir": environ.get("CLAUDE_PROJECT_DIR", ""),
        "session_id": environ.get("CLAUDE_CODE_SESSION_ID", ""),
        "session_key": os.urandom(16).hex(),
    }


def encoded(fields: Mapping[str, str]) -> bytes:
    """The fields as one line of JSON."""
    pairs = [f'"{name}":{_quoted(value)}' for name, value in fields.items() if value]
    return ("{" + ",".join(pairs) + "}\n").encode("ascii")


def _quoted(text: str) -> str:
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    import json  # ten milliseconds that most sessions need not wait for here

    return json.dumps(text)


def autostart(home: str, environ: Mapping[str, str]) -> bool:
    """The setting `daemon.autostart`, read without the settings' own, heavier, reader."""
    chosen = environ.get("CLAUDE_MEMORY_DAEMON_AUTOSTART", "").strip().lower()
    if chosen:
        return chosen not in {"0", "false", "no", "off", "n", "f"}
    import tomllib

    try:
        with open(os.path.join(home, "config.toml"), encoding="utf-8-sig") as file:  # noqa: PTH118, PTH123
            section = tomllib.loads(file.read()).get("daemon")
    except (OSError, ValueError):
        return True
    return not isinstance(section, dict) or section.get("autostart") is not False


class _Locks:
    """Two locks among the relays of one home, on two bytes of one file."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._file: int | None = None
        self._held: set[int] = set()

    def take(self, which: int) -> bool:
        """Whether this process holds the lock now; also when locks cannot be had here at all."""
        if which in self._held:
            return True
        try:
            if self._file is None:
                os.makedirs(self._home, 0o700, exist_ok=True)  # noqa: PTH103
                path = os.path.join(self._home, "start.lock")  # noqa: PTH118
                self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:
            return True
        try:
            _lock_byte(self._file, which, held=True)
        except OSError:
            return False
        self._held.add(which)
        return True

    def release(self, which: int) -> None:
        if which in self._held and self._file is not None:
            self._held.discard(which)
            _lock_byte(self._file, which, held=False)


def _lock_byte(file: int, which: int, *, held: bool) -> None:
    if sys.platform == "win32":
        import msvcrt

        os.lseek(file, which, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK if held else msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.lockf(file, (fcntl.LOCK_EX | fcntl.LOCK_NB) if held else fcntl.LOCK_UN, 1, which)
