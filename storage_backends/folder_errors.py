"""What an error of the operating system means in the words of `storage_backends.errors`."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from storage_backends.errors import (
    AccessDenied,
    AlreadyExists,
    InvalidName,
    ItemBusy,
    NotFound,
    StorageError,
    StorageFull,
    Unreachable,
)

MOUNT_HINT = "Mount the drive, bring the folder back, or choose another one with `claude-memory setup`."

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
_UNREACHABLE = {
    errno.ESTALE, errno.EIO, errno.ENOTCONN, errno.ENXIO, errno.ENODEV, errno.ETIMEDOUT, errno.EHOSTUNREACH,
    errno.EHOSTDOWN, errno.ENETDOWN, errno.ENETUNREACH, errno.ECONNABORTED, errno.ECONNREFUSED, errno.ECONNRESET,
    errno.ESHUTDOWN,
}  # fmt: skip
_NO_SUCH_NAME = {errno.EINVAL, errno.EILSEQ, errno.ENAMETOOLONG}

# Windows: sharing and lock violations; the cloud files provider does not deliver; network paths; disk full
_WINDOWS_BUSY = {32, 33, *range(362, 405)}
_WINDOWS_UNREACHABLE = {21, 53, 55, 59, 64, 67, 121, 1167, 1225, 1231, 1232, 1236}
_WINDOWS_FULL = {39, 112, 1295}


def storage_error(error: OSError, subject: str) -> StorageError:
    """The storage error for `error`, which happened with the file or folder `subject`."""
    reason = error.strerror or type(error).__name__
    windows = getattr(error, "winerror", None)
    if error.errno in _FULL or windows in _WINDOWS_FULL:
        return StorageFull(f"{subject}: {reason}.", "Free some space on the disk that holds the folder.")
    if windows in _WINDOWS_BUSY:
        return ItemBusy(f"{subject} is in use or not downloaded: {reason}.")
    if error.errno in _UNREACHABLE or windows in _WINDOWS_UNREACHABLE:
        return Unreachable(f"The folder does not answer ({subject}: {reason}).", MOUNT_HINT)
    if error.errno in _DENIED:
        return AccessDenied(f"{subject}: {reason}.", "Check the permissions of the file and its folder.")
    if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
        return NotFound(f"There is no file {subject}.")
    if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.EISDIR):
        return AlreadyExists(f"{subject} is there already.")
    if error.errno in _NO_SUCH_NAME:
        return InvalidName(f"The file system refuses the name {subject}: {reason}.")
    # EDEADLK is what macOS says of a file that is not downloaded; the rest is rare and about this one file
    return ItemBusy(f"{subject}: {reason}.")


@contextmanager
def translated(subject: str) -> Iterator[None]:
    """Turn an `OSError` into the storage error that it means."""
    try:
        yield
    except OSError as error:
        raise storage_error(error, subject) from error
