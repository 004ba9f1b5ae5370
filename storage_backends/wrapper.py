"""What wrappers around any backend share: every call goes through one place."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self, TypeVar

from storage_backends.base import Capabilities, Changes, Content, Item, StorageBackend

T = TypeVar("T")


class WrappedStorage(ABC):
    """Passes everything on to `inner`; subclasses decide in `_call` what happens around it."""

    def __init__(self, inner: StorageBackend) -> None:
        self.inner = inner

    @property
    def capabilities(self) -> Capabilities:
        return self.inner.capabilities

    @property
    def location(self) -> str:
        return self.inner.location

    async def __aenter__(self) -> Self:
        await self.inner.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.inner.__aexit__(exc_type, exc, traceback)

    async def scope(self) -> str:
        return await self._call(lambda: self.inner.scope(), changes_nothing=True)

    async def changes(self, cursor: str | None) -> Changes:
        return await self._call(lambda: self.inner.changes(cursor), changes_nothing=True)

    async def stat(self, item_id: str) -> Item:
        return await self._call(lambda: self.inner.stat(item_id), changes_nothing=True)

    async def find(self, path: str) -> Item:
        return await self._call(lambda: self.inner.find(path), changes_nothing=True)

    async def read(self, item_id: str) -> Content:
        return await self._call(lambda: self.inner.read(item_id), changes_nothing=True)

    async def create(self, path: str, data: bytes) -> Item:
        return await self._call(lambda: self.inner.create(path, data), changes_nothing=False)

    async def update(self, item_id: str, data: bytes, version: str) -> Item:
        return await self._call(lambda: self.inner.update(item_id, data, version), changes_nothing=False)

    async def delete(self, item_id: str, version: str) -> None:
        await self._call(lambda: self.inner.delete(item_id, version), changes_nothing=False)

    async def wait_for_change(self, timeout: float) -> bool:
        return await self.inner.wait_for_change(timeout)

    @abstractmethod
    async def _call(self, call: Callable[[], Awaitable[T]], *, changes_nothing: bool) -> T:
        """Do the call, once or more. `changes_nothing`: it may be repeated whatever became of it."""
