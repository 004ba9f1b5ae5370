"""Real devices for tests: a home, a folder as storage, and every process as its user starts it."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio

from command_line import daemon_client
from memory_cache import settings
from memory_cache.cache import MemoryCache, open_cache
from memory_cache.home import Home
from memory_cache.models import Draft, Filter, Scope

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-P", "-m", "command_line"]
PATIENCE = 60.0
"""Seconds after which something that should happen counts as not happening; nothing waits that long when it works."""

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def eventually(what: Callable[[], Any], describe: str = "") -> Any:
    """The first true answer of `what`; fails when there is none for too long."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = what()
        if found:
            return found
        assert time.monotonic() < deadline, f"never: {describe or what}"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


class Device:
    """One machine."""

    def __init__(self, base: Path, name: str = "a", folder: Path | None = None, **environ: str) -> None:
        self.base = base
        self.home = base / f"home-{name}"
        self.folder = folder or base / "store"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.work = base / f"work-{name}"
        self.work.mkdir()
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("CLAUDE", "NOTIFY", "WATCHDOG"))},
            "HOME": str(base),
            "PYTHONPATH": str(ROOT),
            "CLAUDE_MEMORY_HOME": str(self.home),
            "CLAUDE_MEMORY_STORAGE_BACKEND": "folder",
            "CLAUDE_MEMORY_STORAGE_PATH": str(self.folder),
            "CLAUDE_MEMORY_DAEMON_AUTOSTART": "false",
            "CLAUDE_PROJECT_DIR": str(self.work),
            **environ,
        }

    def run(self, *arguments: str, code: int | None = 0, text: str = "", **environ: str) -> Any:
        """A command with `--json`: what it printed. `code` is the exit code it must have."""
        done = subprocess.run(
            [*COMMAND, *arguments, "--json"],
            env={**self.environment, **environ}, input=text, capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
        assert code is None or done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def status(self) -> dict[str, Any]:
        """What the daemon says of itself; nothing when none answers."""
        return daemon_client.status(Home(self.home)) or {}

    def cache(self, work: Callable[[MemoryCache], Awaitable[Any]]) -> Any:
        """What `work` makes of this device's cache, opened in this process as by any other."""

        async def main() -> Any:
            home = Home(self.home)
            async with open_cache(home, settings.load(home, self.environment)) as opened:
                return await work(opened)

        return anyio.run(main)

    def titles(self) -> list[str]:
        """The titles of all memories."""
        page = self.cache(lambda cache: cache.list(Filter(scope=Scope.all()), limit=1000))
        return sorted(memory.title for memory in page.memories)

    def remember(self, text: str) -> str:
        """Store a global memory, as another process than the daemon does; its id."""
        remembered = self.cache(lambda cache: cache.remember(Draft(content=text, category="learning")))
        return str(remembered.memory.id)

    @contextlib.contextmanager
    def daemon(self, *arguments: str, **environ: str) -> Iterator["subprocess.Popen[bytes]"]:
        """`daemon run` in the foreground, ready; killed at the end if it still runs."""
        self.home.mkdir(parents=True, exist_ok=True)
        log = self.base / "daemon.stderr"
        with log.open("ab") as stderr:
            process = subprocess.Popen(
                [*COMMAND, "daemon", "run", *arguments], env={**self.environment, **environ}, stderr=stderr
            )
        try:
            eventually(lambda: self.pid() == process.pid or process.poll() is not None, "the daemon is ready")
            assert process.poll() is None, log.read_text()
            yield process
        finally:
            process.kill()
            process.wait()

    def pid(self) -> int | None:
        """The process id that the daemon of this home answers with."""
        return self.status().get("pid")

    def end(self) -> None:
        """End whatever daemon still works on this home, by its process id."""
        pid = self.pid()
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            eventually(lambda: not alive(pid))


class Session:
    """One Claude session: a relay process and the client's ends of its pipes."""

    def __init__(self, device: Device, **environ: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "mcp"],
            env={**device.environment, **environ}, cwd=device.work,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.lines: queue.Queue[bytes] = queue.Queue()
        self.stray: list[bytes] = []
        self._answers: dict[Any, dict[str, Any]] = {}
        self._number = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(b"")

    def send(self, *messages: dict[str, Any]) -> None:
        """Write messages without waiting."""
        assert self.process.stdin is not None
        for message in messages:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def answer(self, number: Any) -> dict[str, Any]:
        """The answer to the request of this id; others are kept for whoever asks."""
        while number not in self._answers:
            line = self.lines.get(timeout=PATIENCE)
            if not line:
                self.lines.put(line)  # for whoever waits for the end
            assert line, "the relay closed its output"
            message = json.loads(line)
            if "method" not in message:
                assert message["id"] not in self._answers, f"answered twice: {message}"
                self._answers[message["id"]] = message
        return self._answers[number]

    def open(self) -> dict[str, Any]:
        """The handshake of the older protocol, and the list of tools as every client asks for it."""
        self.send(INITIALIZE)
        answer = self.answer(0)
        self.send(INITIALIZED)
        self.ask("tools/list")
        return answer

    def begin(self, tool: str, **arguments: Any) -> int:
        """Call a tool without waiting; the id of the request."""
        self._number += 1
        params = {"name": tool, "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params})
        return self._number

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """A request and its answer."""
        self._number += 1
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self.answer(self._number)

    def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool: the text of its answer. Fails when the tool failed."""
        return text_of(self.answer(self.begin(tool, **arguments)))

    def remember(self, title: str) -> str:
        """Store a global memory."""
        return self.call("remember", category="learning", content=title, **{"global": True})

    def close(self) -> int:
        """Close stdin as a client does at its end; the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            if stream is not self.process.stdout:
                stream.close()
        return code

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stderr):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        while self.lines.get(timeout=PATIENCE):
            pass
        assert self.process.stdout is not None
        self.process.stdout.close()


def text_of(answer: dict[str, Any]) -> str:
    """The text of a tool's answer."""
    assert "result" in answer, answer
    text = "\n".join(block.get("text", "") for block in answer["result"]["content"])
    assert not answer["result"].get("isError"), text
    return text
