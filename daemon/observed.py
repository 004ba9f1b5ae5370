"""A backend that tells when a call ended: a long round that gets on is no stalled one."""

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self, TypeVar

from storage_backends.base import Capabilities, Changes, Content, Item, StorageBackend

T = TypeVar("T")


class ObservedStorage:
    """`inner`, with `on_call` called after every call that came back, well or not."""

    def __init__(self, inner: StorageBackend, on_call: Callable[[], None]) -> None:
        self._inner = inner
        self._on_call = on_call

    @property
    def capabilities(self) -> Capabilities:
        return self._inner.capabilities

    @property
    def location(self) -> str:
        return self._inner.location

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._inner.__aexit__(exc_type, exc, traceback)

    async def scope(self) -> str:
        return await self._told(self._inner.scope())

    async def changes(self, cursor: str | None) -> Changes:
        return await self._told(self._inner.changes(cursor))

    async def stat(self, item_id: str) -> Item:
        return await self._told(self._inner.stat(item_id))

    async def find(self, path: str) -> Item:
        return await self._told(self._inner.find(path))

    async def read(self, item_id: str) -> Content:
        return await self._told(self._inner.read(item_id))

    async def create(self, path: str, data: bytes) -> Item:
        return await self._told(self._inner.create(path, data))

    async def update(self, item_id: str, data: bytes, version: str) -> Item:
        return await self._told(self._inner.update(item_id, data, version))

    async def delete(self, item_id: str, version: str) -> None:
        await self._told(self._inner.delete(item_id, version))

    async def wait_for_change(self, timeout: float) -> bool:
        return await self._inner.wait_for_change(timeout)

    async def _told(self, call: Awaitable[T]) -> T:
        try:
            return await call
        finally:
            self._on_call()
