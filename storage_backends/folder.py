"""A folder of this machine as a store: a plain directory, a network mount, or one that another program syncs.

What is where:
    folder_root       the root folder, its identity, the lock on it
    folder_directory  one folder held open; reading and writing in it
    folder_rename     exchange, and rename without replacing
    folder_snapshot   versions, and the numbered stream of changes
    folder_scan       looking: at everything, or at what may have changed
    folder_state      what one device knows: looks and own writes together
    folder_write      create, update, delete; clearing up after killed processes
    folder_temporary  names of our own temporary files
    folder_watch      events of the operating system
    folder_waiting    from events to "something may have changed"
    folder_errors     from errors of the operating system to storage errors
"""

import os
import stat
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar
from unicodedata import normalize

import anyio
import anyio.to_thread

from storage_backends.base import Capabilities, Changes, Content, Item
from storage_backends.errors import InvalidName, ItemBusy, NotFound, StorageError
from storage_backends.folder_directory import Directory
from storage_backends.folder_errors import translated
from storage_backends.folder_scan import digest_or_unread, why_hidden
from storage_backends.folder_snapshot import digest_of
from storage_backends.folder_state import State
from storage_backends.folder_waiting import Waiting
from storage_backends.names import is_temporary, validate_path, validate_safe_path

T = TypeVar("T")

_THREADS = 8
_LOOKS = 3


class FolderStorage:
    """Implements `storage_backends.base.StorageBackend` for the folder at `root`, which is never made here.

    An item's id is its path. Symbolic links are never followed below the root. Cursors live as long as this object.

    Args:
        root: the folder; may come and go while this object lives.
        clock: seconds since the epoch, the clock that the files' times are from.
    """

    def __init__(self, root: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._state = State(root, clock)
        self._waiting = Waiting(self._state)
        self._threads: anyio.CapacityLimiter | None = None

    @staticmethod
    def prepare(root: Path) -> None:
        """Make the folder, for its owner only, unless it is there; for setup.

        Raises: AccessDenied, StorageFull; AlreadyExists when a file is at its place.
        """
        with translated(str(root)):
            root.mkdir(mode=0o700, parents=True, exist_ok=True)

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(
            stable_ids=False, atomic_conditions=False, pushes=True, case_sensitive=self._state.root.case_sensitive
        )

    @property
    def location(self) -> str:
        return self._state.root.path

    @property
    def polling_reason(self) -> str | None:
        """Why changes are found by looking every few seconds and not by events; None with events."""
        return self._waiting.problem

    @property
    def skipped(self) -> dict[str, str]:
        """What is in the folder but can be no item, each with the reason; as of the last look."""
        return self._state.skipped()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            await self._write(self._waiting.close)

    async def scope(self) -> str:
        real = await self._look(self._state.real_path)
        return "folder:" + normalize("NFC", os.path.normcase(real))

    async def changes(self, cursor: str | None) -> Changes:
        return await self._look(lambda: self._changes(cursor))

    async def stat(self, item_id: str) -> Item:
        return await self._look(lambda: self._stat(item_id))

    async def find(self, path: str) -> Item:
        validate_safe_path(path)
        return await self._look(lambda: self._stat(path))

    async def read(self, item_id: str) -> Content:
        return await self._look(lambda: self._read(item_id))

    async def create(self, path: str, data: bytes) -> Item:
        validate_path(path)
        return await self._write(lambda: self._state.create(path, data))

    async def update(self, item_id: str, data: bytes, version: str) -> Item:
        path = _path_of(item_id)
        return await self._write(lambda: self._state.update(path, data, version))

    async def delete(self, item_id: str, version: str) -> None:
        try:
            path = _path_of(item_id)
        except NotFound:
            return
        await self._write(lambda: self._state.delete(path, version))

    async def wait_for_change(self, timeout: float) -> bool:
        stop = threading.Event()
        try:
            return await anyio.to_thread.run_sync(self._waiting.wait, timeout, stop, abandon_on_cancel=True)
        finally:
            stop.set()

    async def _look(self, function: Callable[[], T]) -> T:
        """Run in a thread. What hangs on a dead network mount can be left behind: it changes nothing."""
        return await anyio.to_thread.run_sync(function, limiter=self._limiter(), abandon_on_cancel=True)

    async def _write(self, function: Callable[[], T]) -> T:
        """Run in a thread, to the end even when cancelled: the store is as before or as after the call."""
        return await anyio.to_thread.run_sync(function, limiter=self._limiter())

    def _limiter(self) -> anyio.CapacityLimiter:
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(_THREADS)
        return self._threads

    def _changes(self, cursor: str | None) -> Changes:
        try:
            page = self._state.page(cursor, self._waiting.drain())
        except StorageError:
            self._waiting.told_error()
            raise
        self._waiting.told()
        return page

    def _stat(self, item_id: str) -> Item:
        path = _path_of(item_id)

        def look(directory: Directory, name: str) -> Item:
            status = directory.status_of(name)
            if not stat.S_ISREG(status.st_mode):
                raise NotFound(f"There is no file {path}.")
            return self._state.observed(path, status, lambda: digest_or_unread(directory, name, status))

        return self._at(path, look, exact=True)

    def _read(self, item_id: str) -> Content:
        path = _path_of(item_id)

        def look(directory: Directory, name: str) -> Content:
            data, status = directory.read(name)
            return Content(self._state.observed(path, status, lambda: digest_of(data)), data)

        return self._at(path, look, exact=path not in self._state.snapshot.files)

    def _at(self, path: str, look: Callable[[Directory, str], T], *, exact: bool) -> T:
        """Run `look` on the file at this path. `exact`: also where case is ignored, the name has to be in this case."""
        *folders, name = path.split("/")
        root = self._state.root
        with translated(path), root.open() as top, root.folder(top, folders, exact=exact) as directory:
            listed = exact and not root.case_sensitive
            for _ in range(_LOOKS):  # a file that is being replaced can be missing for a moment
                actual = directory.spelling(name, listed=listed)
                if actual is not None:
                    with suppress(FileNotFoundError):
                        return look(directory, actual)
                hidden = why_hidden(directory, name)
                if hidden is not None:
                    raise ItemBusy(f"{path} {hidden}.")
                if actual is None and directory.spelling(name, listed=listed) is None:
                    raise NotFound(f"There is no file {path}.")
        raise ItemBusy(f"{path} is being replaced.")


def _path_of(item_id: str) -> str:
    """The path that is the item's id. Raises: NotFound for what can be no id of ours."""
    try:
        validate_safe_path(item_id)
    except InvalidName:
        raise NotFound("There is no such file.") from None
    if any(is_temporary(part) for part in item_id.split("/")):
        raise NotFound("There is no such file.")
    return item_id
