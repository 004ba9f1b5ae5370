"""The simulated storage: the shipped in-memory store, seen by each device through all that can go wrong on the way."""

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self

from storage_backends.base import Capabilities, Changes, Content, Item
from storage_backends.errors import (
    AccessDenied,
    InvalidName,
    ItemBusy,
    NotFound,
    StorageError,
    StorageFull,
    Throttled,
    Unreachable,
)
from storage_backends.in_memory import InMemoryStorage, InMemoryStore
from tests.simulation.fate import Fate, Life, Violation


@dataclass
class Weather:
    """What goes wrong between one device and the store, as probabilities per call; 0 is fair weather.

    `root`: `there`, `gone` (calls fail), `empty` (an empty mount point answers).
    """

    unreachable: float = 0.0
    lost_answer: float = 0.0
    busy: float = 0.0
    denied: float = 0.0
    full: float = 0.0
    throttled: float = 0.0
    late: float = 0.0
    repeated: float = 0.0
    shuffled: float = 0.0
    stale_listing: float = 0.0
    stale_read: float = 0.0
    lost_tombstone: float = 0.0
    lost_entry: float = 0.0
    refused_names: bool = False
    root: str = "there"


class SimulatedStore(InMemoryStore):
    """An in-memory store that remembers earlier states of its items."""

    def __init__(self, name: str, fate: Fate, **traits: bool | int) -> None:
        super().__init__(clock=lambda: fate.time().timestamp(), **traits)  # type: ignore[arg-type]
        self.name = name
        self.fate = fate
        self.past: dict[str, list[tuple[float, Content]]] = defaultdict(list)
        self.removed: set[str] = set()
        self.writes = 0

    def _store(self, entry, author):  # type: ignore[no-untyped-def]
        self.past[entry.item.item_id].append((self.fate.elapsed, Content(entry.item, entry.data)))
        super()._store(entry, author)

    def _remove(self, item_id, author, *, announce=True):  # type: ignore[no-untyped-def]
        self.removed.add(item_id)
        super()._remove(item_id, author, announce=announce)

    def ids(self) -> set[str]:
        """The items there are."""
        return set(self._entries)

    def earlier(self, item_id: str) -> Content | None:
        """The state before the present one, if the item was in it a few seconds ago."""
        states = self.past[item_id][-2:]
        if len(states) == 2 and self.fate.elapsed - states[1][0] <= 5.0:
            return states[0][1]
        return None


@dataclass
class SimulatedStorage:
    """One device's way to a store. Implements `StorageBackend`."""

    store: SimulatedStore
    life: Life
    weather: Weather
    before_delete: Callable[[str, str], None] = lambda item_id, version: None
    before_create: Callable[[str, bytes], None] = lambda path, data: None
    inner: InMemoryStorage = field(init=False)
    last_page: list[Item] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.inner = InMemoryStorage(self.store, intercept=self._waits)

    @property
    def capabilities(self) -> Capabilities:
        return self.inner.capabilities

    @property
    def location(self) -> str:
        return self.inner.location

    @property
    def random(self) -> random.Random:
        return self.life.fate.random

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        return None

    async def scope(self) -> str:
        return self.inner.location

    async def changes(self, cursor: str | None) -> Changes:
        await self._way(cursor or "start")
        if self.weather.root == "empty":
            gone = list(self.store.past) if cursor else []
            return Changes([], gone, cursor or f"{self.store.name}:0:log:0", more=False, enumeration=cursor is None)
        if cursor is not None and ":log:" in cursor and self._happens(self.weather.late):
            return Changes([], [], cursor, more=False, enumeration=False)
        page = await self.inner.changes(cursor)
        return self._distorted(page)

    async def stat(self, item_id: str) -> Item:
        await self._way(f"stat {item_id}")
        return await self.inner.stat(item_id)

    async def find(self, path: str) -> Item:
        await self._way(f"find {path}")
        return await self.inner.find(path)

    async def read(self, item_id: str) -> Content:
        await self._way(f"read {item_id}")
        if self._happens(self.weather.busy):
            raise ItemBusy("A placeholder.")
        content = await self.inner.read(item_id)
        earlier = self.store.earlier(item_id)
        if earlier is not None and self._happens(self.weather.stale_read):
            self.life.fate.note(f"{self.life.name} reads an earlier {item_id}")
            return earlier
        return content

    async def create(self, path: str, data: bytes) -> Item:
        await self._way(f"create {path}", writes=True)
        if self.weather.refused_names and "refused" in path:
            raise InvalidName("Not this one.")
        self.before_create(path, data)
        item = await self.inner.create(path, data)
        return self._answered(item, f"created {path}")

    async def update(self, item_id: str, data: bytes, version: str) -> Item:
        await self._way(f"update {item_id}", writes=True)
        item = await self.inner.update(item_id, data, version)
        return self._answered(item, f"updated {item.path}")

    async def delete(self, item_id: str, version: str) -> None:
        await self._way(f"delete {item_id}")
        if self._happens(self.weather.denied):
            raise AccessDenied("Not yours.")
        self.before_delete(item_id, version)
        await self.inner.delete(item_id, version)
        self._answered(None, f"deleted {item_id}")

    async def wait_for_change(self, timeout: float) -> bool:
        return False

    async def _waits(self, phase: str, call: str, subject: str) -> None:
        await self.life.wait(f"{phase} {call} {subject}")

    async def _way(self, what: str, *, writes: bool = False) -> None:
        """What may go wrong before the store hears of the call."""
        fate = self.life.fate
        if fate.elapsed < self.life.paused_until:
            raise Violation(f"I10: {self.life.name} sends {what} while a pause of the service runs")
        fate.note(f"{self.life.name} {what}")
        if self.weather.root == "gone":
            raise Unreachable("Not mounted.")
        if self.weather.root == "empty":
            if writes:
                raise Violation(f"{self.life.name} writes into an empty mount point: {what}")
            if not what.startswith("start") and ":" not in what:
                raise NotFound("Nothing here.")
        if self._happens(self.weather.throttled):
            self.life.paused_until = fate.elapsed + 20.0
            raise Throttled("Slow down.", retry_after=20.0)
        if self._happens(self.weather.unreachable):
            raise Unreachable("No network.")
        if writes and self._happens(self.weather.full):
            raise StorageFull("No space.")
        if writes and self._happens(self.weather.denied):
            raise AccessDenied("Not yours.")

    def _answered(self, item: Item | None, what: str) -> Item:
        self.store.writes += 1
        self.life.fate.note(f"{self.life.name} {what}")
        if self._happens(self.weather.lost_answer):
            raise Unreachable("The answer got lost.")
        return item  # type: ignore[return-value]

    def _happens(self, probability: float) -> bool:
        return probability > 0 and self.random.random() < probability

    def _distorted(self, page: Changes) -> Changes:
        """The page as a careless service may send it. Every item is listed truthfully once it is asked anew."""
        items, removed, weather = list(page.items), list(page.removed), self.weather
        if page.enumeration and self._happens(weather.lost_entry) and items:
            items.pop(self.random.randrange(len(items)))
        if self._happens(weather.lost_tombstone):
            removed = []
        if self._happens(weather.stale_listing):
            items = [self._as_it_was(item) for item in items]
        if self._happens(weather.repeated):
            items += [item for item in self.last_page if item.item_id not in removed and self._lives(item)]
        if self._happens(weather.shuffled):
            self.random.shuffle(items)
        self.last_page = [item for item in page.items if self._lives(item)]
        return replace(page, items=items, removed=removed)

    def _lives(self, item: Item) -> bool:
        return item.item_id in self.store.ids()

    def _as_it_was(self, item: Item) -> Item:
        earlier = self.store.earlier(item.item_id)
        return earlier.item if earlier is not None else item


__all__ = ["SimulatedStorage", "SimulatedStore", "StorageError", "Weather"]
