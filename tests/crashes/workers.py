"""What writes until it is killed: a process that uses the library, an MCP server with its client, a row of commands.

Each keeps in `last` what was acknowledged to it: the marker that stands for a memory, or nothing when it was forgotten.
"""

import json
import random
import re
import subprocess
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from tests.daemon.processes import INITIALIZE, INITIALIZED

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-P", "-m", "command_line"]
Process = subprocess.Popen[Any]


class Book(Protocol):
    """Where acknowledgements are noted."""

    def note(self, memory_id: str, marker: str, who: str) -> None: ...

    def fault(self, what: str) -> None: ...


class Worker(ABC):
    """A process that writes, and the thread that notes what was acknowledged."""

    def __init__(self, number: int, environment: Mapping[str, str], book: Book) -> None:
        self.number = number
        self.environment = environment
        self.book = book
        self.mine: list[str] = []
        self.chosen = random.Random(number)
        self.stopped = False
        self.acknowledged = 0
        self.process = self.start()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    @abstractmethod
    def start(self) -> Process:
        """The process to kill."""

    @abstractmethod
    def work(self) -> None:
        """Let it write, until it is gone."""

    def kill(self) -> int | None:
        """SIGKILL; what it had ended with before, if it had."""
        self.stopped = True
        ended = self.process.poll()
        self.process.kill()
        self.process.wait()
        self.thread.join()
        _close(self.process)
        return ended

    def _open(self, command: list[str]) -> Process:
        return subprocess.Popen(
            command, env=dict(self.environment), cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def _done(self, memory_id: str, marker: str) -> None:
        self.acknowledged += 1
        self.book.note(memory_id, marker, type(self).__name__.lower())

    def _next(self, step: int) -> tuple[str, str, str]:
        """Action, memory, marker of the next write."""
        action = self.chosen.choice(("remember", "remember", "update", "forget")) if len(self.mine) > 3 else "remember"
        if action == "remember":
            return action, "", f"marker-{self.number}-{step}"
        memory_id = self.chosen.choice(self.mine)
        if action == "forget":
            self.mine.remove(memory_id)  # acknowledged or not, nobody writes to it again
            return action, memory_id, ""
        return action, memory_id, f"marker-{self.number}-{step}"


class Writer(Worker):
    """Calls the library, as fast as it goes."""

    def start(self) -> Process:
        return self._open([sys.executable, "-m", "tests.crashes.writer", str(self.number)])

    def work(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("\n"):
                done = json.loads(line)
                self._done(done["id"], done["marker"])


class Server(Worker):
    """`claude-memory mcp`, and a client that calls one tool after the other."""

    def start(self) -> Process:
        return self._open([*COMMAND, "mcp"])

    def work(self) -> None:
        try:
            self._ask(INITIALIZE)
            self._tell(INITIALIZED)
            step = 0
            while True:
                step += 1
                self._one(step)
        except (BrokenPipeError, EOFError):
            return

    def _one(self, step: int) -> None:
        action, memory_id, marker = self._next(step)
        arguments: dict[str, Any] = {"id": memory_id} if memory_id else {"category": "learning", "global": True}
        if marker:
            arguments["content"] = f"# {marker}\n\nline\n"
        params = {"name": action, "arguments": arguments}
        answer = self._ask({"jsonrpc": "2.0", "id": step, "method": "tools/call", "params": params})
        if "result" not in answer or answer["result"].get("isError"):
            return  # an error is no acknowledgement
        if action == "remember":
            found = re.search(r"^ID: (\S+)", answer["result"]["content"][0]["text"], re.MULTILINE)
            assert found is not None, answer
            memory_id = found[1]
            self.mine.append(memory_id)
        self._done(memory_id, marker)

    def _tell(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def _ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._tell(message)
        assert self.process.stdout is not None
        while True:
            line = self.process.stdout.readline()
            if not line.endswith("\n"):
                raise EOFError
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == message["id"] and "method" not in answer:
                return answer


class Commands(Worker):
    """A person, or a script, at the command line: one command after the other."""

    def start(self) -> Process:
        self._number = 0
        return self._begin()

    def _begin(self) -> Process:
        self._number += 1
        action, memory_id, marker = self._next(self._number)
        self._under_way = action, memory_id, marker
        text = f"# {marker}\n\nline\n"
        match action:
            case "remember":
                arguments = ["remember", "--category", "learning", "--global", text]
            case "update":
                arguments = ["update", memory_id, text]
            case _:
                arguments = ["forget", memory_id]
        return self._open([*COMMAND, *arguments, "--json"])

    def work(self) -> None:
        while not self.stopped:
            assert self.process.stdout is not None
            said = self.process.stdout.read()
            if self.process.wait() != 0:
                if not self.stopped:
                    self.book.fault(f"a command failed: {self._under_way}: {said}")
                return
            action, memory_id, marker = self._under_way
            memory_id = memory_id or json.loads(said)["id"]
            if action == "remember":
                self.mine.append(memory_id)
            self._done(memory_id, marker)
            if not self.stopped:
                _close(self.process)
                self.process = self._begin()

    def kill(self) -> int | None:
        self.stopped = True
        while self.thread.is_alive():  # one more may be about to start
            self.process.kill()
            self.thread.join(0.05)
        _close(self.process)
        return None


def _close(process: Process) -> None:
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        with suppress(BrokenPipeError):
            pipe.close()
