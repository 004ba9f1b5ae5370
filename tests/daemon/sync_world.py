"""Devices with real caches on one in-memory store, for the tests of sync rounds."""

from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from daemon.engine import SyncEngine
from daemon.round_context import Device
from daemon.round_report import RoundReport
from memory_cache import files, text_format
from memory_cache.database import Database, open_database
from memory_cache.files import FileRecord
from storage_backends.errors import StorageError
from storage_backends.in_memory import InMemoryStorage, InMemoryStore

START = datetime(2026, 6, 1, 8, tzinfo=UTC)
PATH = "memories/learning/2026-06-01-note-00000001.md"


def memory(body: str, *, number: int = 1, minutes: float = 0, **fields: Any) -> bytes:
    """The bytes of a memory; its id begins with its number."""
    return text_format.render(
        id=f"{number:08d}-0000-4000-8000-000000000000", category=fields.pop("category", "learning"),
        tags=fields.pop("tags", ["a"]), created=START, updated=START + timedelta(minutes=minutes), body=body, **fields,
    )  # fmt: skip


def path_of(number: int) -> str:
    return f"memories/learning/2026-06-01-note-{number:08d}.md"


@dataclass
class Clock:
    """The wall clock of all devices; stands still unless moved."""

    now: datetime = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **span: float) -> None:
        self.now += timedelta(**span)


@dataclass
class SyncDevice:
    """One device: cache, engine, and what the storage does to its calls."""

    name: str
    database: Database
    storage: InMemoryStorage
    engine: SyncEngine
    calls: Counter[str] = field(default_factory=Counter)
    failures: dict[tuple[str, str], Callable[[str], StorageError | None]] = field(default_factory=dict)

    async def round(self, **options: bool) -> RoundReport:
        self.calls.clear()
        return await self.engine.round(**options)

    def fail(self, call: str, make: Callable[[str], StorageError | None], phase: str = "before") -> None:
        """Have calls fail with what `make` gives for their subject; `after`: done, but the answer got lost."""
        self.failures[phase, call] = make

    async def intercept(self, phase: Literal["before", "after"], call: str, subject: str) -> None:
        if phase == "before":
            self.calls[call] += 1
        make = self.failures.get((phase, call))
        error = make(subject) if make is not None else None
        if error is not None:
            raise error

    async def write(self, path: str, data: bytes) -> FileRecord:
        """A tool writes this file."""

        def put(connection: Any) -> FileRecord:
            known = files.by_path(connection, path)
            return files.write(connection, known.file_id, data) if known else files.add(connection, path, data)

        return await self.database.write(put)

    async def delete(self, path: str) -> None:
        """A tool deletes this file."""

        def remove(connection: Any) -> None:
            known = files.by_path(connection, path)
            assert known is not None
            files.delete(connection, known.file_id)

        await self.database.write(remove)

    async def texts(self, prefix: str = "memories/") -> dict[str, bytes]:
        """The live files here."""
        rows = await self.query("SELECT path, content FROM files WHERE content IS NOT NULL ORDER BY path")
        return {row[0]: row[1] for row in rows if row[0].startswith(prefix)}

    async def query(self, sql: str, *values: object) -> list[Any]:
        return await self.database.read(lambda connection: connection.execute(sql, values).fetchall())


@dataclass
class SyncWorld:
    """The store and its devices."""

    folder: Path
    store: InMemoryStore
    clock: Clock
    stack: AsyncExitStack

    async def device(self, name: str, *, cache: str | None = None) -> SyncDevice:
        """A device; a second call with the same `cache` is a restarted process."""
        database = await self.stack.enter_async_context(open_database(self.folder / f"{cache or name}.db"))
        storage = InMemoryStorage(self.store)
        engine = SyncEngine(database, storage, Device(f"id-{name}", name, "1.0"), now=self.clock)
        device = SyncDevice(name, database, storage, engine)
        storage.intercept = device.intercept
        return device

    def files(self, prefix: str = "memories/") -> dict[str, bytes]:
        return {path: data for path, data in self.store.files().items() if path.startswith(prefix)}


@asynccontextmanager
async def world(folder: Path, **traits: Any) -> AsyncIterator[SyncWorld]:
    """An empty store, a clock that stands still, no devices yet."""
    clock = Clock()
    store = InMemoryStore(clock=lambda: clock().timestamp(), **traits)
    async with AsyncExitStack() as stack:
        yield SyncWorld(folder, store, clock, stack)


async def in_step(*devices: SyncDevice) -> None:
    """Rounds of all devices until nobody has anything to do."""
    for _ in range(4):
        for device in devices:
            await device.round()
