"""Hand-written files get an id, once; conflict copies of sync clients are taken in and lose nothing."""

from pathlib import Path

import pytest

from memory_cache import text_format
from storage_backends.errors import ItemBusy, StorageError
from tests.daemon.sync_world import PATH, in_step, memory, world

NOTE = b"# Remember the milk\r\n\r\nand the bread\r\n"


async def test_a_hand_written_file_gets_its_id_after_a_quiet_second_and_the_body_is_untouched(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        w.store.put("memories/task/milk.md", NOTE)
        report = await a.round()
        assert w.files() == {"memories/task/milk.md": NOTE}
        assert report.again_in == 1.0
        w.clock.forward(seconds=2)
        assert (await a.round()).uploaded == 1
        (data,) = w.files().values()
        parsed = text_format.read(data)
        assert data.endswith(NOTE)
        assert parsed.id is not None
        assert parsed.category == "task"
        w.clock.forward(minutes=1)
        await in_step(a)
        assert list(w.files().values()) == [data], "once"


async def test_an_old_hand_written_file_is_adopted_in_the_first_round(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        w.store.put("memories/milk.md", NOTE)
        w.clock.forward(minutes=1)
        a = await w.device("a")
        assert (await a.round()).uploaded == 1


async def test_all_devices_give_one_file_the_same_id(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        w.store.put("memories/milk.md", NOTE)
        await a.round()
        await b.round()
        w.clock.forward(seconds=5)

        def adopted_there(_: str) -> StorageError | None:
            a.failures.clear()
            return None

        a.fail("update", adopted_there)
        await in_step(a, b)
        assert await a.texts() == await b.texts() == w.files()
        assert w.files("conflicts/") == {}
        assert len(await a.query("SELECT 1 FROM memories")) == 1


async def test_an_editor_that_saves_while_the_file_is_adopted_loses_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        w.store.put("memories/milk.md", NOTE)
        await a.round()
        w.clock.forward(seconds=5)

        def saved(_: str) -> StorageError | None:
            a.failures.clear()
            w.store.put("memories/milk.md", NOTE + b"and butter\r\n")
            return None

        a.fail("update", saved)
        await in_step(a)
        (data,) = w.files().values()
        assert text_format.read(data).id is not None
        assert data.endswith(NOTE + b"and butter\r\n")
        assert w.files("conflicts/") == {}


async def test_a_file_that_is_written_in_several_goes_is_adopted_when_it_is_quiet(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        for end in (5, 10, len(NOTE)):
            w.store.put("memories/milk.md", NOTE[:end])
            assert (await a.round()).uploaded == 0
            w.clock.forward(seconds=0.6)
        w.clock.forward(seconds=0.5)
        assert (await a.round()).uploaded == 1


async def test_a_file_from_a_clock_that_is_ahead_is_adopted_all_the_same(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        w.clock.forward(days=300)
        w.store.put("memories/milk.md", NOTE)
        w.clock.forward(days=-300)
        await a.round()
        w.clock.forward(seconds=2)
        assert (await a.round()).uploaded == 1


async def test_front_matter_without_an_id_gets_the_line_that_is_missing(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        w.store.put("memories/x.md", b"---\ntags: [one]  # mine\nstatus: open\n---\ntext\n")
        w.clock.forward(seconds=5)
        await in_step(a)
        (data,) = w.files().values()
        assert text_format.read(data).id is not None
        assert b"\ntags: [one]  # mine\n" in data
        assert data.endswith(b"\nstatus: open\n---\ntext\n")


@pytest.mark.parametrize(
    "name", ["note-LAPTOP-4711ABC.md", "note (1).md", "note (Ann's conflicted copy 2026-06-01).md"]
)
async def test_a_conflict_copy_is_taken_into_its_original_and_deleted(tmp_path: Path, name: str) -> None:
    async with world(tmp_path, stable_ids=False) as w:
        a, b = await w.device("a"), await w.device("b")
        w.store.put("memories/note.md", memory("from the laptop", minutes=1))
        await in_step(a, b)
        w.store.put(f"memories/{name}", memory("from the desktop", minutes=2))
        report = await a.round()
        assert (report.merged, report.conflicts) == (1, 1)
        await in_step(a, b)
        assert w.files() == {"memories/note.md": memory("from the desktop", minutes=2)}
        assert await a.texts() == await b.texts() == w.files()
        (conflict,) = await b.query("SELECT theirs FROM conflicts")
        assert "from the laptop" in conflict[0]


async def test_a_conflict_copy_that_adds_nothing_vanishes_without_a_conflict(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        w.store.put("memories/note.md", memory("one\ntwo"))
        w.store.put("memories/note (1).md", memory("one"))
        w.store.put("memories/note (2).md", memory("one\ntwo"))
        await in_step(a)
        assert w.files() == {"memories/note.md": memory("one\ntwo")}
        assert w.files("conflicts/") == {}


async def test_a_copy_of_a_copy_makes_no_conflict_of_a_conflict(tmp_path: Path) -> None:
    """syncthing#2282: conflict files of conflict files fill the disk."""
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await a.write(PATH, memory("one"))
        await in_step(a, b)
        await a.write(PATH, memory("left", minutes=1))
        await b.write(PATH, memory("right", minutes=2))
        await in_step(a, b)
        (path,) = w.files("conflicts/")
        w.store.put(path.replace(".json", "-LAPTOP-4711ABC.json"), w.files("conflicts/")[path])
        await in_step(a, b)
        assert list(w.files("conflicts/")) == [path]


async def test_a_file_that_only_looks_like_a_copy_stays(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        w.store.put("memories/note.md", memory("one"))
        w.store.put("memories/note (1).md", memory("two", number=2))
        w.store.put("memories/unrelated.md", memory("same id, other name"))
        await in_step(a)
        assert len(w.files()) == 3


async def test_the_copy_stays_until_what_it_held_is_in_the_storage(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        w.store.put("memories/note.md", memory("one", minutes=1))
        await in_step(a)
        w.store.put("memories/note (1).md", memory("two", minutes=2))
        a.fail("update", lambda _: ItemBusy("Open in an editor."))
        await a.round()
        assert "memories/note (1).md" in w.files()
        a.failures.clear()
        await in_step(a)
        assert w.files() == {"memories/note.md": memory("two", minutes=2)}


async def test_open_conflicts_follow_their_memory_and_never_precede_it(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await a.write(PATH, memory("one"))
        await in_step(a, b)
        await a.write(PATH, memory("left", minutes=1))
        await b.write(PATH, memory("right", minutes=2))
        await a.round()
        b.fail("update", lambda _: ItemBusy("Open in an editor."))
        await b.round()
        assert w.files("conflicts/") == {}, "nobody may settle a conflict whose winner cannot be seen yet"
        b.failures.clear()
        await b.round()
        assert len(w.files("conflicts/")) == 1
