"""Each error of the operating system becomes the storage error that says who has to act."""

import errno
from types import SimpleNamespace

import pytest

from storage_backends.errors import (
    AccessDenied,
    AlreadyExists,
    InvalidName,
    ItemBusy,
    NotFound,
    StorageError,
    StorageFull,
    TransientError,
    Unreachable,
)
from storage_backends.folder_directory import is_placeholder
from storage_backends.folder_errors import storage_error, translated

CASES = [
    (errno.ENOENT, NotFound),
    (errno.ENOTDIR, NotFound),
    (errno.ELOOP, NotFound),
    (errno.EEXIST, AlreadyExists),
    (errno.EISDIR, AlreadyExists),
    (errno.ENOSPC, StorageFull),
    (errno.EDQUOT, StorageFull),
    (errno.EACCES, AccessDenied),
    (errno.EPERM, AccessDenied),
    (errno.EROFS, AccessDenied),
    (errno.EIO, Unreachable),
    (errno.ESTALE, Unreachable),
    (errno.ENOTCONN, Unreachable),
    (errno.ETIMEDOUT, Unreachable),
    (errno.EDEADLK, ItemBusy),
    (errno.EBUSY, ItemBusy),
    (errno.EMFILE, ItemBusy),
    (errno.ENAMETOOLONG, InvalidName),
    (errno.EILSEQ, InvalidName),
]


@pytest.mark.parametrize(("number", "kind"), CASES)
def test_each_error_says_who_has_to_act(number: int, kind: type[StorageError]) -> None:
    with pytest.raises(kind) as caught, translated("memories/a.md"):
        raise OSError(number, "reason")
    assert type(caught.value) is kind
    assert "memories/a.md" in caught.value.message


@pytest.mark.parametrize(
    ("windows", "kind"), [(32, ItemBusy), (33, ItemBusy), (389, ItemBusy), (53, Unreachable), (112, StorageFull)]
)
def test_windows_says_it_with_its_own_numbers(windows: int, kind: type[StorageError]) -> None:
    error = OSError(errno.EINVAL, "reason")
    error.winerror = windows  # type: ignore[attr-defined, unused-ignore]
    assert type(storage_error(error, "a.md")) is kind


def test_an_unknown_error_stops_one_file_for_the_moment_and_nothing_else() -> None:
    error = storage_error(OSError(9999, "never heard of"), "a.md")
    assert isinstance(error, ItemBusy)
    assert isinstance(error, TransientError)


def test_files_whose_bytes_are_in_the_cloud_are_recognised() -> None:
    for fields in ({"st_file_attributes": 0x400000}, {"st_file_attributes": 0x1000}, {"st_flags": 0x40000000}):
        assert is_placeholder(SimpleNamespace(**fields))  # type: ignore[arg-type]
    for fields in ({}, {"st_file_attributes": 0x20}, {"st_flags": 0}):
        assert not is_placeholder(SimpleNamespace(**fields))  # type: ignore[arg-type]
