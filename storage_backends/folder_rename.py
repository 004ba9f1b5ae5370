"""Two renames that the standard library lacks: exchange two files, and rename without ever replacing.

Names are relative to the open folder `fd`; where the system has no such calls (Windows), `fd` is None and
names are whole paths.
"""

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from functools import cache

_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}
_NO_LINKS = {*_UNSUPPORTED, errno.EPERM, errno.EMLINK}

_LINUX_NOREPLACE, _LINUX_EXCHANGE = 1, 2
_MACOS_SWAP, _MACOS_EXCL = 2, 4


class ExchangeUnsupported(Exception):
    """This file system or system cannot exchange two files in one step."""


def exchange(fd: int | None, one: str, other: str) -> None:
    """Swap two files in one step: at no moment is either name missing.

    Raises: ExchangeUnsupported; OSError as `os.rename` does.
    """
    if sys.platform == "win32":
        _replace_and_keep(one, other)
        return
    flag = _MACOS_SWAP if sys.platform == "darwin" else _LINUX_EXCHANGE
    if not _rename_with_flag(fd, one, other, flag):
        raise ExchangeUnsupported


def rename_new(fd: int | None, old: str, new: str) -> None:
    """Rename; what is at `new` is never replaced. Raises: FileExistsError; OSError as `os.rename` does."""
    if sys.platform == "win32":
        os.rename(old, new)  # noqa: PTH104 - refuses to replace on Windows
        return
    flag = _MACOS_EXCL if sys.platform == "darwin" else _LINUX_NOREPLACE
    if _rename_with_flag(fd, old, new, flag):
        return
    try:
        os.link(old, new, src_dir_fd=fd, dst_dir_fd=fd, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _check_and_rename(fd, old, new)
    else:
        os.unlink(old, dir_fd=fd)


def _check_and_rename(fd: int | None, old: str, new: str) -> None:
    """The last resort (FAT without `renameat2`): our own processes are kept apart by the lock on the root."""
    try:
        os.lstat(new, dir_fd=fd)
    except FileNotFoundError:
        os.rename(old, new, src_dir_fd=fd, dst_dir_fd=fd)
    else:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new)


def _rename_with_flag(fd: int | None, old: str, new: str, flag: int) -> bool:
    """Whether the system knows the flag here; the rename is done then."""
    call = _system_call()
    if call is None or fd is None:
        return False
    if call(fd, os.fsencode(old), fd, os.fsencode(new), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), old, None, new)


@cache
def _system_call() -> Callable[[int, bytes, int, bytes, int], int] | None:
    name = "renameatx_np" if sys.platform == "darwin" else "renameat2"
    function = getattr(ctypes.CDLL(None, use_errno=True), name, None)
    if function is None:
        return None
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    function.restype = ctypes.c_int
    return function  # type: ignore[no-any-return]


def _replace_and_keep(new: str, living: str) -> None:
    """Windows: `living` takes the bytes of `new`, and `new` then holds what was displaced.

    `ReplaceFile` is what editors use: sync clients see one file changed, not one deleted and one created.
    """
    if sys.platform == "win32":
        aside = new + "~"
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        replaced = kernel.ReplaceFileW(
            ctypes.c_wchar_p(living), ctypes.c_wchar_p(new), ctypes.c_wchar_p(aside), 0, None, None
        )
        if not replaced:
            error = ctypes.WinError(ctypes.get_last_error())
            if os.path.lexists(aside) and not os.path.lexists(living):
                os.rename(aside, living)  # noqa: PTH104 - ERROR_UNABLE_TO_MOVE_REPLACEMENT_2: half done
            raise error
        os.rename(aside, new)  # noqa: PTH104
