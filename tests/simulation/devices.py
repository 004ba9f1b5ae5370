"""One device: a real cache (SQLite in memory), the real engine, a clock that may be wrong."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache
from typing import TypeVar

from daemon.engine import SyncEngine
from daemon.errors import StorageEmptied
from daemon.round_context import Device
from daemon.round_report import RoundReport
from memory_cache import conflicts, files
from memory_cache import database as cache_database
from memory_cache.database import transaction
from memory_cache.paths import conflict_copy_of
from storage_backends.errors import StorageError
from tests.simulation.book import Book, id_of, marks_of
from tests.simulation.fate import Fate, Killed, Life, Violation, leaves
from tests.simulation.stores import SimulatedStorage, SimulatedStore, Weather

T = TypeVar("T")


@cache
def _empty_cache() -> bytes:
    connection = _connect()
    cache_database.migrate(connection)
    image = connection.serialize()
    connection.close()
    return image


def _connect() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def opened(image: bytes | None = None) -> sqlite3.Connection:
    """A cache, empty or as it was saved."""
    connection = _connect()
    connection.deserialize(image if image is not None else _empty_cache())
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


class SimulatedDatabase:
    """`memory_cache.database.Database` on one connection and one thread: the order of everything is the seed's."""

    def __init__(self, connection: sqlite3.Connection, life: Life, changed: Callable[[], None]) -> None:
        self.connection = connection
        self.life = life
        self.changed = changed

    async def write(self, function: Callable[[sqlite3.Connection], T]) -> T:
        await self.life.wait("write")
        with transaction(self.connection):
            result = function(self.connection)
        self.changed()
        await self.life.wait("written")
        return result

    async def read(self, function: Callable[[sqlite3.Connection], T]) -> T:
        await self.life.wait("read")
        return function(self.connection)

    async def data_version(self) -> int:
        await self.life.wait("read")
        return self.connection.total_changes


@dataclass
class SimulatedDevice:
    """A device; its cache survives its processes."""

    name: str
    fate: Fate
    book: Book
    store: SimulatedStore
    weather: Weather = field(default_factory=Weather)
    ahead: timedelta = timedelta()
    connection: sqlite3.Connection = field(default_factory=opened)
    saved: bytes | None = None
    deleted_by_user: set[str | bytes | None] = field(default_factory=set)  # paths, and bases whatever path they get
    number: int = 0
    bound: dict[int, str] = field(default_factory=dict)
    engine: SyncEngine | None = None
    life: Life | None = None

    def now(self) -> datetime:
        """The time by this device's clock."""
        return self.fate.time() + self.ahead

    def start(self) -> SyncEngine:
        """The engine of the running process; a new process when there is none."""
        if self.engine is None or self.life is None or self.life.dead:
            pause = self.life.paused_until if self.life is not None else 0.0
            self.life = Life(self.fate, self.name, paused_until=pause)
            storage = SimulatedStorage(self.store, self.life, self.weather, self._may_delete, self._may_create)
            database = SimulatedDatabase(self.connection, self.life, self._check_drops)
            me = Device(f"{self.name.rstrip(chr(39))}-{self.number}", self.name, "1")
            self.engine = SyncEngine(database, storage, me, now=self.now)  # type: ignore[arg-type]
        return self.engine

    async def round(
        self, *, dies_at: int | None = None, full: bool = False, confirm: bool = False
    ) -> RoundReport | str:
        """One sync round; what it reports, or the name of what ended it."""
        engine = self.start()
        if self.life is not None and self.fate.elapsed < self.life.paused_until:
            return "Throttled"
        if self.life is not None and dies_at is not None:
            self.life.dies_at = self.life.waits + dies_at
        before = self.counted_files()
        try:
            report = await engine.round(full=full, confirm_deletes=confirm)
        except (StorageError, StorageEmptied) as error:
            self.fate.note(f"{self.name} round: {error.title}")
            return type(error).__name__
        except (Killed, BaseExceptionGroup) as death:
            others = [leaf for leaf in leaves(death) if not isinstance(leaf, Killed)]
            if others:
                raise others[0] from death
            self.engine = None
            return "Killed"
        self._check_brake(before, report, confirm=confirm)
        self.fate.note(f"{self.name} round: {report}")
        return report

    def twin(self) -> "SimulatedDevice":
        """A second process on the same cache: somebody syncs by hand while the daemon does."""
        twin = replace(self, name=f"{self.name}'", engine=None, life=None)
        twin.deleted_by_user = self.deleted_by_user
        return twin

    def counted_files(self) -> int:
        """Memories bound to the storage."""
        query = "SELECT count(*) FROM files WHERE item_id IS NOT NULL AND kind = 'memory'"
        return int(self.connection.execute(query).fetchone()[0])

    def _check_brake(self, before: int, report: RoundReport, *, confirm: bool) -> None:
        if not confirm and report.deleted > 10 and report.deleted * 4 > before + report.downloaded + report.uploaded:
            raise Violation(f"{self.name} deleted {report.deleted} of {before} files without the user's word")

    def _check_drops(self) -> None:
        """A file is dropped here only when the storage has dropped it."""
        rows = self.connection.execute("SELECT file_id, item_id FROM files WHERE item_id IS NOT NULL")
        bound = {row["file_id"]: row["item_id"] for row in rows}
        for file_id in self.bound.keys() - bound.keys() - self.unbound():
            item_id = self.bound[file_id]
            if item_id in self.store.ids() and item_id not in self.store.removed:
                raise Violation(f"I4: {self.name} drops {item_id}, which the storage still has")
        self.bound = bound

    def unbound(self) -> set[int]:
        """Files that are here and count as new."""
        return {row["file_id"] for row in self.connection.execute("SELECT file_id FROM files WHERE item_id IS NULL")}

    def lose_cache(self, image: bytes | None) -> None:
        """The cache is gone, or replaced by an earlier state of it; what only it held is destroyed."""
        held: set[bytes] = set()
        for row in self.connection.execute("SELECT * FROM files WHERE content IS NOT NULL"):
            record = files.record_of(row)
            held |= marks_of(record.content) - marks_of(record.base)
        self.book.destroyed(f"cache of {self.name}", held)
        self.connection.close()
        self.connection = opened(image)
        self.engine = None
        self.bound = {}
        self.book.gone.clear()
        self.deleted_by_user.clear()
        if self.weather.root == "empty":
            self.weather.root = "gone"  # a device that knows nothing cannot tell an empty mount point from a new store
        if image is None:
            self.number += 1
        for row in self.connection.execute("SELECT * FROM files WHERE content IS NULL"):
            self.deleted_by_user |= {row["path"], row["base_content"]}

    def texts(self) -> dict[str, bytes]:
        """The live files."""
        rows = self.connection.execute("SELECT path, content FROM files WHERE content IS NOT NULL ORDER BY path")
        return {row["path"]: row["content"] for row in rows}

    def do(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """A tool of this device writes: its own transaction."""
        with transaction(self.connection):
            return function(self.connection)

    def _may_delete(self, item_id: str, version: str) -> None:
        """I4 and I8: a delete removes what this device has seen, and only what its user, or a merge, took away."""
        row = self.connection.execute("SELECT * FROM files WHERE item_id = ?", (item_id,)).fetchone()
        try:
            entry = self.store.entry_of(item_id)
        except StorageError:
            return
        if entry.item.version != version:
            return
        if row is None or files.record_of(row).base != entry.data:
            raise Violation(f"I4: {self.name} deletes a version of {entry.item.path} that it has not seen")
        if row["content"] is not None:
            raise Violation(f"I8: {self.name} deletes {entry.item.path}, which lives here")
        if not {row["path"], entry.data} & self.deleted_by_user and not self._lives_elsewhere(row["path"], entry.data):
            raise Violation(f"I8: {self.name} deletes {entry.item.path}, which nobody deleted here")

    def _lives_elsewhere(self, path: str, data: bytes) -> bool:
        """Whether this is a copy that was taken into a file which carries the same id; that one may be gone by now."""
        alive = marks_of(*self.texts().values())
        if conflict_copy_of(path) is not None and marks_of(data) <= self.book.retired.keys() | alive:
            return True  # what lost against the original may have been settled in this very round
        wanted = id_of(data)
        return wanted in self.deleted_by_user or any(id_of(other) == wanted for other in self.texts().values())

    def _may_create(self, path: str, data: bytes) -> None:
        """I5: an open conflict holds a version that differs from what it lost against and from where both came from."""
        if not path.startswith("conflicts/"):
            return
        note = conflicts.decode(data)
        if note.base == note.theirs:
            raise Violation(f"I5: {path} keeps a version that nobody changed")
        live = [text for other, text in self.texts().items() if other == note.path]
        if live and live[0] == note.theirs and not self._newer(note.path):
            raise Violation(f"I5: {path} keeps the very version that stands")

    def _newer(self, path: str) -> bool:
        """Whether the user changed the file since (for instance back to what had lost)."""
        return path in self.deleted_by_user
