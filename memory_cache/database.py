"""The SQLite file: how it is opened, migrated, and how a transaction runs.

Every write is one function in one `BEGIN IMMEDIATE … COMMIT`, run whole on the connection's own thread:
a cancelled caller cannot leave a transaction open, and two processes queue up instead of failing.
"""

import os
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import TypeVar

import aiosqlite
import anyio

from memory_cache.errors import CacheDamaged, CacheUnusable, InvalidInput

T = TypeVar("T")

BUSY_TIMEOUT_SECONDS = 30.0
_PRAGMAS = (
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA journal_size_limit = 16777216",
)
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_ORPHAN = "rescued-"
_PERMISSIONS = "Check the permissions of the cache file and its folder."
_REBUILT = "It is rebuilt at the next start; nothing in the storage is lost."
_EXPLAINED = {
    sqlite3.SQLITE_FULL: ("The disk is full.", "Free some space and repeat; nothing was half-written."),
    sqlite3.SQLITE_BUSY: ("Another process holds the cache.", "Repeat; `claude-memory doctor` names who holds it."),
    sqlite3.SQLITE_READONLY: ("The cache cannot be written.", _PERMISSIONS),
    sqlite3.SQLITE_PERM: ("The cache cannot be accessed.", _PERMISSIONS),
    sqlite3.SQLITE_CANTOPEN: ("The cache cannot be opened.", "Check that its folder exists and can be written."),
    sqlite3.SQLITE_IOERR: ("The disk reported an error.", "Check the disk; the cache can be rebuilt from the storage."),
    sqlite3.SQLITE_CORRUPT: ("The cache is damaged.", _REBUILT),
    sqlite3.SQLITE_NOTADB: ("The cache is damaged.", _REBUILT),
}


def connect(path: Path) -> sqlite3.Connection:
    """A connection with this project's pragmas, in autocommit mode, usable from any one thread at a time.

    Raises: CacheUnusable when the file cannot be opened; CacheDamaged when it is no SQLite file.
    """
    with explained(path):
        connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        try:
            _use_write_ahead_log(connection)
            for pragma in _PRAGMAS:
                connection.execute(pragma)
        except BaseException:
            connection.close()
            raise
    return connection


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    # The first switch of a new file needs it alone, and SQLite does not wait for that by itself.
    deadline = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """`BEGIN IMMEDIATE` … `COMMIT`, or `ROLLBACK` when the block or the commit fails."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        # A full disk has SQLite roll back by itself; a second ROLLBACK would hide the cause.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def schema_version() -> int:
    """The number of the newest migration that this program knows."""
    return max(number for number, _ in _migrations())


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the schema up to date; safe when several processes do it at once.

    An older cache is derived anew from the bytes of its files: a new table knows nothing of what is there already.

    Raises: CacheUnusable when the file was written by a newer version of this program.
    """
    migrations = _migrations()
    newest = migrations[-1][0]
    if _user_version(connection) == newest:
        return
    with transaction(connection):
        current = _user_version(connection)
        if current > newest:
            raise CacheUnusable(
                f"The cache has schema {current}, this program knows {newest}.",
                "Update claude-onedrive-memory on this machine; the cache is left as it is.",
            )
        for number, script in migrations:
            if number > current:
                for statement in _statements(script):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number:d}")
        if 0 < current < newest:
            from memory_cache import indexing  # only here: every process opens a cache, few meet an old one

            indexing.rebuild(connection)


def _user_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _migrations() -> list[tuple[int, str]]:
    folder = resources.files("memory_cache") / "migrations"
    scripts = [entry for entry in folder.iterdir() if entry.name.endswith(".sql")]
    return sorted((int(entry.name[:4]), entry.read_text("utf-8")) for entry in scripts)


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if any(line.strip() and not line.lstrip().startswith("--") for line in statement.splitlines()):
        raise ValueError("A migration ends in the middle of a statement.")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what SQLite says about the file itself (full, locked, damaged …) into this room's errors."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code not in _EXPLAINED:
            raise
        message, hint = _EXPLAINED[code]
        kind = CacheDamaged if code in _DAMAGED else CacheUnusable
        raise kind(f"{message} ({error}) File: {path}.", hint) from error


class Connection(aiosqlite.Connection):
    """An aiosqlite connection that runs a whole function in one hop on its thread."""

    def __init__(self, connector: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(connector, iter_chunk_size=64)
        # A process that forgets to close, or dies of an exception, must still be able to exit.
        # SQLite survives a thread that ends anywhere: what was not committed never was.
        self._thread.daemon = True

    async def run(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Run `function`, shielded from cancellation: what it began, it ends.

        A native `Task.cancel` still ends the waiting, never the function: its outcome is then unknown to the caller.
        """
        with anyio.CancelScope(shield=True):
            result: T = await self._execute(function, self._conn)  # type: ignore[no-untyped-call]
        return result

    async def __aenter__(self) -> "Connection":
        # Cancelled while opening, aiosqlite would lose the handle that its thread is about to make.
        with anyio.CancelScope(shield=True):
            try:
                await self
            except BaseException:
                await self._ended()
                raise
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        with anyio.CancelScope(shield=True):
            try:
                await self.close()
            finally:
                await self._ended()

    async def _ended(self) -> None:
        # The thread reports to the event loop until its end: a loop closed before that would make it fail aloud.
        while self._thread.is_alive():  # noqa: ASYNC110 - a thread's end sets no event
            await anyio.sleep(0.002)


class Database:
    """One writing and one reading connection to the cache of this device."""

    def __init__(self, path: Path, writer: Connection, reader: Connection) -> None:
        self.path = path
        self._writer = writer
        self._reader = reader
        self._identity = _identity(path)

    async def write(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Run `function` in one immediate transaction.

        Raises: CacheUnusable; InvalidInput for text that no database can hold; what `function` raises.
        """

        def run(connection: sqlite3.Connection) -> T:
            with transaction(connection):
                self._refuse_when_replaced()
                return function(connection)

        with self._watched():
            return await self._writer.run(run)

    async def read(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Run `function` in one read transaction: it sees one state of the cache. Raises as `write` does."""

        def run(connection: sqlite3.Connection) -> T:
            connection.execute("BEGIN")
            try:
                return function(connection)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

        with self._watched():
            return await self._reader.run(run)

    async def data_version(self) -> int:
        """A number that changes when another connection commits; cheap enough to poll. Raises as `write` does."""
        self._refuse_when_replaced()
        with self._watched():
            return await self._reader.run(lambda c: int(c.execute("PRAGMA data_version").fetchone()[0]))

    async def tidy(self) -> None:
        """Shrink the write-ahead log and refresh the planner's statistics; for a quiet moment of the daemon."""

        def run(connection: sqlite3.Connection) -> None:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("PRAGMA optimize")

        with self._watched():
            await self._writer.run(run)

    async def hand_on(self) -> None:
        """Before the end: when the file was removed or replaced, leave a copy of what only this process can read."""
        if _identity(self.path) != self._identity and self.path.parent.is_dir():
            with suppress(OSError, sqlite3.Error):
                await self._reader.run(lambda connection: _copy(connection, self.path.parent))

    def _refuse_when_replaced(self) -> None:
        # SQLite would go on writing into a file that no other process can see, and that is gone at the end.
        if _identity(self.path) != self._identity:
            raise CacheDamaged(f"The cache {self.path} was removed or replaced while in use.", "Start again.")

    @contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            with explained(self.path):
                yield
        except UnicodeEncodeError:
            raise InvalidInput("The text holds broken characters (lone surrogates).", "Leave them out.") from None
        except CacheDamaged:
            with suppress(OSError):
                suspect_mark(self.path).touch()
            raise


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def _copy(connection: sqlite3.Connection, folder: Path) -> None:
    path = folder / f"{_ORPHAN}{time.time_ns()}-{os.getpid()}.sqlite3"
    unfinished = path.with_suffix(".part")
    os.close(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600))
    copy = sqlite3.connect(unfinished)
    try:
        connection.backup(copy)
    finally:
        copy.close()
    unfinished.replace(path)


def orphans_of(path: Path) -> list[Path]:
    """What those left who worked with a cache when its file was removed; the next opening takes them over.

    Their names do not begin like the cache's: whoever removes `cache.sqlite3*` does not mean them.
    """
    return sorted(path.parent.glob(f"{_ORPHAN}*.sqlite3"))


def suspect_mark(path: Path) -> Path:
    """The empty file beside the cache that says: damage was met, examine it at the next opening."""
    return path.with_name(path.name + ".suspect")


@asynccontextmanager
async def open_database(path: Path) -> AsyncIterator[Database]:
    """The database at `path`, migrated. Raises: CacheUnusable."""
    async with Connection(lambda: connect_migrated(path)) as writer, Connection(lambda: connect(path)) as reader:
        opened = Database(path, writer, reader)
        try:
            yield opened
        finally:
            with anyio.CancelScope(shield=True):
                await opened.hand_on()


def connect_migrated(path: Path) -> sqlite3.Connection:
    """A connection to the migrated database at `path`, for code that has no event loop. Raises: CacheUnusable."""
    connection = connect(path)
    try:
        with explained(path):
            migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection
