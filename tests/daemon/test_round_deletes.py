"""Deletes: one place, one brake, and no absence that the storage does not confirm."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.errors import StorageEmptied
from daemon.round_delete import held
from storage_backends.errors import NotFound, StorageError
from storage_backends.in_memory import InMemoryStorage, InMemoryStore
from tests.daemon.sync_world import PATH, SyncWorld, in_step, memory, path_of, world


async def filled(w: SyncWorld, count: int) -> None:
    for number in range(count):
        w.store.put(path_of(number), memory(f"text {number}", number=number))


@given(st.integers(0, 200), st.integers(0, 1000))
def test_the_brake_needs_more_than_ten_files_and_more_than_a_quarter(planned: int, known: int) -> None:
    assert held(planned, known) == (planned > 10 and planned / max(known, 1) > 0.25)


async def test_a_mass_delete_in_the_storage_is_held_until_confirmed_and_other_changes_go_on(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await filled(w, 40)
        await a.round()
        for number in range(11):
            w.store.remove(path_of(number))
        await a.write(path_of(50), memory("new", number=50))
        w.store.put(path_of(51), memory("there", number=51))
        report = await a.round()
        assert (report.held, report.deleted, report.uploaded, report.downloaded) == (11, 0, 1, 1)
        assert (await a.round()).held == 11
        report = await a.round(confirm_deletes=True)
        assert (report.held, report.deleted) == (0, 11)
        assert len(await a.query("SELECT 1 FROM trash")) == 11


async def test_a_mass_delete_on_this_device_is_held_until_confirmed(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await filled(w, 40)
        await a.round()
        for number in range(11):
            await a.delete(path_of(number))
        assert (await a.round()).held == 11
        assert len(w.files()) == 40
        assert (await a.round(confirm_deletes=True)).deleted == 11
        assert len(w.files()) == 29


async def test_deletes_of_both_sides_count_together(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await filled(w, 40)
        await a.round()
        for number in range(6):
            await a.delete(path_of(number))
            w.store.remove(path_of(39 - number))
        assert (await a.round()).held == 12


async def test_few_deletes_are_not_held(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await filled(w, 12)
        await a.round()
        for number in range(10):
            w.store.remove(path_of(number))
        report = await a.round()
        assert (report.held, report.deleted) == (0, 10)


async def test_a_held_memory_that_is_edited_comes_out_of_the_hold(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await filled(w, 12)
        await a.round()
        for number in range(12):
            w.store.remove(path_of(number))
        await a.round()
        await a.write(path_of(3), memory("edited", number=3, minutes=1))
        report = await a.round()
        assert (report.held, report.uploaded) == (11, 1)
        assert list(w.files()) == [path_of(3)]


async def test_an_emptied_store_stops_the_round_and_nothing_is_written_or_deleted(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await filled(w, 3)
        await a.round()
        await a.write(path_of(9), memory("new", number=9))
        for path in list(w.store.files()):
            w.store.remove(path)
        for _ in range(2):
            with pytest.raises(StorageEmptied) as raised:
                await a.round()
            assert w.store.files() == {}
            assert len(await a.texts()) == 4
        assert "--confirm-deletes" in raised.value.hint
        await a.round(confirm_deletes=True)
        assert list(await a.texts()) == list(w.files()) == [path_of(9)]
        assert len(await a.query("SELECT 1 FROM trash")) == 3


async def test_a_store_that_is_back_after_it_looked_empty_goes_on_as_before(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await filled(w, 3)
        await a.round()
        before = dict(w.store.files())
        for path in before:
            w.store.remove(path)
        with pytest.raises(StorageEmptied):
            await a.round()
        for path, data in before.items():
            w.store.put(path, data)
        await in_step(a)
        assert await a.texts() == w.files()
        assert len(w.files()) == 3
        assert await a.query("SELECT 1 FROM trash") == []


async def test_forgetting_the_only_memory_is_no_unmount(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await a.write(PATH, memory("one"))
        await in_step(a, b)
        await a.delete(PATH)
        await in_step(a, b)
        assert await b.texts() == {}


async def test_an_item_that_a_listing_leaves_out_is_not_deleted(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await filled(w, 4)
        await a.round()
        entry = w.store.entry_at(path_of(2))
        w.store._entries.pop(entry.item.item_id)  # the listing leaves it out …
        changes = a.storage.changes

        async def leaving_out(cursor: str | None):  # type: ignore[no-untyped-def]
            page = await changes(cursor)
            w.store._entries[entry.item.item_id] = entry  # … and asked for, it is there
            return page

        a.storage.changes = leaving_out  # type: ignore[method-assign]
        report = await a.round(full=True)
        assert report.deleted == 0
        assert len(await a.texts()) == 4


async def test_a_tombstone_that_never_came_is_made_up_for_by_the_next_enumeration(tmp_path: Path) -> None:
    """onedrive-api-docs#1927: tombstones missing after successful deletes."""
    async with world(tmp_path, announces_removals=False) as w:
        a = await w.device("a")
        await filled(w, 4)
        await a.round()
        w.store.remove(path_of(2))
        assert (await a.round()).deleted == 0
        w.clock.forward(hours=25)
        assert (await a.round()).deleted == 1


async def test_a_folder_deleted_and_restored_at_once_keeps_its_files(tmp_path: Path) -> None:
    """abraunegg/onedrive#2476."""
    async with world(tmp_path) as w:
        a = await w.device("a")
        await filled(w, 4)
        await a.round()
        stat = a.storage.stat
        w.store.remove(path_of(1))

        async def restored_meanwhile(item_id: str):  # type: ignore[no-untyped-def]
            if path_of(1) not in w.store.files():
                w.store.put(path_of(1), memory("text 1", number=1))
            return await stat(item_id)

        a.storage.stat = restored_meanwhile  # type: ignore[method-assign]
        await in_step(a)
        assert await a.texts() == w.files()
        assert len(w.files()) == 4


async def test_a_delete_waits_for_nobody_but_spares_a_version_it_has_not_seen(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await a.write(PATH, memory("one"))
        await in_step(a)

        def edited_meanwhile(_: str) -> StorageError | None:
            w.store.put(PATH, memory("edited", minutes=1))
            return None

        a.fail("delete", edited_meanwhile)
        await a.delete(PATH)
        await a.round()
        assert await a.texts() == w.files() == {PATH: memory("edited", minutes=1)}


async def test_a_lost_cache_deletes_nothing(tmp_path: Path) -> None:
    """abraunegg/onedrive: older versions overwrite newer ones when items.sqlite3 does not exist."""
    async with world(tmp_path) as w:
        a = await w.device("a")
        await filled(w, 30)
        await a.round()
        fresh = await w.device("b", cache="fresh")
        report = await fresh.round()
        assert (report.downloaded, report.deleted, report.uploaded) == (30, 0, 0)
        assert len(w.files()) == 30


async def test_another_store_is_a_union_and_no_delete(tmp_path: Path) -> None:
    """onedrived-dev#59: a re-added drive with an empty folder became the authority."""
    async with world(tmp_path) as w:
        a = await w.device("a")
        await filled(w, 30)
        await a.round()
        await a.delete(path_of(1))
        other = InMemoryStore()
        other.put(path_of(3), memory("other text", number=3, minutes=1))
        other.put(path_of(4), memory("text 4", number=4))
        other.put("memories/elsewhere.md", memory("text 5", number=5))
        a.engine._backend = InMemoryStorage(other)
        await in_step(a)
        assert await a.texts() == {p: d for p, d in other.files().items() if p.startswith("memories/")}
        assert len(await a.texts()) == 29
        assert "memories/elsewhere.md" in other.files()
        assert path_of(5) not in other.files(), "the same memory under another name is one memory"
        (conflict,) = await a.query("SELECT theirs FROM conflicts")
        assert "text 3" in conflict[0]


async def test_a_delete_of_an_item_that_is_gone_already_is_fine(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await a.write(PATH, memory("one"))
        await in_step(a, b)
        await a.delete(PATH)
        await b.delete(PATH)
        await in_step(a, b)
        for device in (a, b):
            assert await device.query("SELECT 1 FROM files WHERE path = ?", PATH) == []
        with pytest.raises(NotFound):
            w.store.entry_at(PATH)
