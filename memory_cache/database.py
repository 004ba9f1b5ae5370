"""The SQLite file: how it is opened, migrated, and how a transaction runs.

Every write is one function in one `BEGIN IMMEDIATE … COMMIT`, run whole on the connection's own thread:
a cancelled caller cannot leave a transaction open, and two processes queue up instead of failing.
"""

import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from importlib import resources
from pathlib import Path
from typing import TypeVar

import aiosqlite
import anyio

from memory_cache.errors import CacheUnusable

T = TypeVar("T")

BUSY_TIMEOUT_SECONDS = 30.0
_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA journal_size_limit = 16777216",
)


def connect(path: Path) -> sqlite3.Connection:
    """A connection with this project's pragmas, in autocommit mode, usable from any one thread at a time.

    Raises: CacheUnusable when the file cannot be opened or is no SQLite file.
    """
    try:
        connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_SECONDS, isolation_level=None, check_same_thread=False)
    except sqlite3.Error as error:
        raise CacheUnusable(f"The cache {path} cannot be opened: {error}.") from error
    connection.row_factory = sqlite3.Row
    try:
        for pragma in _PRAGMAS:
            connection.execute(pragma)
    except sqlite3.Error as error:
        connection.close()
        raise CacheUnusable(f"The cache {path} cannot be used: {error}.") from error
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """`BEGIN IMMEDIATE` … `COMMIT`, or `ROLLBACK` when the block raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def schema_version() -> int:
    """The number of the newest migration that this program knows."""
    return max(number for number, _ in _migrations())


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the schema up to date; safe when several processes do it at once.

    Raises: CacheUnusable when the file was written by a newer version of this program.
    """
    newest = schema_version()
    if _user_version(connection) == newest:
        return
    with transaction(connection):
        current = _user_version(connection)
        if current > newest:
            raise CacheUnusable(
                f"The cache has schema {current}, this program knows {newest}.",
                "Update claude-onedrive-memory on this machine; the cache is left as it is.",
            )
        for number, script in _migrations():
            if number > current:
                for statement in _statements(script):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number:d}")


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


class Connection(aiosqlite.Connection):
    """An aiosqlite connection that runs a whole function in one hop on its thread."""

    async def run(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Run `function`, shielded from cancellation: what it began, it ends."""
        with anyio.CancelScope(shield=True):
            result: T = await self._execute(function, self._conn)
            return result


class Database:
    """One writing and one reading connection to the cache of this device."""

    def __init__(self, writer: Connection, reader: Connection) -> None:
        self._writer = writer
        self._reader = reader

    async def write(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Run `function` in one immediate transaction."""

        def run(connection: sqlite3.Connection) -> T:
            with transaction(connection):
                return function(connection)

        return await self._writer.run(run)

    async def read(self, function: Callable[[sqlite3.Connection], T]) -> T:
        """Run `function` in one read transaction: it sees one state of the cache."""

        def run(connection: sqlite3.Connection) -> T:
            connection.execute("BEGIN")
            try:
                return function(connection)
            finally:
                connection.execute("ROLLBACK")

        return await self._reader.run(run)

    async def data_version(self) -> int:
        """A number that changes when another connection commits; cheap enough to poll."""
        return await self._reader.run(lambda c: int(c.execute("PRAGMA data_version").fetchone()[0]))


@asynccontextmanager
async def open_database(path: Path) -> AsyncIterator[Database]:
    """The database at `path`, migrated. Raises: CacheUnusable."""
    async with (
        Connection(lambda: _connect_migrated(path), iter_chunk_size=64) as writer,
        Connection(lambda: connect(path), iter_chunk_size=64) as reader,
    ):
        yield Database(writer, reader)


def _connect_migrated(path: Path) -> sqlite3.Connection:
    connection = connect(path)
    try:
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection
