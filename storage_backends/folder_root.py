"""The root folder: opened anew for every call, so that it can be unmounted at any time and comes back by itself.

Knows which folder it was (device and number), so that an empty mount point is never taken for the store.
"""

import errno
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from storage_backends.errors import AccessDenied, ItemBusy, Unreachable
from storage_backends.folder_directory import Directory
from storage_backends.folder_errors import MOUNT_HINT, storage_error
from storage_backends.names import is_temporary

LOCK_SECONDS = 20.0
_LOCK_STEP_SECONDS = 0.002

Identity = tuple[int, int]


class RootReplaced(Unreachable):
    """At the root's path is another folder than the one we know: unmounted, mounted, or made anew."""


class Root:
    """See the module.

    Attributes:
        path: absolute, as it was given.
        identity: of the folder that everything known so far is about; None as long as nothing is known.
    """

    def __init__(self, path: Path) -> None:
        self.path = os.path.abspath(path)  # noqa: PTH100 - keeps links: the folder may come back elsewhere
        self.identity: Identity | None = None
        self._case_sensitive: bool | None = None

    @property
    def case_sensitive(self) -> bool:
        """As found out from the files; before there are any, what is usual on this system."""
        if self._case_sensitive is None:
            return sys.platform not in ("win32", "darwin")
        return self._case_sensitive

    def real_path(self) -> str:
        """The path without links. Raises: Unreachable."""
        with self.open():
            return os.path.realpath(self.path)

    def identity_now(self) -> Identity | None:
        """Of the folder at the path right now; None when there is none."""
        try:
            status = os.stat(self.path)  # noqa: PTH116
        except OSError:
            return None
        return status.st_dev, status.st_ino

    @contextmanager
    def open(self) -> Iterator[Directory]:
        """The root folder. Raises: Unreachable, RootReplaced, AccessDenied."""
        with self._open_whatever_it_is() as top:
            status = top.status()
            identity = status.st_dev, status.st_ino
            if self.identity is None:
                self.identity = identity
            elif self.identity != identity:
                raise RootReplaced(f"{self.path} is another folder than before.", MOUNT_HINT)
            if self._case_sensitive is None:
                self._case_sensitive = _is_case_sensitive(top)
            yield top

    @contextmanager
    def locked(self) -> Iterator[Directory]:
        """The root folder, to change something below it: our own processes do so one after the other.

        Raises: as `open`; ItemBusy when another process keeps the lock for long.
        """
        with self.open() as top:
            if top.fd is not None:
                _lock(top.fd)  # released with the descriptor
            yield top
            if self._case_sensitive is None:
                self._case_sensitive = _is_case_sensitive(top)  # the first file tells

    @contextmanager
    def folder(self, top: Directory, folders: Sequence[str], *, exact: bool) -> Iterator[Directory]:
        """The folder at this path below the root; no link is followed.

        Args:
            exact: names have to be written in this case, on a file system that ignores it too.

        Raises: FileNotFoundError, NotADirectoryError.
        """
        with ExitStack() as stack:
            directory = top
            for name in folders:
                actual = directory.spelling(name, listed=exact and not self.case_sensitive)
                if actual is None:
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
                directory = stack.enter_context(directory.child(actual))
            yield directory

    def is_empty(self) -> bool:
        """Whether there is nothing at the root's path but what systems put there by themselves."""
        with self._open_whatever_it_is() as top:
            return all(is_temporary(name) for name in top.names())

    @contextmanager
    def _open_whatever_it_is(self) -> Iterator[Directory]:
        try:
            top = Directory.open(self.path)
        except (FileNotFoundError, NotADirectoryError) as error:
            what = "is not there" if isinstance(error, FileNotFoundError) else "is not a folder"
            raise Unreachable(f"The folder {self.path} {what}.", MOUNT_HINT) from error
        except OSError as error:
            translated = storage_error(error, self.path)
            if isinstance(translated, AccessDenied):
                raise translated from error
            raise Unreachable(f"The folder {self.path} cannot be opened: {error.strerror}.", MOUNT_HINT) from error
        with top:
            yield top


def _is_case_sensitive(top: Directory) -> bool | None:
    """Tried on a name that is there; None when none has letters of two cases."""
    names = top.names()
    for name in names:
        other = name.swapcase()
        if other != name and len(other) == len(name):
            return other in names or not top.has(other)
    return None


def _lock(descriptor: int) -> None:
    if sys.platform == "win32":
        return
    import fcntl

    deadline = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise ItemBusy("Another process of this program is writing to the folder.") from None
            time.sleep(_LOCK_STEP_SECONDS)
        except OSError:
            return  # a file system without locks; the verification after each write still holds
        else:
            return
