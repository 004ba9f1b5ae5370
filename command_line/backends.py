"""The storage that the settings name, opened."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from memory_cache import settings as settings_file
from memory_cache.errors import SettingsError
from memory_cache.home import Home
from memory_cache.settings import Settings
from storage_backends.base import StorageBackend


@asynccontextmanager
async def open_storage(home: Home, environ: Mapping[str, str]) -> AsyncIterator[StorageBackend]:
    """The storage of this home, with retries and limits around it. The settings are read anew.

    Raises: SettingsError (also when no storage was chosen yet); PermanentError for what cannot be used at all.
    """
    settings = settings_file.load(home, environ)
    async with storage_of(home, settings, environ) as backend:
        yield backend


def storage_of(home: Home, settings: Settings, environ: Mapping[str, str]) -> StorageBackend:
    """The backend that these settings name, not entered yet. Raises: as `open_storage`."""
    from storage_backends.open import open_backend

    storage = settings.storage
    if storage.backend == "folder" and storage.folder() is None:
        raise SettingsError(
            "No storage has been chosen yet.", "`claude-memory up` chooses one by itself, `claude-memory setup` asks."
        )
    folder = storage.folder() if storage.backend == "folder" else None
    if folder is not None and home.lies_in(folder):
        raise SettingsError(
            f"The storage folder {folder} holds this device's own files, which must not be synced ({home.root}).",
            "Choose a folder of its own with `claude-memory setup --path …`.",
        )
    return open_backend(
        storage.backend,
        path=storage.folder(),
        onedrive=settings.onedrive.model_dump(),
        login_dir=home.login_dir,
        environ=environ,
    )
