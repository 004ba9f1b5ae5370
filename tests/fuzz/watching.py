"""Notices every file that is made, changed or removed outside of the places where that is allowed."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_allowed: list[Path] | None = None
_seen: list[str] = []
_EVENTS = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def _look(event: str, arguments: tuple[Any, ...]) -> None:
    if _allowed is None:
        return
    if event == "open":
        path, mode, flags = arguments
        writing = (isinstance(flags, int) and flags & _WRITING) or (isinstance(mode, str) and set(mode) & set("wax+"))
        if writing and isinstance(path, str | bytes | os.PathLike):
            _check(event, path)
    elif event == "sqlite3.connect" or event in _EVENTS:
        for path in arguments[:2]:
            if isinstance(path, str | bytes | os.PathLike):
                _check(event, path)


def _check(event: str, path: Any) -> None:
    written = Path(os.fsdecode(path))
    if not written.is_absolute() and ".." not in written.parts:
        return  # below a directory that was opened before
    place = Path(os.path.abspath(os.fsdecode(path)))  # noqa: PTH100 - links must not be followed, `..` must
    if _allowed is not None and str(place) != os.devnull and not any(map(place.is_relative_to, _allowed)):
        _seen.append(f"{event} {place}")


sys.addaudithook(_look)  # there is no way to take a hook away; outside of `nothing_outside` it does nothing


@contextmanager
def nothing_outside(*places: Path) -> Iterator[None]:
    """Fails when anything was written outside of these places meanwhile."""
    global _allowed
    _seen.clear()
    _allowed = list(places)
    try:
        yield
    finally:
        _allowed = None
    assert _seen == []
