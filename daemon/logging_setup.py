"""The daemon's log: one JSON object per line, to stderr or to a rotated file that only its user can read.

Callers log what happened and to what (paths, ids, counts), never memory text and never a credential. A
traceback names places in the code; the text of the exception at its end may quote anything, so
only the type is kept unless the error is one of ours, whose messages are made for people.
"""

import hashlib
import json
import logging
import logging.handlers
import os
import re
import sys
import traceback
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from memory_cache.errors import MemoryCacheError
from storage_backends.errors import StorageError

_MAX_BYTES, _KEPT_FILES = 2_000_000, 3
_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}
# Libraries that narrate every request, headers or SQL at INFO or DEBUG.
_TALKATIVE = ("aiosqlite", "asyncio", "azure", "httpcore", "httpx", "kiota", "mcp", "msal", "msgraph", "watchfiles")


class JsonLines(logging.Formatter):
    """One record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        entry |= {name: value for name, value in record.__dict__.items() if name not in _STANDARD}
        if record.exc_info and record.exc_info[1] is not None:
            entry["error"] = error_words(record.exc_info[1])
            entry["at"] = [
                f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"
                for frame in traceback.extract_tb(record.exc_info[1].__traceback__)[-8:]
            ]
        return json.dumps(entry, ensure_ascii=False, default=str)


def error_words(error: BaseException) -> str:
    """What may be logged and shown of an error: ours are made for people, of others only the type is safe."""
    if isinstance(error, MemoryCacheError | StorageError):
        return f"{error.title}: {error.message}"
    if isinstance(error, OSError) and error.strerror:
        return f"{type(error).__name__}: {error.strerror}"
    return type(error).__name__


def logged_name(path: str) -> str:
    """A file's name for the log: enough to find it, without the words of its title that the name is made of."""
    folder, _, name = path.rpartition("/")
    known = re.search(r"-[0-9a-f]{8}\.[a-z]+$", name)
    tail = known.group(0) if known else "-" + hashlib.sha256(path.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{folder}/*{tail}"


class _PrivateFile(logging.handlers.RotatingFileHandler):
    """A rotated log file with mode 0600, whatever the umask."""

    def _open(self) -> TextIOWrapper:
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        if sys.platform != "win32":
            os.fchmod(descriptor, 0o600)
        return open(descriptor, "a", encoding="utf-8")  # noqa: PTH123 - the handler closes it


def set_up(log_file: Path | None, *, verbose: bool = False) -> None:
    """Send all logging of this process to `log_file`, or to stderr when it is None."""
    handler: logging.Handler
    if log_file is None:
        handler = logging.StreamHandler(sys.stderr)
    else:
        handler = _PrivateFile(log_file, maxBytes=_MAX_BYTES, backupCount=_KEPT_FILES, encoding="utf-8")
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
        old.close()
    root.addHandler(handler)
    root.setLevel(logging.DEBUG if verbose else logging.INFO)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)
