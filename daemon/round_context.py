"""What the steps of one sync round share: the storage with a meter, the report, and who failed already."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

import anyio

from daemon.round_report import ItemError, RoundReport
from memory_cache.database import Database
from storage_backends.base import Changes, Content, Item, StorageBackend
from storage_backends.errors import LoginRequired, StorageError, Throttled, Unreachable

T = TypeVar("T")

PARALLEL_REQUESTS = 6
# One file that the service cannot deliver must not keep all others from being synced; no network does.
_UNREACHABLE_IN_A_ROW = 3


@dataclass(frozen=True, slots=True)
class Device:
    """This device: its id (names its note in the storage), the name that people gave it, and its program's version."""

    id: str
    name: str
    version: str = ""

    @property
    def path(self) -> str:
        """Where this device leaves its note."""
        return f"devices/{self.id}.json"


class MeteredStorage:
    """A backend that counts its calls and makes none after one that ended the round."""

    def __init__(self, backend: StorageBackend) -> None:
        self.backend = backend
        self.requests = 0
        self.failure: StorageError | None = None

    async def changes(self, cursor: str | None) -> Changes:
        return await self._call(self.backend.changes, cursor)

    async def stat(self, item_id: str) -> Item:
        return await self._call(self.backend.stat, item_id)

    async def find(self, path: str) -> Item:
        return await self._call(self.backend.find, path)

    async def read(self, item_id: str) -> Content:
        return await self._call(self.backend.read, item_id)

    async def create(self, path: str, data: bytes) -> Item:
        return await self._call(self.backend.create, path, data)

    async def update(self, item_id: str, data: bytes, version: str) -> Item:
        return await self._call(self.backend.update, item_id, data, version)

    async def delete(self, item_id: str, version: str) -> None:
        await self._call(self.backend.delete, item_id, version)

    async def _call(self, method: Callable[..., Awaitable[T]], *arguments: Any) -> T:
        if self.failure is not None:
            raise self.failure
        self.requests += 1
        try:
            return await method(*arguments)
        except (Throttled, LoginRequired) as error:
            self.failure = error
            raise


class PastVersions:
    """Versions that this device has seen replaced, so that a late listing or read does not bring them back.

    Bounded, and only in memory: it covers the seconds in which a storage may show an earlier state.
    """

    def __init__(self, size: int = 4096) -> None:
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._size = size

    def add(self, item_id: str, version: str | None) -> None:
        """The item was at this version and is not any more."""
        if version is not None:
            self._known[item_id, version] = None
            while len(self._known) > self._size:
                self._known.popitem(last=False)

    def __contains__(self, key: tuple[str, str]) -> bool:
        return key in self._known


@dataclass(slots=True)
class Round:
    """One sync round."""

    database: Database
    storage: MeteredStorage
    device: Device
    now: Callable[[], datetime]
    past: PastVersions
    confirm_deletes: bool = False
    report: RoundReport = field(default_factory=RoundReport)
    uploads_paused: bool = False
    deleted: int = 0  # files that the brake counts
    failed: set[str] = field(default_factory=set)  # keys of steps that failed: not tried again in this round
    relocated: set[int] = field(default_factory=set)
    arrived: set[str] = field(default_factory=set)  # items that came, memories as "": possible conflict copies
    _unreachable: int = 0

    def succeeded(self) -> None:
        """The storage answered."""
        self._unreachable = 0

    def item_failed(self, key: str, path: str, error: StorageError) -> None:
        """Note that one file could not be brought in step; the round goes on with the others.

        Raises: the error itself when it concerns the whole storage.
        """
        if isinstance(error, (Throttled, LoginRequired)):
            raise error
        self.failed.add(key)
        if isinstance(error, Unreachable):
            self._unreachable += 1
            if self._unreachable >= _UNREACHABLE_IN_A_ROW:
                self.storage.failure = error
                raise error
        self.report.errors.append(ItemError(path, error.title, error.message, error.hint))


async def in_parallel(items: Sequence[T], worker: Callable[[T], Awaitable[None]]) -> None:
    """Run `worker` over all items, a few at a time, begun in order. A storage error of one ends all."""
    if len(items) <= 1:
        for item in items:
            await worker(item)
        return
    waiting = iter(items)
    failures: list[StorageError] = []

    async def run() -> None:
        for item in waiting:
            if failures:
                return
            try:
                await worker(item)
            except StorageError as error:
                failures.append(error)

    async with anyio.create_task_group() as group:
        for _ in range(min(PARALLEL_REQUESTS, len(items))):
            group.start_soon(run)
    if failures:
        raise failures[0]
