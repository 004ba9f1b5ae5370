"""Talking to the daemon of a home, where one runs. Standard library only."""

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from command_line.errors import CommandFailed
from memory_cache import endpoint
from memory_cache.home import Home

ANSWER_SECONDS = 10.0
STOP_SECONDS = 30.0
DASHBOARD_SECONDS = 60.0
_GONE_SECONDS = 5.0
_EXIT_SECONDS = 2.0


class NotRunning(Exception):
    """No daemon answers for this home."""


def status(home: Home) -> dict[str, Any] | None:
    """What the daemon says of itself, or None when none answers."""
    try:
        return request(home, "status")
    except NotRunning:
        return None


def request(home: Home, name: str, **fields: Any) -> dict[str, Any]:
    """Ask for one thing and wait for the answer. Raises: NotRunning; CommandFailed with what the daemon said."""
    with _connected(home, name, fields, ANSWER_SECONDS) as lines:
        for answer in lines:
            result = _checked(answer).get("result")
            if isinstance(result, dict):
                return result
    raise NotRunning


def dashboard(home: Home) -> dict[str, Any]:
    """An address that opens the dashboard once, and its port. Raises: NotRunning; CommandFailed."""
    with _connected(home, "open", {}, DASHBOARD_SECONDS, "dashboard") as lines:
        for answer in lines:
            result = _checked(answer).get("result")
            if isinstance(result, dict):
                return result
    raise NotRunning


def sync(home: Home, *, full: bool, confirm_deletes: bool) -> Iterator[dict[str, Any]]:
    """Have the daemon run a round: its messages, each with `progress`, the last with `result` and `exit`.

    Raises: NotRunning; CommandFailed with what ended the round, or when the daemon ended meanwhile.
    """
    last: dict[str, Any] = {}
    with _connected(home, "sync", {"full": full, "confirm_deletes": confirm_deletes}, ANSWER_SECONDS) as lines:
        for answer in lines:
            last = _checked(answer)
            yield last
    if not last:
        raise NotRunning
    if "result" not in last:
        raise CommandFailed("Daemon ended", "The daemon ended during the sync; nothing is lost.", "Run it again.")


def stop(home: Home) -> int | None:
    """End the daemon and wait until it is gone. The process id it had, or None when none ran.

    Raises: CommandFailed when it does not end.
    """
    pid: int | None = None
    try:
        with _connected(home, "stop", {}, STOP_SECONDS) as lines:
            for answer in lines:  # ends with the process
                pid = int(_checked(answer)["result"]["pid"])
    except NotRunning:
        return None
    except TimeoutError:
        raise CommandFailed("Does not end", f"The daemon (process {pid}) does not end.", f"kill {pid}") from None
    if pid is None:
        return None
    if not _lock_is_free(home):
        raise CommandFailed("Does not end", f"The daemon (process {pid}) still holds its lock.", f"kill {pid}")
    _wait_for_exit(pid)
    return pid


def _wait_for_exit(pid: int) -> None:
    """The lock is free a blink before the process is gone; whoever looks at processes next should not see it."""
    deadline = time.monotonic() + _EXIT_SECONDS
    while sys.platform != "win32" and time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
            if b") Z " in Path(f"/proc/{pid}/stat").read_bytes():
                return  # only its parent has not noticed yet
        except ProcessLookupError:
            return
        except OSError:
            pass
        time.sleep(0.01)


def _lock_is_free(home: Home) -> bool:
    from daemon import lock

    deadline = time.monotonic() + _GONE_SECONDS
    while time.monotonic() < deadline:
        try:
            with lock.hold(home.lock_file, "probe"):
                return True
        except (lock.AlreadyLocked, FileNotFoundError):
            if not home.lock_file.exists():
                return True
            time.sleep(0.05)
    return False


@contextmanager
def _connected(
    home: Home, name: str, fields: dict[str, Any], seconds: float, kind: str = "control"
) -> Iterator[Iterator[dict[str, Any]]]:
    try:
        connection, token = endpoint.connect(str(home.root))
    except (OSError, ValueError):
        raise NotRunning from None
    with socket.socket(fileno=connection.detach()) as channel, channel.makefile("rb") as answers:
        channel.settimeout(seconds)
        preamble = {"kind": kind, "request": name, "token": token, **fields}
        try:
            channel.sendall(json.dumps(preamble).encode() + b"\n")
        except TimeoutError:
            raise _silent() from None
        except OSError:
            raise NotRunning from None
        yield _messages(answers, patient=name == "stop")


def _messages(answers: Any, *, patient: bool) -> Iterator[dict[str, Any]]:
    while True:
        try:
            line = answers.readline()
        except TimeoutError:
            if patient:
                raise
            raise _silent() from None
        except OSError:
            return
        if not line.endswith(b"\n"):
            return
        yield json.loads(line)


def _silent() -> CommandFailed:
    return CommandFailed(
        "Daemon does not answer",
        "A daemon listens for this home and does not answer.",
        "`claude-memory daemon status` names its process; end that process if it stays so.",
    )


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    error = answer.get("error")
    if not isinstance(error, dict):
        return answer
    raise CommandFailed(
        str(error.get("title", "Failed")),
        str(error.get("message", "")),
        str(error.get("hint", "")),
        code=int(answer.get("exit", 1)),
    )
