"""What the SQLite layer guarantees: whole transactions, no lock left behind, clear refusals."""

import asyncio
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from memory_cache import database
from memory_cache.database import connect, connect_migrated, open_database, suspect_mark, transaction
from memory_cache.errors import CacheDamaged, CacheUnusable

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache.db"


def put(key: str, value: str = "x"):
    return lambda c: c.execute("INSERT INTO meta VALUES (?, ?)", (key, value))


def keys(c: sqlite3.Connection) -> list[str]:
    return [row[0] for row in c.execute("SELECT key FROM meta ORDER BY key")]


async def test_a_written_value_is_read_back_by_the_reading_connection(path: Path) -> None:
    async with open_database(path) as db:
        await db.write(put("a"))
        assert await db.read(keys) == ["a"]


async def test_a_failing_function_leaves_nothing_behind(path: Path) -> None:
    def half(c: sqlite3.Connection) -> None:
        put("a")(c)
        raise RuntimeError("stop")

    async with open_database(path) as db:
        with pytest.raises(RuntimeError, match="stop"):
            await db.write(half)
        await db.write(put("b"))
        assert await db.read(keys) == ["b"]


async def test_a_cancelled_writer_leaves_no_open_transaction_and_others_can_write(path: Path) -> None:
    started, release = threading.Event(), threading.Event()

    def slow(c: sqlite3.Connection) -> None:
        put("slow")(c)
        started.set()
        release.wait(10)

    async with open_database(path) as db:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(db.write, slow)
            await anyio.to_thread.run_sync(started.wait)
            tasks.cancel_scope.cancel()
            release.set()
        with connect(path) as other, transaction(other):
            other.execute("INSERT INTO meta VALUES ('other', 'x')")
        other.close()
        assert await db.read(keys) == ["other", "slow"]


async def test_closing_under_cancellation_closes_and_keeps_what_was_written(path: Path) -> None:
    with anyio.CancelScope() as scope:
        async with open_database(path) as db:
            await db.write(put("a"))
            scope.cancel()
            await anyio.lowlevel.checkpoint()
    assert not path.with_name("cache.db-wal").exists(), "a closed database leaves no write-ahead log"
    async with open_database(path) as db:
        assert await db.read(keys) == ["a"]


async def test_a_task_cancelled_by_asyncio_itself_leaves_no_open_transaction(path: Path) -> None:
    started, release = threading.Event(), threading.Event()

    def slow(c: sqlite3.Connection) -> None:
        put("slow")(c)
        started.set()
        release.wait(10)

    async def use() -> None:
        async with open_database(path) as db:
            await db.write(slow)

    task = asyncio.get_running_loop().create_task(use())
    await anyio.to_thread.run_sync(started.wait)
    task.cancel()
    await anyio.lowlevel.checkpoint()
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    with connect(path) as other, transaction(other):
        put("other")(other)
    other.close()
    async with open_database(path) as db:
        assert await db.read(keys) == ["other", "slow"]


async def test_a_cancelled_opening_leaves_no_thread(path: Path) -> None:
    before = set(threading.enumerate())
    with anyio.CancelScope() as scope:
        scope.cancel()
        async with open_database(path):
            await anyio.lowlevel.checkpoint()
    assert [t for t in threading.enumerate() if t not in before and t.name.startswith("Thread-")] == []


def test_a_process_that_never_closes_still_exits(path: Path) -> None:
    script = f"""
        import asyncio, pathlib
        from memory_cache.database import open_database
        async def main():
            manager = open_database(pathlib.Path({str(path)!r}))
            global db
            db = await manager.__aenter__()
            await db.write(lambda c: c.execute("INSERT INTO meta VALUES ('a', 'x')"))
        loop = asyncio.new_event_loop()
        loop.run_until_complete(main())
    """
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)], timeout=30, capture_output=True, check=False
    )
    assert result.returncode == 0, result.stderr.decode()
    connection = connect(path)
    assert keys(connection) == ["a"]
    connection.close()


async def test_a_reader_sees_one_state_while_another_process_writes(path: Path) -> None:
    def twice(c: sqlite3.Connection) -> tuple[int, int]:
        first = len(keys(c))
        other = connect(path)
        with transaction(other):
            put("b")(other)
        other.close()
        return first, len(keys(c))

    async with open_database(path) as db:
        await db.write(put("a"))
        assert await db.read(twice) == (1, 1)
        assert len(await db.read(keys)) == 2


async def test_data_version_tells_of_commits_by_others(path: Path) -> None:
    async with open_database(path) as db:
        before = await db.data_version()
        assert await db.data_version() == before
        await db.write(put("a"))
        assert await db.data_version() != before


def _open_and_write(path: str, barrier: object, number: int) -> None:
    barrier.wait()  # type: ignore[attr-defined]
    connection = connect_migrated(Path(path))
    for i in range(20):
        with transaction(connection):
            connection.execute("SELECT count(*) FROM meta").fetchone()
            put(f"{number}-{i}")(connection)
    connection.close()


def test_processes_that_open_a_new_cache_at_once_all_succeed(path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(4)
    workers = [context.Process(target=_open_and_write, args=(str(path), barrier, n)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0, 0]
    connection = connect(path)
    assert len(keys(connection)) == 80
    connection.close()


async def test_a_newer_schema_is_refused_and_left_as_it_is(path: Path) -> None:
    connection = connect_migrated(path)
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    with pytest.raises(CacheUnusable, match="999"):
        async with open_database(path):
            pass
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone()[0] == 999
    connection.close()


def test_a_migration_that_fails_leaves_the_old_schema(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect_migrated(path).close()
    known = database._migrations()
    broken = (known[-1][0] + 1, "CREATE TABLE extra (a);\nINSERT INTO nowhere VALUES (1);\n")
    monkeypatch.setattr(database, "_migrations", lambda: [*known, broken])
    with pytest.raises(sqlite3.OperationalError):
        connect_migrated(path)
    monkeypatch.undo()
    connection = connect_migrated(path)
    assert connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'extra'").fetchone()[0] == 0
    connection.close()


def test_an_unfinished_statement_in_a_migration_is_noticed() -> None:
    assert list(database._statements("CREATE TABLE a (b);\n-- end\n")) == ["CREATE TABLE a (b);\n"]
    with pytest.raises(ValueError, match="middle"):
        list(database._statements("CREATE TABLE a (b)\n"))


async def test_garbage_instead_of_a_database_is_named_as_damage(path: Path) -> None:
    path.write_bytes(b"this is not a database, " * 200)
    with pytest.raises(CacheDamaged):
        async with open_database(path):
            pass


async def test_damage_met_while_working_is_marked_for_the_next_opening(path: Path) -> None:
    def damaged(c: sqlite3.Connection) -> None:
        error = sqlite3.DatabaseError("database disk image is malformed")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error

    async with open_database(path) as db:
        with pytest.raises(CacheDamaged, match="malformed"):
            await db.read(damaged)
    assert suspect_mark(path).exists()


@pytest.mark.skipif(os.name == "nt", reason="RLIMIT_FSIZE")
def test_a_full_disk_is_a_clear_error_and_earlier_writes_stay(path: Path) -> None:
    # A file-size limit is this machine's cheapest full disk; it needs its own process.
    script = f"""
        import asyncio, pathlib, resource, signal
        from memory_cache.database import open_database
        from memory_cache.errors import CacheUnusable
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        async def main():
            async with open_database(pathlib.Path({str(path)!r})) as db:
                await db.write(lambda c: c.execute("INSERT INTO meta VALUES ('a', 'x')"))
                await db.tidy()
                resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
                try:
                    await db.write(lambda c: c.execute("INSERT INTO meta VALUES ('b', ?)", ("y" * 3_000_000,)))
                except CacheUnusable as error:
                    print(error.hint)
                resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                await db.write(lambda c: c.execute("INSERT INTO meta VALUES ('c', 'z')"))
        asyncio.run(main())
    """
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], timeout=30, capture_output=True, check=False, text=True
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()
    connection = connect(path)
    assert keys(connection) == ["a", "c"]
    connection.close()
