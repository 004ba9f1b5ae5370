"""`claude-memory hook EVENT`: Claude Code's hooks. JSON on stdin; always exit 0, nothing on stderr.

A process per event: the daemon does the work (`command_line.hook_events`) and this only carries bytes to it,
so nothing is imported here that costs milliseconds. Without a daemon the work is done here.
"""

import os
import sys
import time
from collections.abc import Mapping

from memory_cache import endpoint

TYPE_CHECKING = False  # type checkers know the name; `typing` would cost milliseconds
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable

MOST_INPUT = 8_000_000
_DAEMON_SECONDS = 1.0
_PROMPT_SECONDS = 0.25
"""A prompt waits for its hook, and recall is worth no more than 0.3 seconds; starting this process is among them."""

_EVENTS = frozenset(["session-start", "user-prompt-submit", "post-tool-use", "post-compact"])


def run(event: str, environ: Mapping[str, str] = os.environ) -> int:
    """Handle one event; whatever goes wrong, the session must not notice."""
    try:
        if event not in _EVENTS and os.isatty(0):
            return 0  # a person who tries it out has nothing to say on stdin
        payload = _input()
        if event in _EVENTS:
            answer = _answer(event, payload, environ)
            if answer:
                os.write(1, answer)
    except (Exception, KeyboardInterrupt):  # noqa: BLE001, S110 - a hook that fails is silent by contract
        pass
    return 0


def _input() -> bytes:
    parts: list[bytes] = []
    size = 0
    while size < MOST_INPUT and (part := os.read(0, 1 << 20)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _answer(event: str, payload: bytes, environ: Mapping[str, str]) -> bytes:
    home = endpoint.home_directory(environ)
    try:
        return _ask_daemon(home, event, payload, environ)
    except (OSError, ValueError):
        pass  # no daemon, or one that is busy
    if event == "user-prompt-submit":
        return b""  # starting what recall needs would take longer than a prompt may wait
    from command_line.hook_events import handle

    return handle(event, payload, environ, home)


def _ask_daemon(home: str, event: str, payload: bytes, environ: Mapping[str, str]) -> bytes:
    end = time.monotonic() + (_PROMPT_SECONDS if event == "user-prompt-submit" else _DAEMON_SECONDS)
    connection, token = endpoint.connect(home, _left(end))
    try:
        quoted = _quoter()
        fields = {
            "kind": "hook",
            "event": event,
            "token": token,
            "project_dir": environ.get("CLAUDE_PROJECT_DIR", ""),
            "cwd": os.getcwd(),
        }
        line = ", ".join(f"{quoted(key)}: {quoted(value)}" for key, value in fields.items())
        connection.settimeout(_left(end))
        connection.sendall(f'{{{line}, "bytes": {len(payload)}}}\n'.encode() + payload)
        return _reply(connection, end)
    finally:
        connection.close()


def _left(end: float) -> float:
    seconds = end - time.monotonic()
    if seconds <= 0:
        raise OSError("the daemon takes too long")
    return seconds


def _reply(connection: "socket", end: float) -> bytes:
    # `<length>\n<bytes>`: a daemon that dies in the middle has not answered.
    received = b""
    while b"\n" not in received or len(received) < _expected(received):
        connection.settimeout(_left(end))
        part = connection.recv(1 << 16)
        if not part:
            raise OSError("the daemon went away")
        received += part
    return received.partition(b"\n")[2]


def _expected(received: bytes) -> int:
    head = received.partition(b"\n")[0]
    return len(head) + 1 + int(head)


def _quoter() -> "Callable[[str], str]":
    try:
        from _json import encode_basestring_ascii  # the `json` package costs five milliseconds
    except ImportError:
        from json.encoder import encode_basestring_ascii
    return encode_basestring_ascii


if __name__ == "__main__":
    sys.exit(run(sys.argv[1] if len(sys.argv) > 1 else ""))
