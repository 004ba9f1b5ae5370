"""One daemon per home: a lock of the operating system, held as long as the process lives.

The kernel frees it with the process, however that ends, so nothing is ever stale. What the file says
(pid, start, what for) is for people and for better messages only; the lock itself decides. The file is
never removed: a second process could otherwise lock a file that is no longer there.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

# Past every byte that is read: Windows locks bytes, and locked bytes cannot be read by others.
_LOCKED_BYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock, as the file says: process id, start (ISO 8601, UTC) and purpose (`daemon`, `sync` …)."""

    pid: int
    since: str
    purpose: str


class AlreadyLocked(Exception):
    """Another process works on this home. `holder` is None when the file does not say who."""

    def __init__(self, holder: Holder | None) -> None:
        who = f"process {holder.pid} ({holder.purpose}, since {holder.since})" if holder else "another process"
        super().__init__(f"This home is in use by {who}.")
        self.holder = holder


@contextmanager
def hold(path: Path, purpose: str) -> Iterator[None]:
    """Hold the lock of this file. Raises: AlreadyLocked at once, OSError."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        if not _try_lock(descriptor):
            raise AlreadyLocked(read_holder(path))
        text = f"{os.getpid()} {datetime.now(UTC).isoformat(timespec='seconds')} {purpose}\n"
        _note(descriptor, text)
        yield
        _note(descriptor, "")
    finally:
        os.close(descriptor)


def _note(descriptor: int, text: str) -> None:
    with suppress(OSError):  # a full disk takes no notes, and the lock holds without
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, text.encode())


def read_holder(path: Path) -> Holder | None:
    """What the file says; it may be about a process that is gone."""
    try:
        pid, since, purpose = path.read_text("utf-8").split(maxsplit=2)
        return Holder(int(pid), since, purpose.strip())
    except (OSError, ValueError):
        return None


def _try_lock(descriptor: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
