"""What hooks leave for the daemon: one small file per event, written at once or not at all. Standard library only.

A hook is a process per event and must be gone within milliseconds, daemon or not. It writes here;
whoever has the cache open next (`memory_cache.captures`) takes the files in and removes them.
"""

import contextlib
import json
import os
import time
from collections.abc import Iterator
from typing import Any

MOST_FILES = 500
MOST_BYTES = 2_000_000
"""One event holds no more; what is larger is no document worth keeping whole."""


def directory(home: str) -> str:
    """Where the events of this home lie."""
    return os.path.join(home, "spool")


def put(home: str, event: dict[str, Any]) -> bool:
    """Leave one event. False when the spool is full: nobody has taken it in for long. Raises: OSError."""
    folder = directory(home)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    data = json.dumps(event, ensure_ascii=False).encode("utf-8", "replace")
    if len(data) > MOST_BYTES or len(os.listdir(folder)) >= MOST_FILES:
        return False
    name = os.path.join(folder, f"{time.time_ns():020d}-{os.urandom(4).hex()}")
    descriptor = os.open(f"{name}.tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    os.replace(f"{name}.tmp", f"{name}.json")
    return True


def waiting(home: str) -> list[str]:
    """The files of the events that wait, oldest first."""
    try:
        names = os.listdir(directory(home))
    except FileNotFoundError:
        return []
    return [os.path.join(directory(home), name) for name in sorted(names) if name.endswith(".json")]


def events(paths: list[str]) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Each file with its event; None for one that cannot be read as an event."""
    for path in paths:
        try:
            with open(path, encoding="utf-8") as file:
                event = json.load(file)
        except FileNotFoundError:
            continue  # another process was faster
        except (OSError, ValueError, RecursionError):
            event = None
        yield path, event if isinstance(event, dict) else None


def done(path: str) -> None:
    """The event is taken in."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
