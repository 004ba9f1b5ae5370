"""Sync rounds over a real directory that people and sync clients write into: slower than the simulation, and real."""

import random
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from daemon.engine import SyncEngine
from daemon.errors import StorageEmptied
from daemon.round_context import Device
from memory_cache import files, text_format
from memory_cache.database import Database, open_database
from storage_backends.errors import Unreachable
from storage_backends.folder import FolderStorage
from tests.daemon.sync_world import memory, path_of
from tests.simulation.book import Book, marks_of


@asynccontextmanager
async def devices(tmp_path: Path, count: int) -> AsyncIterator[tuple[Path, list[tuple[Database, SyncEngine]]]]:
    root = tmp_path / "store"
    root.mkdir()
    async with AsyncExitStack() as stack:
        made = []
        for number in range(count):
            database = await stack.enter_async_context(open_database(tmp_path / f"{number}.db"))
            backend = await stack.enter_async_context(FolderStorage(root))
            made.append((database, SyncEngine(database, backend, Device(f"d{number}", f"d{number}"), now=ahead)))
        yield root, made


def ahead() -> datetime:
    """Later than any file's time: hand-written files are quiet at once."""
    return datetime.now(UTC) + timedelta(seconds=5)


async def texts(database: Database) -> dict[str, bytes]:
    rows = await database.read(
        lambda c: c.execute("SELECT path, content FROM files WHERE content IS NOT NULL").fetchall()
    )
    return {row["path"]: row["content"] for row in rows}


def on_disk(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


async def put(database: Database, path: str, data: bytes) -> None:
    def write(connection):  # type: ignore[no-untyped-def]
        known = files.by_path(connection, path)
        return files.write(connection, known.file_id, data) if known else files.add(connection, path, data)

    await database.write(write)


@pytest.mark.parametrize("seed", range(6))
async def test_devices_and_people_on_one_folder_end_with_the_same_and_lose_nothing(tmp_path: Path, seed: int) -> None:
    chance, book = random.Random(seed), Book()
    async with devices(tmp_path, 2) as (root, made):
        for _ in range(40):
            database, engine = chance.choice(made)
            number = chance.randrange(4)
            path = path_of(number)
            line = f"{book.new_mark()} text"
            match chance.choice(("tool", "tool", "hand", "new", "round", "round", "rename")):
                case "tool":
                    known = (await texts(database)).get(path)
                    body = text_format.read(known).body if known else "# title"
                    data = memory(f"{body}\n{line}", number=number, minutes=chance.randrange(50))
                    await put(database, path, data)
                    book.save("tool", [known], data)
                case "hand" if (root / path).exists():
                    before = (root / path).read_bytes()
                    after = before + f"{line}\n".encode()
                    (root / path).write_bytes(after)
                    book.save("hand", [before], after)
                case "new":
                    (root / "memories").mkdir(exist_ok=True)
                    (root / f"memories/{seed}-{chance.randrange(10**6)}.md").write_text(line)
                    book.save("hand", [], line.encode())
                case "rename" if (root / path).exists():
                    (root / path).rename(root / "memories" / f"moved-{chance.randrange(10**6)}.md")
                case "round":
                    await engine.round()
        for _ in range(5):
            for _, engine in made:
                report = await engine.round(full=True)
                assert report.errors == []
        found = on_disk(root)
        assert await texts(made[0][0]) == await texts(made[1][0]) == found
        assert book.missing(found) == {}
        assert all(text_format.read(data).id for path, data in found.items() if path.startswith("memories/"))


async def test_a_folder_that_vanishes_or_is_suddenly_empty_deletes_and_writes_nothing(tmp_path: Path) -> None:
    async with devices(tmp_path, 1) as (root, [(database, engine)]):
        for number in range(3):
            await put(database, path_of(number), memory("x", number=number))
        await engine.round()
        root.rename(tmp_path / "away")
        with pytest.raises(Unreachable):
            await engine.round()
        root.mkdir()
        with pytest.raises((Unreachable, StorageEmptied)):
            await engine.round()
        assert list(root.iterdir()) == []
        root.rmdir()
        (tmp_path / "away").rename(root)
        report = await engine.round()
        assert (report.deleted, report.conflicts, report.pending) == (0, 0, 0)
        assert len(await texts(database)) == 4
        assert marks_of(*on_disk(root).values()) == set()


async def test_a_folder_brought_back_from_a_backup_goes_on_and_loses_nothing(tmp_path: Path) -> None:
    async with devices(tmp_path, 1) as (root, [(database, engine)]):
        for number in range(3):
            await put(database, path_of(number), memory("x", number=number))
        await engine.round()
        shutil.copytree(root, tmp_path / "backup")
        await put(database, path_of(9), memory("y", number=9))
        await engine.round()
        before = await texts(database)
        shutil.rmtree(root)
        (tmp_path / "backup").rename(root)
        for _ in range(4):
            await engine.round()
        trashed = await database.read(lambda c: [row[0] for row in c.execute("SELECT content FROM trash")])
        assert set(before.values()) - {*(await texts(database)).values(), *trashed} == set()


async def test_an_idle_folder_costs_one_look(tmp_path: Path) -> None:
    async with devices(tmp_path, 1) as (_, [(database, engine)]):
        await put(database, path_of(1), memory("x"))
        await engine.round()
        await engine.round()
        assert (await engine.round()).requests == 1
