"""One folder, held open: names in it stay in it, whatever is renamed or linked around it meanwhile.

Raises `OSError` as the system does; never follows a symbolic link.
"""

import errno
import os
import stat
import sys
import unicodedata
from contextlib import suppress
from types import TracebackType
from typing import Self

from storage_backends import folder_rename
from storage_backends.errors import ItemBusy, NotFound

_HELD_OPEN = os.open in os.supports_dir_fd and os.scandir in os.supports_fd
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_READ = os.O_RDONLY | _FLAGS | getattr(os, "O_NONBLOCK", 0)  # a pipe must not make us wait for its writer
_CHUNK = 1 << 20

_WINDOWS_NOT_HERE = 0x1000 | 0x40000 | 0x400000  # OFFLINE, RECALL_ON_OPEN, RECALL_ON_DATA_ACCESS
_MACOS_DATALESS = 0x40000000


class Directory:
    """See the module. Use as a context manager."""

    def __init__(self, path: str, fd: int | None) -> None:
        self.path = path
        self.fd = fd

    @classmethod
    def open(cls, path: str) -> "Directory":
        """The folder at `path`; links on the way to it are followed. Raises: OSError."""
        if _HELD_OPEN:
            return cls(path, os.open(path, _FOLDER | os.O_CLOEXEC))
        with os.scandir(path):
            return cls(path, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def child(self, name: str) -> "Directory":
        """A folder in this one. Raises: NotADirectoryError, also for a symbolic link."""
        path = os.path.join(self.path, name)  # noqa: PTH118 - names with undecodable bytes are text here
        if self.fd is not None:
            try:
                return Directory(path, os.open(name, _FOLDER | _FLAGS, dir_fd=self.fd))
            except OSError:
                if stat.S_ISLNK(self.status_of(name).st_mode):
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name) from None
                raise
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode) or getattr(status, "st_reparse_tag", 0) == 0xA0000003:  # a junction
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), name)
        return Directory(path, None)

    def status(self) -> os.stat_result:
        """Of the folder itself."""
        return os.fstat(self.fd) if self.fd is not None else os.lstat(self.path)

    def status_of(self, name: str) -> os.stat_result:
        """Of the file, folder or link of this name, or of a path of real folders below."""
        return os.lstat(self._place(name), dir_fd=self.fd)

    def has(self, name: str) -> bool:
        """Whether anything has this name; a look-up, so a file system that ignores case says yes to any case."""
        try:
            self.status_of(name)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def scan(self) -> list[tuple[str, os.stat_result | None]]:
        """Every name in the folder and its status; None when it vanished under the look."""
        found: list[tuple[str, os.stat_result | None]] = []
        with os.scandir(self.path if self.fd is None else self.fd) as entries:
            for entry in entries:
                try:
                    # On Windows the entry's own status lacks the file's number and may be stale
                    found.append(
                        (
                            entry.name,
                            os.lstat(entry.path) if sys.platform == "win32" else entry.stat(follow_symlinks=False),
                        )
                    )
                except FileNotFoundError:
                    found.append((entry.name, None))
        return found

    def names(self) -> list[str]:
        """Every name in the folder, as it is written there."""
        return os.listdir(self.path if self.fd is None else self.fd)  # noqa: PTH208 - of an open folder

    def spelling(self, name: str, *, listed: bool) -> str | None:
        """How `name` (NFC) is written in this folder: in the same letters, in any Unicode form. None: not there.

        Args:
            listed: look through the whole folder, because a look-up here would ignore case.
        """
        if not listed:
            for form in (name, unicodedata.normalize("NFD", name)):
                if self.has(form):
                    return form
            if name.isascii():
                return None
        return next((actual for actual in self.names() if unicodedata.normalize("NFC", actual) == name), None)

    def read(self, name: str) -> tuple[bytes, os.stat_result]:
        """The whole file and its status when exactly these bytes were read.

        Raises: ItemBusy when it changes meanwhile; NotFound for what is no regular file; OSError.
        """
        try:
            descriptor = os.open(self._place(name), _READ, dir_fd=self.fd)
        except OSError:
            if not stat.S_ISREG(self.status_of(name).st_mode):  # a link or a socket
                raise NotFound(f"{name} is not a regular file.") from None
            raise
        try:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise NotFound(f"{name} is not a regular file.")
            chunks = []
            while chunk := os.read(descriptor, max(_CHUNK, before.st_size + 1)):
                chunks.append(chunk)
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        data = b"".join(chunks)
        if _moment(before) != _moment(after) or len(data) != after.st_size:
            raise ItemBusy(f"{name} is being written.")
        return data, after

    def write_new(self, name: str, data: bytes, like: os.stat_result | None) -> None:
        """Write a new file and wait until the disk has it; readable for its owner only, or as `like` is."""
        descriptor = os.open(self._place(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, 0o600, dir_fd=self.fd)
        try:
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(descriptor, view) :]
                if like is not None and hasattr(os, "fchown"):
                    _take_over_owner_and_mode(descriptor, like)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except BaseException:
            with suppress(OSError):
                self.unlink(name)
            raise

    def make(self, name: str) -> None:
        """Make a folder for its owner only, and wait until the disk has it."""
        os.mkdir(self._place(name), 0o700, dir_fd=self.fd)
        self.sync()

    def unlink(self, name: str) -> None:
        os.unlink(self._place(name), dir_fd=self.fd)

    def rename(self, old: str, new: str) -> None:
        """Rename; `new` is one of our own temporary names, which nobody else uses."""
        os.rename(self._place(old), self._place(new), src_dir_fd=self.fd, dst_dir_fd=self.fd)

    def rename_new(self, old: str, new: str) -> None:
        """See `folder_rename.rename_new`."""
        folder_rename.rename_new(self.fd, self._place(old), self._place(new))

    def exchange(self, one: str, other: str) -> None:
        """See `folder_rename.exchange`."""
        folder_rename.exchange(self.fd, self._place(one), self._place(other))

    def sync(self) -> None:
        """Wait until the disk has the names of this folder, where the system can say so."""
        if self.fd is not None:
            try:
                os.fsync(self.fd)
            except OSError as error:
                if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems cannot
                    raise

    def is_open_for_writing(self, name: str) -> bool:
        """Whether another program has the file open for writing. False also where the system cannot tell.

        Linux grants a read lease only on a file that nobody has open for writing.
        """
        if sys.platform != "linux":
            return False
        import fcntl
        import signal

        try:
            descriptor = os.open(self._place(name), _READ, dir_fd=self.fd)
        except OSError:
            return False
        try:
            # Should the lease be broken before it is given back: a signal that is ignored, not one that kills
            fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return False

    def _place(self, name: str) -> str:
        return name if self.fd is not None else os.path.join(self.path, name)  # noqa: PTH118


def is_placeholder(status: os.stat_result) -> bool:
    """Whether the file's bytes are not on this machine (OneDrive and iCloud "files on demand")."""
    attributes = getattr(status, "st_file_attributes", 0)
    flags = getattr(status, "st_flags", 0)
    return bool(attributes & _WINDOWS_NOT_HERE or flags & _MACOS_DATALESS)


def _moment(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _take_over_owner_and_mode(descriptor: int, like: os.stat_result) -> None:
    own = os.fstat(descriptor)
    if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
        with suppress(PermissionError):  # only root may give files away; the mode below still holds
            os.fchown(descriptor, like.st_uid, like.st_gid)
    with suppress(PermissionError):
        os.fchmod(descriptor, stat.S_IMODE(like.st_mode))
