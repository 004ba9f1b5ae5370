"""Where the daemon of a home is reached, and how: a Unix socket, on Windows loopback TCP with a token.

Relays and hooks start with every session and live by this module, so it works on strings and imports
nothing that costs milliseconds (`memory_cache.home`, the full story, costs thirty). Both give the same
answers; a test holds them together.
"""

from __future__ import annotations

import _socket  # `socket` is a wrapper that costs ten milliseconds and nothing here needs it
import os
import sys

TYPE_CHECKING = False  # importing it from `typing` costs what these processes have not got
if TYPE_CHECKING:
    from collections.abc import Mapping

ADDRESS_NAME = "daemon.address"
"""Windows: a file `<port> <token>` in the home."""

_SOCKET_NAME = "daemon.sock"
_SOCKET_PATH_BYTES = 100
_CONNECT_SECONDS = 2.0


def home_directory(environ: Mapping[str, str]) -> str:
    """The absolute path of the directory that holds everything of this device; it need not exist."""
    user = user_directory(environ)
    chosen = environ.get("CLAUDE_MEMORY_HOME", "").strip()
    if chosen:
        if chosen == "~" or chosen.startswith(("~/", "~\\")):
            chosen = os.path.join(user, chosen[2:])  # noqa: PTH118
        return os.path.abspath(chosen)  # noqa: PTH100
    if sys.platform == "darwin":
        return f"{user.rstrip('/')}/Library/Application Support/claude-memory"
    if os.name == "nt":
        local = environ.get("LOCALAPPDATA") or f"{user}\\AppData\\Local"
        return f"{local}\\claude-memory"
    data = environ.get("XDG_DATA_HOME", "")
    return os.path.join(data if data.startswith("/") else f"{user}/.local/share", "claude-memory")  # noqa: PTH118


def user_directory(environ: Mapping[str, str]) -> str:
    """The user's home directory as this environment names it."""
    return environ.get("USERPROFILE" if os.name == "nt" else "HOME") or os.path.expanduser("~")  # noqa: PTH111


def socket_file(home: str) -> str:
    """The daemon's Unix socket. A home whose path is too long for an address has it below /tmp."""
    path = os.path.join(home, _SOCKET_NAME)  # noqa: PTH118
    if len(os.fsencode(path)) <= _SOCKET_PATH_BYTES or not hasattr(os, "getuid"):
        return path
    import hashlib

    name = hashlib.sha256(os.fsencode(home)).hexdigest()[:24]
    return f"/tmp/claude-memory-{os.getuid()}/{name}.sock"  # noqa: S108


def connect(home: str, seconds: float = _CONNECT_SECONDS) -> tuple[_socket.socket, str]:
    """A connection to the daemon of this home, and the token it wants to see (empty on Unix). A daemon that is too
    busy to accept it is waited for so many seconds.

    Raises: OSError when no daemon listens there, or when the place is not this user's own.
    """
    if sys.platform == "win32":
        with open(os.path.join(home, ADDRESS_NAME), encoding="ascii") as file:  # noqa: PTH118, PTH123
            port, _, token = file.read().strip().partition(" ")
        connection = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        return _connected(connection, ("127.0.0.1", int(port)), seconds), token
    path = socket_file(home)
    directory = os.path.dirname(path)  # noqa: PTH120
    if directory != home:
        # Anybody may make names below /tmp; only a directory of our own tells that our daemon is behind it.
        facts = os.lstat(directory)
        if facts.st_uid != os.getuid() or (facts.st_mode & 0o170077) != 0o040000:
            raise PermissionError(f"{path} lies in a directory that is not this user's own")
    return _connected(_socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM), path, seconds), ""


def _connected(connection: _socket.socket, address: str | tuple[str, int], seconds: float) -> _socket.socket:
    try:
        connection.settimeout(seconds)
        connection.connect(address)
    except BaseException:
        connection.close()
        raise
    return connection
