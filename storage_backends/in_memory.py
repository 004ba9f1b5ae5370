"""A store in memory, shared by any number of devices of one process.

It keeps the whole contract of `storage_backends.base`, and its weaker traits can be switched on one by one: a
program that works with every combination of them works with the real storages.
"""

import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Literal, Protocol, Self
from unicodedata import normalize

import anyio
import anyio.lowlevel

from storage_backends.base import Capabilities, Changes, Content, Item
from storage_backends.errors import AlreadyExists, CursorExpired, NotFound, VersionMismatch
from storage_backends.names import same_name_key, validate_path, validate_safe_path


class Interceptor(Protocol):
    """Called around every call of a device. May wait; may raise a `StorageError`.

    What it raises "before" the call keeps it from happening; what it raises "after" means that
    it happened and its answer got lost. `subject` is the path, item id or cursor, or empty.
    """

    async def __call__(self, phase: Literal["before", "after"], call: str, subject: str) -> None: ...


@dataclass(frozen=True, slots=True)
class _Entry:
    item: Item
    data: bytes


@dataclass(frozen=True, slots=True)
class _Change:
    item_id: str
    removed: bool
    author: object


class InMemoryStore:
    """The files, and the log of their changes.

    Args:
        stable_ids: item ids survive renames; otherwise an item's id is its path.
        atomic_conditions: see `Capabilities`. Without it another device's write can slip into an update or
            delete; that call then fails, and for a moment the wrong version could be seen.
        case_sensitive: `A.md` and `a.md` are two files.
        announces_removals: `Changes.removed` names what is gone; otherwise only an enumeration tells.
        page_size: items and removals per page of changes.
        clock: seconds since the epoch, for `Item.modified`.
    """

    def __init__(
        self,
        *,
        stable_ids: bool = True,
        atomic_conditions: bool = True,
        case_sensitive: bool = True,
        announces_removals: bool = True,
        page_size: int = 200,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.capabilities = Capabilities(stable_ids, atomic_conditions, pushes=True, case_sensitive=case_sensitive)
        self.name = secrets.token_hex(4)
        self._announces_removals = announces_removals
        self._page_size = page_size
        self._clock = clock
        self._entries: dict[str, _Entry] = {}
        self._ids: dict[str, str] = {}  # by the key under which two paths are one file
        self._log: list[_Change] = []
        self._numbers = 0
        self._epoch = 0
        self._changed: anyio.Event | None = None

    def files(self) -> Mapping[str, bytes]:
        """Every file's bytes by its path, in order of the paths."""
        return {entry.item.path: entry.data for entry in sorted(self._entries.values(), key=lambda e: e.item.path)}

    def expire_cursors(self) -> None:
        """Refuse every cursor that was handed out so far."""
        self._epoch += 1

    def put(self, path: str, data: bytes, *, author: object = None) -> Item:
        """Write the file whatever is there, as an outside program does."""
        path = normalize("NFC", path)
        known = self._ids.get(self._key(path))
        item_id = known or (f"item-{self._number()}" if self.capabilities.stable_ids else path)
        path = self._entries[known].item.path if known else path
        item = Item(item_id, path, f"v{self._number()}", len(data), self._clock())
        self._store(_Entry(item, data), author)
        return item

    def move(self, path: str, new_path: str, *, author: object = None) -> Item:
        """Rename the file, as an outside program does. Raises: NotFound, AlreadyExists."""
        entry = self.entry_at(path)
        new_path = normalize("NFC", new_path)
        if self._ids.get(self._key(new_path), entry.item.item_id) != entry.item.item_id:
            raise AlreadyExists(f"{new_path} is there already.")
        item_id = entry.item.item_id if self.capabilities.stable_ids else new_path
        self._remove(entry.item.item_id, author, announce=not self.capabilities.stable_ids)
        item = replace(entry.item, item_id=item_id, path=new_path)
        self._store(_Entry(item, entry.data), author)
        return item

    def remove(self, path: str, *, author: object = None) -> None:
        """Delete the file, as an outside program does. Raises: NotFound."""
        self._remove(self.entry_at(path).item.item_id, author)

    def entry_at(self, path: str) -> _Entry:
        """What is at this path. Raises: NotFound."""
        item_id = self._ids.get(self._key(path))
        if item_id is None:
            raise NotFound(f"There is no file {path}.")
        return self._entries[item_id]

    def entry_of(self, item_id: str) -> _Entry:
        """The item of this id. Raises: NotFound."""
        entry = self._entries.get(item_id)
        if entry is None:
            raise NotFound("The file is gone.")
        return entry

    def exchange(self, item_id: str, data: bytes, version: str, author: object) -> Item:
        """Replace the bytes, then look at what was displaced; put it back when it is not `version`."""
        displaced = self.entry_of(item_id)
        if displaced.item.version != version and self.capabilities.atomic_conditions:
            raise VersionMismatch(f"{displaced.item.path} was changed meanwhile.")
        item = replace(displaced.item, version=f"v{self._number()}", size=len(data), modified=self._clock())
        self._store(_Entry(item, data), author)
        if displaced.item.version != version:
            self._store(displaced, author)
            raise VersionMismatch(f"{displaced.item.path} was changed meanwhile.")
        return item

    def page(self, cursor: str | None) -> Changes:
        """See `StorageBackend.changes`. A cursor reads `store:epoch:all:<log position>:<after this item id>` within an
        enumeration, `store:epoch:log:<log position>` behind it."""
        if cursor is None:
            return self._enumerate(len(self._log), "")
        kind, position, after = self._parse(cursor)
        return self._enumerate(position, after) if kind == "all" else self._since(position)

    def newest(self, *, not_by: object) -> int:
        """Log position behind the newest change of anybody else; 0 when there is none."""
        return next((n for n in range(len(self._log), 0, -1) if self._log[n - 1].author is not not_by), 0)

    async def wait(self) -> None:
        """Return at the next change."""
        if self._changed is None:
            self._changed = anyio.Event()
        await self._changed.wait()

    def _enumerate(self, position: int, after: str) -> Changes:
        ids = sorted(item_id for item_id in self._entries if item_id > after)
        page, more = ids[: self._page_size], len(ids) > self._page_size
        rest = f"all:{position}:{page[-1]}" if more else f"log:{position}"
        return Changes(
            items=[self._entries[item_id].item for item_id in page],
            removed=[],
            cursor=f"{self.name}:{self._epoch}:{rest}",
            more=more,
            enumeration=True,
        )

    def _since(self, position: int) -> Changes:
        end = min(position + self._page_size, len(self._log))
        page = {change.item_id: change for change in self._log[position:end]}
        return Changes(
            items=[self._entries[item_id].item for item_id in page if item_id in self._entries],
            removed=[
                item_id
                for item_id, change in page.items()
                if change.removed and item_id not in self._entries and self._announces_removals
            ],
            cursor=f"{self.name}:{self._epoch}:log:{end}",
            more=end < len(self._log),
            enumeration=False,
        )

    def _parse(self, cursor: str) -> tuple[str, int, str]:
        name, _, rest = cursor.partition(":")
        epoch, _, rest = rest.partition(":")
        kind, _, rest = rest.partition(":")
        position, _, after = rest.partition(":")
        known = name == self.name and epoch == str(self._epoch) and kind in ("all", "log") and position.isdecimal()
        if not known or int(position) > len(self._log):
            raise CursorExpired("The cursor is not known here.")
        return kind, int(position), after

    def _key(self, path: str) -> str:
        return normalize("NFC", path) if self.capabilities.case_sensitive else same_name_key(path)

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _store(self, entry: _Entry, author: object) -> None:
        self._entries[entry.item.item_id] = entry
        self._ids[self._key(entry.item.path)] = entry.item.item_id
        self._record(_Change(entry.item.item_id, removed=False, author=author))

    def _remove(self, item_id: str, author: object, *, announce: bool = True) -> None:
        entry = self._entries.pop(item_id)
        del self._ids[self._key(entry.item.path)]
        if announce:
            self._record(_Change(item_id, removed=True, author=author))

    def _record(self, change: _Change) -> None:
        self._log.append(change)
        if self._changed is not None:
            self._changed.set()
            self._changed = None


class InMemoryStorage:
    """One device's view of an `InMemoryStore`; implements `storage_backends.base.StorageBackend`."""

    def __init__(self, store: InMemoryStore, *, intercept: Interceptor | None = None) -> None:
        self.store = store
        self.intercept = intercept
        self._hinted = 0

    @property
    def capabilities(self) -> Capabilities:
        return self.store.capabilities

    @property
    def location(self) -> str:
        return f"memory:{self.store.name}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None

    async def scope(self) -> str:
        await self._around("before", "scope")
        await self._around("after", "scope")
        return f"memory:{self.store.name}"

    async def changes(self, cursor: str | None) -> Changes:
        await self._around("before", "changes", cursor or "")
        page = self.store.page(cursor)
        self._hinted = max(self._hinted, self.store.newest(not_by=self))
        await self._around("after", "changes", cursor or "")
        return page

    async def stat(self, item_id: str) -> Item:
        await self._around("before", "stat", item_id)
        item = self.store.entry_of(item_id).item
        await self._around("after", "stat", item_id)
        return item

    async def find(self, path: str) -> Item:
        validate_safe_path(path)
        await self._around("before", "find", path)
        item = self.store.entry_at(path).item
        await self._around("after", "find", path)
        return item

    async def read(self, item_id: str) -> Content:
        await self._around("before", "read", item_id)
        entry = self.store.entry_of(item_id)
        await self._around("after", "read", item_id)
        return Content(entry.item, entry.data)

    async def create(self, path: str, data: bytes) -> Item:
        validate_path(path)
        await self._around("before", "create", path)
        try:
            self.store.entry_at(path)
        except NotFound:
            item = self.store.put(path, data, author=self)
        else:
            raise AlreadyExists(f"{path} is there already.")
        await self._around("after", "create", path)
        return item

    async def update(self, item_id: str, data: bytes, version: str) -> Item:
        await self._around("before", "update", item_id)
        await self._check(item_id, version)
        item = self.store.exchange(item_id, data, version, self)
        await self._around("after", "update", item_id)
        return item

    async def delete(self, item_id: str, version: str) -> None:
        await self._around("before", "delete", item_id)
        try:
            await self._check(item_id, version)
            entry = self.store.entry_of(item_id)
        except NotFound:
            pass
        else:
            if entry.item.version != version:
                raise VersionMismatch(f"{entry.item.path} was changed meanwhile.")
            self.store.remove(entry.item.path, author=self)
        await self._around("after", "delete", item_id)

    async def wait_for_change(self, timeout: float) -> bool:
        await anyio.lowlevel.checkpoint()
        with anyio.move_on_after(timeout):
            while self.store.newest(not_by=self) <= self._hinted:
                await self.store.wait()
        newest = self.store.newest(not_by=self)
        changed = newest > self._hinted
        self._hinted = max(newest, self._hinted)
        return changed

    async def _check(self, item_id: str, version: str) -> None:
        """The condition as a storage without compare-and-swap checks it: others may act before the caller does."""
        entry = self.store.entry_of(item_id)
        if entry.item.version != version:
            raise VersionMismatch(f"{entry.item.path} was changed meanwhile.")
        if not self.capabilities.atomic_conditions:
            await anyio.lowlevel.checkpoint()

    async def _around(self, phase: Literal["before", "after"], call: str, subject: str = "") -> None:
        """Others run before every call; nothing waits after it, so what was done is also answered."""
        if self.intercept is not None:
            await self.intercept(phase, call, subject)
        elif phase == "before":
            await anyio.lowlevel.checkpoint()
