"""Trouble with the storage: what stops one file, what stops a round, and what never becomes a delete."""

from pathlib import Path

import pytest

from memory_cache import remote_tree, resolving
from memory_cache.revisions import Cause
from storage_backends.base import Changes
from storage_backends.errors import (
    AccessDenied,
    CursorExpired,
    InvalidName,
    LoginRequired,
    StorageError,
    StorageFull,
    Throttled,
    Unreachable,
)
from tests.daemon.sync_world import PATH, in_step, memory, path_of, world


async def test_a_full_storage_pauses_uploads_says_so_once_and_downloads_go_on(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await a.round()
        a.fail("create", lambda _: StorageFull("No space."))
        for number in range(1, 30):
            await a.write(path_of(number), memory("x", number=number))
        w.store.put(path_of(99), memory("there", number=99))
        report = await a.round()
        assert report.downloaded == 1
        assert 1 <= len(report.errors) <= 6, "uploads that had begun already"
        assert report.pending == 29
        a.failures.clear()
        assert (await a.round()).uploaded == 29


async def test_a_refused_file_is_reported_and_the_others_go_out(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        a.fail("create", lambda subject: AccessDenied("Not yours.") if subject == path_of(1) else None)
        await a.write(path_of(1), memory("1"))
        await a.write(path_of(2), memory("2", number=2))
        report = await a.round()
        assert list(w.files()) == [path_of(2)]
        assert [(error.path, error.title) for error in report.errors] == [(path_of(1), "Access denied")]


async def test_a_path_that_the_storage_refuses_is_replaced_by_a_legal_one(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        a.fail("create", lambda subject: InvalidName("No.") if subject == PATH else None)
        await a.write(PATH, memory("one"))
        report = await a.round()
        assert (report.uploaded, report.errors) == (1, [])
        (path,) = w.files()
        assert path != PATH
        assert path.startswith("memories/")
        await in_step(a, b)
        assert await a.texts() == await b.texts() == {path: memory("one")}


async def test_a_storage_that_refuses_every_name_is_not_asked_for_ever(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await a.round()
        a.fail("create", lambda _: InvalidName("No."))
        await a.write(PATH, memory("one"))
        report = await a.round()
        assert len(report.errors) == 1
        assert a.calls["create"] == 2


@pytest.mark.parametrize("error", [Throttled("Slow down.", retry_after=30), LoginRequired("Log in.")])
async def test_no_request_follows_one_that_asked_for_a_pause_or_a_login(tmp_path: Path, error: StorageError) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        for number in range(1, 40):
            w.store.put(path_of(number), memory("x", number=number))
        calls = iter((None, None, error))
        after: list[str] = []

        def third(subject: str) -> StorageError | None:
            given = next(calls, None)
            if given is None and len(after) == 3:
                raise AssertionError(subject)
            after.append(subject)
            return given

        a.fail("read", third)
        with pytest.raises(type(error)):
            await a.round()
        a.failures.clear()
        assert (await a.round()).pending == 0
        assert len(await a.texts()) == 39


async def test_a_storage_that_fails_again_and_again_ends_the_round_and_keeps_what_was_read(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        for number in range(1, 60):
            w.store.put(path_of(number), memory("x", number=number))
        reads = iter([None] * 20)
        a.fail("read", lambda _: next(reads, Unreachable("No network.")))
        with pytest.raises(Unreachable):
            await a.round()
        assert 10 <= len(await a.texts()) <= 20
        assert a.calls["read"] < 40


async def test_a_dead_cursor_leads_to_one_enumeration_and_to_no_delete(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await a.write(path_of(1), memory("1"))
        await in_step(a)
        await a.write(path_of(1), memory("1 edited", minutes=1))
        await a.write(path_of(2), memory("2", number=2))
        w.store.expire_cursors()
        report = await a.round()
        assert (report.uploaded, report.deleted) == (2, 0)
        assert a.calls["changes"] == 2


async def test_a_storage_that_refuses_every_cursor_is_unreachable_and_not_an_endless_loop(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        a.fail("changes", lambda _: CursorExpired("No."))
        with pytest.raises(Unreachable):
            await a.round()
        assert a.calls["changes"] == 2


async def test_a_listing_that_repeats_its_page_for_ever_is_left(tmp_path: Path) -> None:
    """onedrive-api-docs#1424: nextLink loops for ever."""
    async with world(tmp_path) as w:
        a = await w.device("a")
        await a.round()

        async def looping(cursor: str | None) -> Changes:
            return Changes([], [], "the same", more=True, enumeration=False)

        a.storage.changes = looping  # type: ignore[method-assign]
        with pytest.raises(Unreachable):
            await a.round()


async def test_an_interrupted_enumeration_goes_on_where_it_was(tmp_path: Path) -> None:
    async with world(tmp_path, page_size=5) as w:
        for number in range(1, 31):
            w.store.put(path_of(number), memory("x", number=number))
        a = await w.device("a")
        pages = iter([None] * 4)
        a.fail("changes", lambda _: next(pages, Unreachable("No network.")))
        with pytest.raises(Unreachable):
            await a.round()
        again = await w.device("a", cache="a")
        assert (await again.round()).downloaded == 30
        assert again.calls["changes"] == 2, "four of six pages were known"


async def test_a_late_listing_of_an_earlier_version_brings_nothing_back(tmp_path: Path) -> None:
    """onedrive-api-docs#934: delta returns a state from seconds ago."""
    async with world(tmp_path) as w:
        a = await w.device("a")
        await a.write(PATH, memory("one"))
        await in_step(a)
        earlier = w.store.entry_at(PATH).item
        await a.write(PATH, memory("two", minutes=1))
        await a.round()
        await a.database.write(
            lambda c: remote_tree.store(
                c, remote_tree.RemoteItem(earlier.item_id, earlier.path, earlier.version, earlier.size, None)
            )
        )
        report = await a.round()
        assert (report.downloaded, report.merged) == (0, 0)
        assert await a.texts() == w.files() == {PATH: memory("two", minutes=1)}


async def test_a_late_read_of_an_earlier_version_brings_nothing_back(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await a.write(PATH, memory("one"))
        await in_step(a, b)
        stale = await a.storage.read(w.store.entry_at(PATH).item.item_id)
        await b.write(PATH, memory("two", minutes=1))
        await in_step(b, a)
        await b.write(PATH, memory("three", minutes=2))
        await b.round()
        fresh = a.storage.read

        async def late(item_id: str):  # type: ignore[no-untyped-def]
            return stale if item_id == stale.item.item_id else await fresh(item_id)

        a.storage.read = late  # type: ignore[method-assign]
        await a.round()
        assert await a.texts() == {PATH: memory("two", minutes=1)}, "not back to one"
        a.storage.read = fresh  # type: ignore[method-assign]
        await a.round()
        assert await a.texts() == {PATH: memory("three", minutes=2)}


async def test_a_truncated_upload_is_not_taken_for_done(tmp_path: Path) -> None:
    """maestral PR#945: a retried upload left a 0-byte file."""
    async with world(tmp_path) as w:
        a = await w.device("a")
        await a.round()
        create = a.storage.create

        async def truncating(path: str, data: bytes):  # type: ignore[no-untyped-def]
            return await create(path, data[:3] if path == PATH else data)

        a.storage.create = truncating  # type: ignore[method-assign]
        await a.write(PATH, memory("one"))
        report = await a.round()
        assert (report.uploaded, len(report.errors)) == (0, 1)
        assert await a.texts() == {PATH: memory("one")}


async def test_a_huge_file_is_left_where_it_is_and_named(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        w.store.put("memories/huge.md", b"x" * (9 * 1024 * 1024))
        report = await a.round()
        assert [error.path for error in report.errors] == ["memories/huge.md"]
        assert a.calls["read"] == 0


async def test_broken_files_are_kept_byte_for_byte_and_never_rewritten(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        broken = {"memories/a.md": b"\xff\xfe\x00", "memories/b.md": b"---\nid: x\nid: y\n---\ntext"}
        for path, data in broken.items():
            w.store.put(path, data)
        w.clock.forward(minutes=5)
        await in_step(a, b)
        assert await a.texts() == w.files() == broken


async def test_a_version_that_cannot_be_understood_and_an_edit_are_both_kept(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await a.write(PATH, memory("one"))
        await in_step(a, b)
        w.store.put(PATH, b"\xff broken by an editor")
        await a.write(PATH, memory("two", minutes=1))
        await in_step(a, b)
        assert w.files()[PATH] == memory("two", minutes=1)
        (conflict,) = await b.query("SELECT f.content FROM conflicts JOIN files f USING (file_id)")
        assert b"broken by an editor" in conflict[0]


async def test_the_same_bytes_put_back_as_a_new_item_are_the_same_file_even_when_nobody_can_read_them(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await a.write(PATH, memory("one"))
        await in_step(a)
        broken = b"---\nid: [\n---\nbroken"
        w.store.put(PATH, broken)
        await a.write(PATH, memory("two", minutes=1))
        a.fail("update", lambda _: AccessDenied("Not now."))
        await a.round()
        a.failures.clear()
        w.store.remove(PATH)
        w.store.put(PATH, broken)
        await in_step(a)
        assert w.files() == {PATH: memory("two", minutes=1)}
        assert len(w.files("conflicts/")) == 1


async def test_a_version_that_loses_again_after_it_was_settled_elsewhere_is_an_open_conflict_again(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await a.write(PATH, memory("one"))
        await in_step(a, b)
        broken = b"---\nid: [\n---\nbroken"
        w.store.put(PATH, broken)
        await a.write(PATH, memory("two", minutes=1))
        await in_step(a, b)
        (conflict,) = await a.query("SELECT id FROM conflicts")
        await a.database.write(
            lambda c: resolving.resolve(c, conflict["id"], "theirs", None, Cause("resolve"), "allow")
        )
        await b.write(PATH, memory("three", minutes=5))
        await a.round()
        await b.round()
        await in_step(a, b)
        assert w.files() == {PATH: memory("three", minutes=5)}
        for device in (a, b):
            (conflict,) = await device.query("SELECT theirs FROM conflicts")
            assert "broken" in conflict["theirs"]
