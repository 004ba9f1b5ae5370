"""Opening the cache: damaged, deleted, truncated, newer or misplaced, it ends in service or in a clear refusal."""

import os
import sqlite3
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from memory_cache import files, meta, opening, remote_tree, salvage, trash
from memory_cache.database import connect_migrated, orphans_of, suspect_mark, transaction
from memory_cache.errors import CacheDamaged, CacheUnusable
from memory_cache.home import Home
from memory_cache.opening import open_home
from memory_cache.paths import conflict_copy_of
from memory_cache.revisions import Cause

from .store import memory_file

pytestmark = pytest.mark.anyio


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def fill(home: Home, count: int = 60) -> None:
    """`count` memories in step with a storage, then one edited, one new, one deleted, one in the trash."""
    home.ensure()
    connection = connect_migrated(home.cache_file)
    with transaction(connection):
        remote_tree.enter_scope(connection, "store")
        meta.put(connection, "device.id", "this-device")
        for number in range(count):
            name = f"id{number:06}"
            body = f"Body {number} " + "words " * 300
            files.take_remote(
                connection,
                item_id=f"item{number}",
                path=f"memories/task/{name}.md",
                version="v",
                data=memory_file(name, body),
                file_id=None,
            )
        files.write(connection, 1, memory_file("id000000", "Edited here"))
        trash.move_in(connection, 2, Cause("forget"))
        files.add(connection, "memories/task/new.md", memory_file("newnew00", "Never uploaded"))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def damage(path: Path) -> None:
    """Overwrite every third page behind those of the schema, as a dying disk would."""
    data = bytearray(path.read_bytes())
    for page in range(80, len(data) // 4096, 3):
        data[page * 4096 : (page + 1) * 4096] = os.urandom(4096)
    path.write_bytes(data)


def bodies(connection: sqlite3.Connection) -> set[str]:
    return {row[0].split(" words")[0] for row in connection.execute("SELECT body FROM memories")}


async def test_a_damaged_cache_is_set_aside_and_its_whole_rows_go_on(home: Home) -> None:
    fill(home)
    damage(home.cache_file)
    suspect_mark(home.cache_file).touch()
    async with open_home(home) as db:
        found = await db.read(bodies)
        notice = await db.read(salvage.notice)
        scope = await db.read(remote_tree.position)
        dead = await db.read(lambda c: c.execute("SELECT count(*) FROM files WHERE content IS NULL").fetchone()[0])
        assert (await db.read(lambda c: c.execute("PRAGMA quick_check").fetchone()[0])) == "ok"
    assert 10 < len(found) < 61
    assert all(body in {"Edited here", "Never uploaded"} or body.startswith("Body ") for body in found)
    assert dead == 0, "a deletion that the storage has not seen is not taken over"
    assert (scope.cursor, scope.enumerated) == (None, False), "the storage is enumerated anew"
    assert "damaged" in notice
    assert len(list(home.root.glob("cache.sqlite3.damaged-*"))) == 1
    assert not suspect_mark(home.cache_file).exists()


async def test_garbage_in_place_of_the_cache_ends_in_an_empty_one_and_is_kept(home: Home) -> None:
    home.ensure()
    home.cache_file.write_bytes(b"not a database " * 1000)
    async with open_home(home) as db:
        assert await db.read(bodies) == set()
    (kept,) = home.root.glob("cache.sqlite3.damaged-*")
    assert kept.read_bytes().startswith(b"not a database")


async def test_rows_never_uploaded_survive_a_damaged_index(home: Home) -> None:
    fill(home, count=5)
    connection = sqlite3.connect(home.cache_file)
    page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'memories_updated'").fetchone()[0]
    connection.close()
    data = bytearray(home.cache_file.read_bytes())
    data[(page - 1) * 4096 : page * 4096] = b"\x00" * 4096
    home.cache_file.write_bytes(data)
    async with open_home(home, examine=True) as db:
        assert {"Edited here", "Never uploaded"} <= await db.read(bodies)
        edited = await db.read(lambda c: files.by_item(c, "item0"))
        kept = await db.read(lambda c: trash.listed(c, 10)[0])
        device = await db.read(lambda c: meta.get(c, "device.id"))
    assert edited is not None
    assert edited.changed_here, "the base is taken over, so the edit is merged and not doubled"
    assert edited.base is not None
    assert [entry.id for entry in kept] == ["id000001"]
    assert device == "this-device"


async def test_a_truncated_cache_ends_in_service(home: Home) -> None:
    fill(home, count=20)
    data = home.cache_file.read_bytes()
    for size in (0, 100, len(data) // 2):
        home.cache_file.write_bytes(data[:size])
        async with open_home(home, examine=True) as db:
            await db.write(lambda c: meta.put(c, "k", "v"))


async def test_a_deleted_cache_is_made_anew_without_the_old_log(home: Home) -> None:
    fill(home, count=3)
    connection = connect_migrated(home.cache_file)
    connection.execute("INSERT INTO meta VALUES ('in the log', 'x')")
    log = home.cache_file.with_name("cache.sqlite3-wal").read_bytes()
    connection.close()
    home.cache_file.unlink()
    home.cache_file.with_name("cache.sqlite3-wal").write_bytes(log)
    async with open_home(home) as db:
        assert await db.read(bodies) == set()
        assert await db.read(lambda c: meta.get(c, "in the log")) is None


async def test_a_healthy_cache_is_not_touched(home: Home) -> None:
    fill(home, count=3)
    async with open_home(home, examine=True) as db:
        assert len(await db.read(bodies)) == 3
        assert await db.read(salvage.notice) == ""
    assert list(home.root.glob("*damaged*")) == []


async def test_a_damaged_cache_that_others_have_open_is_not_moved_away_under_them(home: Home) -> None:
    if os.name == "nt":
        pytest.skip("an open file cannot be moved there anyway")
    home.ensure()
    async with open_home(home) as db:
        await db.write(lambda c: meta.put(c, "k", "v"))
        suspect_mark(home.cache_file).touch()
        async with open_home(home, examine=True) as second:
            assert await second.read(lambda c: meta.get(c, "k")) == "v"
        assert suspect_mark(home.cache_file).exists(), "examined as soon as somebody has it alone"
    async with open_home(home):
        assert not suspect_mark(home.cache_file).exists()


async def test_writing_into_a_cache_that_was_deleted_meanwhile_is_an_error(home: Home) -> None:
    async with open_home(home) as db:
        home.cache_file.unlink()
        with pytest.raises(CacheDamaged, match="removed"):
            await db.write(lambda c: meta.put(c, "k", "v"))
        with pytest.raises(CacheDamaged, match="removed"):
            await db.data_version()


async def test_what_a_removed_cache_held_goes_on_in_the_next_one(home: Home) -> None:
    if os.name == "nt":
        pytest.skip("an open file cannot be removed there")
    fill(home, count=3)
    async with open_home(home) as db:
        await db.write(lambda c: files.add(c, "memories/task/late.md", memory_file("late0000", "Late")))
        for suffix in ("", "-wal", "-shm"):
            home.cache_file.with_name(f"cache.sqlite3{suffix}").unlink(missing_ok=True)
    async with open_home(home) as db:
        assert {"Edited here", "Never uploaded", "Late"} <= await db.read(bodies)
        assert await db.read(lambda c: c.execute("SELECT count(*) FROM files WHERE content IS NULL").fetchone()[0]) == 0
        assert "damaged" in await db.read(salvage.notice)
    assert orphans_of(home.cache_file) == []


async def test_a_new_cache_made_beside_a_removed_one_in_use_gets_what_that_held(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.name == "nt":
        pytest.skip("an open file cannot be removed there")
    monkeypatch.setattr(opening, "_LEAVE_SECONDS", 0.1)
    async with open_home(home) as old:
        await old.write(lambda c: files.add(c, "memories/task/one.md", memory_file("one00000", "One")))
        await old.write(lambda c: files.add(c, "memories/task/two.md", memory_file("two00000", "Two")))
        home.cache_file.unlink()  # its log and its index stay: nobody else may get into them
        async with open_home(home) as new:
            await new.write(lambda c: files.add(c, "memories/task/two.md", memory_file("two00000", "Other two")))
            with pytest.raises(CacheDamaged, match="removed or replaced"):
                await old.write(lambda c: meta.put(c, "k", "v"))
    async with open_home(home) as db:
        assert await db.read(bodies) >= {"One", "Two", "Other two"}
        paths = await db.read(lambda c: {row[0] for row in c.execute("SELECT path FROM files")})
        assert (await db.read(lambda c: c.execute("PRAGMA quick_check").fetchone()[0])) == "ok"
    assert {conflict_copy_of(path) or path for path in paths} == {"memories/task/one.md", "memories/task/two.md"}


async def test_the_cache_is_refused_inside_a_synced_folder(tmp_path: Path) -> None:
    for name in ("OneDrive - Acme", "Dropbox"):
        with pytest.raises(CacheUnusable, match="synced folder"):
            async with open_home(Home(tmp_path / name / "home")):
                pass
        assert not (tmp_path / name).exists(), "nothing is written there"


async def test_a_newer_schema_is_refused_and_not_examined_away(home: Home) -> None:
    fill(home, count=1)
    connection = sqlite3.connect(home.cache_file)
    connection.execute("PRAGMA user_version = 4711")
    connection.close()
    with pytest.raises(CacheUnusable, match="4711"):
        async with open_home(home, examine=True):
            pass
    assert list(home.root.glob("*damaged*")) == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
async def test_the_cache_is_readable_by_its_owner_only(home: Home) -> None:
    async with open_home(home) as db:
        await db.write(lambda c: meta.put(c, "k", "v"))
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in home.root.iterdir() if p.is_file()}
    assert modes
    assert all(mode & 0o077 == 0 for mode in modes.values()), modes


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anything")
async def test_a_folder_without_permission_is_a_clear_refusal(home: Home) -> None:
    home.ensure()
    home.root.chmod(0o500)
    try:
        with pytest.raises(CacheUnusable):
            async with open_home(home):
                pass
    finally:
        home.root.chmod(0o700)


def test_what_was_written_before_a_kill_is_there_afterwards(home: Home) -> None:
    script = f"""
        import asyncio, os, pathlib, signal
        from memory_cache import meta
        from memory_cache.home import Home
        from memory_cache.opening import open_home
        async def main():
            async with open_home(Home(pathlib.Path({str(home.root)!r}))) as db:
                for number in range(1000):
                    await db.write(lambda c: meta.put(c, f"k{{number}}", "v"))
                    print(number, flush=True)
                    if number == 200:
                        os.kill(os.getpid(), signal.SIGKILL)
        asyncio.run(main())
    """
    for _ in range(2):
        result = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, check=False)
        told = len(result.stdout.split())
        connection = connect_migrated(home.cache_file)
        assert connection.execute("PRAGMA quick_check").fetchone()[0] == "ok"
        kept = connection.execute("SELECT count(*) FROM meta WHERE key LIKE 'k%'").fetchone()[0]
        connection.close()
        assert kept >= told > 100
