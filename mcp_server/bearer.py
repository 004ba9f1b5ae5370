"""The bearer token of the HTTP server: made at first use, kept in the home, readable by this user only.

Standard library only: clients run `claude-memory mcp --headers` each time they connect.
"""

import hmac
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

TOKEN_FILE = "http-token"  # noqa: S105 - a file's name

PROJECT_HEADER = "Claude-Memory-Project-Dir"
"""The directory that the client works in, percent-encoded."""


def token(home_root: Path) -> str:
    """The token of this home; made when there is none. Raises: OSError when the home cannot be written."""
    path = home_root / TOKEN_FILE
    existing = _read(path)
    if existing:
        return existing
    home_root.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Written aside and linked into place: two processes that start at once end up with one whole token.
    made = home_root / f".{TOKEN_FILE}.{secrets.token_hex(8)}"
    try:
        descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
        _place(made, path)
    finally:
        made.unlink(missing_ok=True)
    return _read(path)


def _place(made: Path, path: Path) -> None:
    try:
        os.link(made, path)
    except FileExistsError:
        if not _read(path):  # an empty or damaged file is replaced
            os.replace(made, path)  # noqa: PTH105
    except OSError:  # a file system without hard links
        os.replace(made, path)  # noqa: PTH105


def _read(path: Path) -> str:
    try:
        found = path.read_text("ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return ""
    if os.name == "posix" and path.stat().st_mode & 0o077:
        path.chmod(0o600)
    return found if len(found) >= 32 else ""


def matches(authorization: str | None, expected: str) -> bool:
    """Whether an Authorization header carries the token; compared in constant time."""
    scheme, _, given = (authorization or "").partition(" ")
    same = hmac.compare_digest(given.strip().encode("utf-8", "replace"), expected.encode())
    return same and scheme.lower() == "bearer"


def headers(home_root: Path, environ: Mapping[str, str], cwd: str | None) -> dict[str, str]:
    """What an HTTP client sends: the bearer, and where it works (CLAUDE_PROJECT_DIR, else its directory)."""
    sent = {"Authorization": f"Bearer {token(home_root)}"}
    directory = environ.get("CLAUDE_PROJECT_DIR") or cwd
    if directory:
        sent[PROJECT_HEADER] = quote(directory)
    return sent
