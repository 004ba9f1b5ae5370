"""From plain settings to a storage. Imports only what the chosen backend needs, when it is chosen."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from storage_backends.base import StorageBackend
from storage_backends.errors import PermanentError


def open_folder(path: Path) -> StorageBackend:
    """The folder at `path`. It is not made, and need not be there yet."""
    from storage_backends.folder import FolderStorage

    return FolderStorage(path.expanduser())


def open_onedrive(
    options: Mapping[str, Any],
    *,
    login_dir: Path,
    environ: Mapping[str, str] = os.environ,
    throttled_until: float | None = None,
) -> StorageBackend:
    """OneDrive, with repetition of what failed in passing, and silence while the service asks for a pause.

    Args:
        options: the section `onedrive` of the settings, by name.
        login_dir: private directory of this device for the login.
        environ: addresses and tokens given from outside; see `storage_backends.onedrive`.
        throttled_until: a pause that the service asked an earlier process for, in seconds since the epoch.

    Raises: PermanentError for an address that cannot be used.
    """
    from storage_backends import onedrive
    from storage_backends.limit import LimitedStorage
    from storage_backends.retry import RetryingStorage

    inner = onedrive.open_onedrive(onedrive.OneDriveSettings(**options), login_dir, environ)
    return RetryingStorage(LimitedStorage(inner, throttled_until=throttled_until))


def open_backend(
    backend: str,
    *,
    path: Path | None = None,
    onedrive: Mapping[str, Any] | None = None,
    login_dir: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    throttled_until: float | None = None,
) -> StorageBackend:
    """The storage that the settings name: "folder" with its `path`, or "onedrive" with its options and `login_dir`.

    Raises: PermanentError when something is missing or the name is unknown.
    """
    if backend == "folder":
        if path is None or not str(path):
            raise PermanentError("No folder is chosen.", "Choose one with `claude-memory setup --path DIR`.")
        return open_folder(path)
    if backend == "onedrive":
        if login_dir is None:
            raise PermanentError("OneDrive needs a directory for the login.")
        return open_onedrive(onedrive or {}, login_dir=login_dir, environ=environ, throttled_until=throttled_until)
    raise PermanentError(f"There is no storage named {backend!r}.", "Choose folder or onedrive.")
