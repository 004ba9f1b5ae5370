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
    """The storage of this home, with retries and limits around it. Settings are read anew.

    Raises: SettingsError (also when no storage was chosen yet); what the backend needs and lacks.
    """
    settings = settings_file.load(home, environ)
    async with backend_of(home, settings, environ) as backend:
        yield backend


def backend_of(home: Home, settings: Settings, environ: Mapping[str, str]) -> StorageBackend:
    """The backend that these settings name, not entered yet. Raises: SettingsError."""
    folder = settings.storage.folder()
    if folder is None:
        raise SettingsError(
            "No storage has been chosen yet.", "`claude-memory up` chooses one by itself, `claude-memory setup` asks."
        )
    from storage_backends.folder import FolderStorage

    return FolderStorage(folder)
