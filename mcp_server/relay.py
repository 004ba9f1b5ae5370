"""`claude-memory mcp`: the process that a client starts; it passes lines between the client and a server.

The server is the daemon where there is one, else it runs in a thread of this process (`mcp_server.finder`
decides). When a server ends in the middle of a session the relay finds another and goes on
(`mcp_server.conversation` says with what). Only messages ever reach stdout.

Started with every session, so nothing is imported here that costs milliseconds.
"""

from __future__ import annotations

import os
import sys
from select import select
from time import monotonic

from mcp_server.conversation import Conversation
from mcp_server.finder import Finder, NoServer

TYPE_CHECKING = False  # importing it from `typing` costs what this process has not got
if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_server.relay_types import Client, Server, StartDaemon, Waitable

_HIGH_WATER = 1 << 20
"""Bytes held in one direction before reading from the other side pauses."""

# Even where it is "writable", a full pipe blocks a larger write.
_PIPE_CHUNK = 4096 if sys.platform == "linux" else 512

_IDLE_SECONDS = 2.0
_SEARCH_SECONDS = 0.05
_DRAIN_SECONDS = 30.0
"""How long requests that came in before the client closed its side may still be answered."""

_GIVE_UP_REQUESTS, _GIVE_UP = 3, 6
"""Servers lost in a row over requests that none of them answered: then these are refused, then the session is."""


def run(home: str, environ: Mapping[str, str], start_daemon: StartDaemon) -> int:
    """Serve this process's client until it closes stdin or is gone. Returns the exit code."""
    stdin, stdout = _claimed_stdio()
    finder = Finder(home, environ, start_daemon)
    code = 0
    try:
        code = Relay(finder, stdin, stdout).run()
    except (BrokenPipeError, ConnectionResetError):
        pass  # the client is gone
    except KeyboardInterrupt:
        code = 130
    if not finder.close():
        os._exit(code)  # a thread that hangs must not keep a process without a client alive
    return code


class Relay:
    """The state of one session's pipes."""

    def __init__(self, finder: Finder, stdin: Client, stdout: int) -> None:
        self._finder = finder
        self._stdin = stdin
        self._stdout = stdout
        self._conversation = Conversation()
        self._server: Server | None = None
        self._had_server = False
        self._deaf = False
        self._losses = 0
        self._closed_at: float | None = None
        self._requests = _Lines()
        self._answers = _Lines()
        self._to_server = _Outbox(self._conversation)
        self._to_client = bytearray()
        self._parent = os.getppid()

    def run(self) -> int:
        """Pass lines until the session is over."""
        try:
            while not self._over():
                if self._server is None:
                    self._find()
                readable, writable = self._wait()
                if self._stdin in readable:
                    self._read_client()
                if self._server is not None and self._server in writable:
                    self._write_server(self._server)
                if self._server is not None and self._server in readable:
                    self._read_server(self._server)
                if self._stdout in writable:
                    self._write_client()
        except NoServer as failure:
            return self._refuse(str(failure))
        finally:
            if self._server is not None:
                self._server.close()
        return 0

    @property
    def _busy(self) -> bool:
        return bool(self._to_server) or self._conversation.waiting

    def _over(self) -> bool:
        if os.getppid() != self._parent:
            return True
        if self._closed_at is None:
            return False
        served = not self._busy and not self._to_client
        return served or monotonic() - self._closed_at > _DRAIN_SECONDS

    def _find(self) -> None:
        needed = self._busy or not self._had_server
        server = self._finder.attempt(monotonic(), again=self._had_server, needed=needed)
        if server is None:
            return
        server.setblocking(False)
        self._server, self._deaf = server, False
        if self._had_server:
            repeated, answers = self._conversation.resume(self._finder.repeats)
            self._to_server.repeat(repeated)
            self._to_client += b"".join(answers)
        self._had_server = True

    def _wait(self) -> tuple[list[Waitable], list[Waitable]]:
        reading: list[Waitable] = []
        writing: list[Waitable] = []
        if self._closed_at is None and self._to_server.size < _HIGH_WATER:
            reading.append(self._stdin)
        if self._server is not None and len(self._to_client) < _HIGH_WATER:
            reading.append(self._server)
        if self._server is not None and self._to_server and not self._deaf:
            writing.append(self._server)
        if self._to_client:
            if sys.platform == "win32":  # stdout cannot be waited for; writing may block
                self._write_client()
            else:
                writing.append(self._stdout)
        self._finder.tick(monotonic())
        searching = self._server is None and (self._busy or not self._had_server)
        readable, writable, _ = select(reading, writing, (), _SEARCH_SECONDS if searching else _IDLE_SECONDS)
        return readable, writable

    def _read_client(self) -> None:
        data = self._stdin.read(1 << 16)
        if not data:
            self._closed_at = monotonic()
            data = b"\n"  # the last line may lack its end
        for line in self._requests.feed(data):
            if line.strip():
                self._to_server.put(line + b"\n")

    def _write_server(self, server: Server) -> None:
        try:
            self._to_server.flush(server)
        except BlockingIOError:
            pass
        except OSError:
            # It takes no more, and may still be answering what it took: it is gone when its answers end.
            self._deaf = True

    def _read_server(self, server: Server) -> None:
        try:
            data = server.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose_server(server)
            return
        for line in self._answers.feed(data):
            answer = self._conversation.to_client(line + b"\n")
            if answer is not None:
                self._losses = 0
                self._to_client += answer

    def _lose_server(self, server: Server) -> None:
        """The server is gone. Half an answer is worth nothing."""
        server.close()
        self._server = None
        self._answers = _Lines()
        self._to_server.disconnected()
        if not self._conversation.waiting:
            return  # a session may outlive any number of daemons that owe it nothing
        self._losses += 1
        if self._losses == _GIVE_UP_REQUESTS:
            self._to_client += b"".join(self._conversation.refuse("The memory service ended three times over this."))
        if self._losses == _GIVE_UP:
            raise NoServer("The memory service ends again and again; `claude-memory doctor` may say why.")

    def _write_client(self) -> None:
        count = os.write(self._stdout, self._to_client[:_PIPE_CHUNK])
        del self._to_client[:count]
        if not self._to_client:
            self._finder.answered(monotonic())

    def _refuse(self, reason: str) -> int:
        """No server can be had: every open request is told why, and so is whoever reads stderr."""
        print(f"claude-memory: {reason}", file=sys.stderr)
        self._to_server.abandon()
        self._to_client += b"".join(self._conversation.refuse(reason))
        while self._to_client:
            del self._to_client[: os.write(self._stdout, self._to_client[:_PIPE_CHUNK])]
        return 1


class _Lines:
    """Cuts a stream of bytes into lines, without their ends."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        *lines, rest = data.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._parts, lines[0]))
            self._parts = []
        if rest:
            self._parts.append(rest)
        return lines


class _Outbox:
    """Lines on their way to the server: those that a new server is told again first, then the client's."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._repeated: list[bytes] = []
        self._lines: list[bytes] = []
        self._current = b""
        self._position = 0
        self.size = 0

    def __bool__(self) -> bool:
        return bool(self._repeated or self._lines)

    def put(self, line: bytes) -> None:
        self._lines.append(line)
        self.size += len(line)

    def repeat(self, lines: list[bytes]) -> None:
        self._repeated = lines

    def flush(self, server: Server) -> None:
        """Send until all is sent. Raises BlockingIOError when the server's end is full, OSError when it is gone."""
        while self:
            if not self._current:
                line = self._repeated[0] if self._repeated else self._conversation.to_server(self._lines[0])
                self._current, self._position = line or b"", 0
            while self._position < len(self._current):
                self._position += server.send(memoryview(self._current)[self._position :])
            self._current = b""
            self._first_is_sent()

    def disconnected(self) -> None:
        """Half a request was understood by nobody and goes to the next server. But a message of which only the
        line's end is missing counts as sent: the end of a stream may well be taken for it."""
        if self._current and self._position >= len(self._current) - 1 and not self._repeated:
            self._first_is_sent()
        self._current = b""
        self._repeated = []

    def abandon(self) -> None:
        """There will be no next server: what was not sent is open like what was."""
        while self._lines:
            self._first_is_sent()

    def _first_is_sent(self) -> None:
        if self._repeated:
            del self._repeated[0]
            return
        line = self._lines.pop(0)
        self.size -= len(line)
        self._conversation.sent(line)


class _Pipe:
    """The reading end of the client's pipe."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def fileno(self) -> int:
        return self._descriptor

    def read(self, size: int) -> bytes:
        return os.read(self._descriptor, size)


def _claimed_stdio() -> tuple[Client, int]:
    """Descriptors of the client's pipes that nobody else in this process, and no child, reads from or writes to."""
    stdin, stdout = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no stderr
        os.dup2(0, 1)
    if sys.platform == "win32":
        from mcp_server.windows_pipe import as_socket

        return as_socket(stdin), stdout
    return _Pipe(stdin), stdout
