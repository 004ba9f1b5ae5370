"""What a sync round does, and how few requests it makes."""

from dataclasses import replace
from pathlib import Path

import pytest

from memory_cache import files, pattern_file, text_format
from storage_backends.errors import ItemBusy, StorageError, Unreachable
from tests.daemon.sync_world import PATH, START, in_step, memory, path_of, world


async def test_a_new_memory_an_edit_and_a_delete_reach_the_other_device(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await a.write(PATH, memory("one"))
        assert (await a.round()).uploaded == 1
        assert (await b.round()).downloaded == 1
        assert await b.texts() == {PATH: memory("one")}
        await b.write(PATH, memory("two", minutes=1))
        await b.round()
        assert (await a.round()).downloaded == 1
        assert await a.texts() == {PATH: memory("two", minutes=1)}
        await a.delete(PATH)
        assert (await a.round()).deleted == 1
        assert (await b.round()).deleted == 1
        assert await b.texts() == {}
        assert w.files() == {}


async def test_an_idle_round_compares_nothing_and_misses_no_change(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, other_process = await w.device("a"), await w.device("a", cache="a")
        await a.write(PATH, memory("one"))
        await in_step(a)
        statements: list[str] = []
        await a.database.read(lambda connection: connection.set_trace_callback(statements.append))
        await a.round()
        assert not any("LEFT JOIN remote_items" in statement for statement in statements)
        await other_process.write(PATH, memory("two", minutes=1))
        assert (await a.round()).uploaded == 1
        assert any("LEFT JOIN remote_items" in statement for statement in statements)
        assert w.files() == {PATH: memory("two", minutes=1)}


async def test_a_delete_seen_from_elsewhere_lies_in_the_trash_of_this_device(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await a.write(PATH, memory("one"))
        await in_step(a, b)
        await a.delete(PATH)
        await in_step(a, b)
        assert [tuple(row) for row in await b.query("SELECT path, content FROM trash")] == [(PATH, memory("one"))]


async def test_what_a_download_replaces_stays_in_the_history(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await a.write(PATH, memory("one"))
        await in_step(a, b)
        await a.write(PATH, memory("two", minutes=1))
        await in_step(a, b)
        assert [row[0] for row in await b.query("SELECT content FROM revisions")] == [memory("one")]


async def test_edits_in_different_places_are_merged_and_collisions_keep_both(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await a.write(PATH, memory("one\ntwo\nthree"))
        await in_step(a, b)
        await a.write(PATH, memory("ONE\ntwo\nthree", minutes=1))
        await b.write(PATH, memory("one\ntwo\nTHREE", minutes=2, tags=["b"]))
        await a.round()
        report = await b.round()
        assert (report.merged, report.conflicts, report.uploaded) == (1, 0, 1)
        await in_step(a, b)
        assert text_format.read(w.files()[PATH]).body == "ONE\ntwo\nTHREE"
        await a.write(PATH, memory("left", minutes=3))
        await b.write(PATH, memory("right", minutes=4))
        await a.round()
        report = await b.round()
        assert (report.merged, report.conflicts) == (1, 1)
        await in_step(a, b)
        assert text_format.read(w.files()[PATH]).body == "right"
        assert await a.texts() == await b.texts() == w.files()
        for device in (a, b):
            (conflict,) = await device.query("SELECT theirs, memory_id FROM conflicts")
            assert "left" in conflict["theirs"]
            assert conflict["memory_id"] == text_format.read(memory("")).id


async def test_an_edit_beats_a_delete_on_both_sides(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await a.write(PATH, memory("one"))
        await a.write(path_of(2), memory("two", number=2))
        await in_step(a, b)
        await a.delete(PATH)
        await b.write(PATH, memory("edited", minutes=1))
        await a.write(path_of(2), memory("edited", number=2, minutes=1))
        await b.delete(path_of(2))
        await a.round()
        await b.round()
        await in_step(a, b)
        expected = {PATH: memory("edited", minutes=1), path_of(2): memory("edited", number=2, minutes=1)}
        assert await a.texts() == await b.texts() == w.files() == expected


async def test_an_idle_round_is_one_request_one_change_two_and_three(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await a.write(PATH, memory("one"))
        await in_step(a, b)
        assert (await a.round()).requests == 1
        assert a.calls["changes"] == 1
        await a.write(PATH, memory("two", minutes=1))
        report = await a.round()
        assert (report.requests, report.uploaded) == (2, 1)
        assert +a.calls == {"scope": 1, "changes": 1, "update": 1}
        report = await b.round()
        assert (report.requests, report.downloaded) == (2, 1)
        assert +b.calls == {"scope": 1, "changes": 1, "read": 1}
        assert (await a.round()).requests == 1, "our own write comes back in the listing and needs no request"


async def test_a_create_whose_answer_got_lost_is_recognised(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await a.round()
        a.fail("create", lambda subject: Unreachable("The answer got lost.") if subject == PATH else None, "after")
        await a.write(PATH, memory("one"))
        report = await a.round()
        assert report.uploaded == 0
        assert len(report.errors) == 1
        a.failures.clear()
        await a.write(PATH, memory("one\ntwo", minutes=1))
        await in_step(a)
        assert w.files() == {PATH: memory("one\ntwo", minutes=1)}
        assert await a.texts("conflicts/") == {}


async def test_an_update_whose_answer_got_lost_is_recognised(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await a.write(PATH, memory("one"))
        await in_step(a)
        a.fail("update", lambda _: Unreachable("The answer got lost."), "after")
        await a.write(PATH, memory("two", minutes=1))
        await a.round()
        a.failures.clear()
        await a.write(PATH, memory("three", minutes=2))
        report = await a.round()
        assert (report.merged, report.uploaded) == (0, 1)
        assert w.files() == {PATH: memory("three", minutes=2)}


async def test_a_memory_forgotten_while_its_create_was_unknown_does_not_stay_in_the_storage(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await a.round()
        a.fail("create", lambda subject: Unreachable("Lost.") if subject == PATH else None, "after")
        await a.write(PATH, memory("one"))
        await a.round()
        a.failures.clear()
        await a.delete(PATH)
        await in_step(a)
        assert w.files() == {}
        assert await a.query("SELECT 1 FROM files WHERE path = ?", PATH) == []


async def test_a_lost_race_is_read_merged_and_written_again_within_the_round(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await a.write(PATH, memory("one\ntwo\nthree"))
        await in_step(a)
        races = iter((b"ONE\ntwo\nthree", b"ONE\nTWO\nthree"))

        def somebody_is_faster(_: str) -> StorageError | None:
            body = next(races, None)
            if body is not None:
                w.store.put(PATH, memory(body.decode(), minutes=1))
            return None

        a.fail("update", somebody_is_faster)
        await a.write(PATH, memory("one\ntwo\nTHREE", minutes=2))
        report = await a.round()
        assert text_format.read(w.files()[PATH]).body == "ONE\nTWO\nTHREE"
        assert (report.uploaded, report.pending, report.errors) == (1, 0, [])


async def test_a_file_written_again_during_its_upload_is_uploaded_again(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await a.write(PATH, memory("one"))
        await in_step(a)

        async def typed_meanwhile(phase: str, call: str, subject: str) -> None:
            if (phase, call) == ("after", "update"):
                a.storage.intercept = a.intercept
                await a.write(PATH, memory("three", minutes=2))

        a.storage.intercept = typed_meanwhile
        await a.write(PATH, memory("two", minutes=1))
        await a.round()
        assert w.files() == {PATH: memory("three", minutes=2)}


@pytest.mark.parametrize("stable_ids", [True, False])
async def test_a_rename_is_a_move_and_neither_a_copy_nor_a_delete(tmp_path: Path, stable_ids: bool) -> None:
    async with world(tmp_path, stable_ids=stable_ids) as w:
        a, b = await w.device("a"), await w.device("b")
        await a.write(PATH, memory("one"))
        await in_step(a, b)
        (before,) = await b.query("SELECT file_id FROM files WHERE path = ?", PATH)
        w.store.move(PATH, "memories/learning/renamed.md")
        report = await b.round()
        assert report.deleted == 0
        await in_step(a, b)
        expected = {"memories/learning/renamed.md": memory("one")}
        assert await a.texts() == await b.texts() == w.files() == expected
        (after,) = await b.query("SELECT file_id FROM files WHERE path = ?", "memories/learning/renamed.md")
        assert tuple(after) == tuple(before)
        assert await b.query("SELECT 1 FROM trash") == []


@pytest.mark.parametrize("stable_ids", [True, False])
async def test_a_rename_and_an_edit_here_end_in_one_file(tmp_path: Path, stable_ids: bool) -> None:
    async with world(tmp_path, stable_ids=stable_ids) as w:
        a, b = await w.device("a"), await w.device("b")
        await a.write(PATH, memory("one"))
        await in_step(a, b)
        w.store.move(PATH, "memories/x.md")
        await b.write(PATH, memory("edited", minutes=1))
        await in_step(b, a)
        assert await a.texts() == w.files() == {"memories/x.md": memory("edited", minutes=1)}


async def test_a_folder_of_two_hundred_files_renamed_is_not_held_as_a_mass_delete(tmp_path: Path) -> None:
    async with world(tmp_path, stable_ids=False) as w:
        a = await w.device("a")
        for number in range(200):
            w.store.put(path_of(number), memory(f"n{number}", number=number))
        await a.round()
        for number in range(200):
            w.store.move(path_of(number), f"memories/archive/{number}.md")
        report = await a.round()
        assert (report.held, report.deleted) == (0, 0)
        assert len(await a.texts()) == 200
        assert await a.texts() == w.files()


async def test_deleted_and_created_again_by_an_editor_is_one_update(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await a.write(PATH, memory("one"))
        await in_step(a)
        w.store.remove(PATH)
        w.store.put(PATH, memory("two", minutes=1))
        report = await a.round()
        assert (report.downloaded, report.deleted) == (1, 0)
        assert await a.query("SELECT 1 FROM trash") == []


@pytest.mark.parametrize("stable_ids", [True, False])
async def test_a_move_whose_removal_was_never_announced_is_a_move_all_the_same(
    tmp_path: Path, stable_ids: bool
) -> None:
    async with world(tmp_path, stable_ids=stable_ids, announces_removals=False) as w:
        a = await w.device("a")
        await a.write(PATH, memory("one"))
        await in_step(a)
        w.store.remove(PATH)
        w.store.put(PATH if stable_ids else "memories/moved.md", memory("one"))
        await a.write(PATH, memory("edited", minutes=1))
        await in_step(a)
        assert list(w.files().values()) == [memory("edited", minutes=1)]
        assert await a.texts() == w.files()


async def test_nothing_is_uploaded_before_the_first_enumeration_is_complete(tmp_path: Path) -> None:
    async with world(tmp_path, page_size=2) as w:
        for number in range(2, 7):
            w.store.put(path_of(number), memory("x", number=number))
        a = await w.device("a")
        await a.write(PATH, memory("one"))
        pages = iter((None, Unreachable("Gone in the middle.")))
        a.fail("changes", lambda _: next(pages, None))
        with pytest.raises(Unreachable):
            await a.round()
        assert PATH not in w.files()
        report = await a.round()
        assert (report.uploaded, report.downloaded) == (1, 5)


async def test_files_outside_our_folders_are_never_read_and_never_removed(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        w.store.put("private/diary.md", b"x")
        w.store.put("memories/.obsidian/app.md", b"x")
        w.store.put("memories/picture.png", b"x")
        await a.round()
        assert a.calls["read"] == 0
        w.store.move("private/diary.md", "memories/diary.md")
        await in_step(a)
        w.store.move("memories/diary.md", "private/diary.md")
        await in_step(a)
        assert await a.texts() == {}
        assert set(w.store.files()) > {"private/diary.md", "memories/.obsidian/app.md", "memories/picture.png"}


async def test_one_file_that_cannot_be_read_right_now_stops_no_other(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        busy = w.store.put(path_of(1), memory("1")).item_id
        w.store.put(path_of(2), memory("2", number=2))
        a.fail("read", lambda subject: ItemBusy("A placeholder.") if subject == busy else None)
        report = await a.round()
        assert list(await a.texts()) == [path_of(2)]
        assert [error.path for error in report.errors] == [path_of(1)]
        assert report.pending == 1
        a.failures.clear()
        assert (await a.round()).downloaded == 1


async def test_the_same_memory_made_on_two_devices_is_united(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await in_step(a, b)
        await a.write(PATH, memory("same"))
        await b.write(PATH, memory("same"))
        await in_step(a, b)
        assert await a.texts() == await b.texts() == w.files() == {PATH: memory("same")}
        assert w.files("conflicts/") == {}


async def test_a_conflict_that_arrives_while_this_device_finds_it_out_itself_is_one_file(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await a.write(PATH, memory("one"))
        await in_step(a, b)
        for device in (a, b):
            await device.write(PATH, memory("left", minutes=1))
        w.store.put(PATH, memory("right", minutes=2))
        await a.round()
        report = await b.round()
        assert (report.pending, report.errors) == (0, [])
        assert await b.texts() == {PATH: memory("right", minutes=2)}
        await a.round()  # b counts on the record too, and has said so
        assert await a.texts("conflicts/") == await b.texts("conflicts/") == w.files("conflicts/")
        assert len(w.files("conflicts/")) == 1
        assert b.calls["create"] == 0


async def test_two_memories_at_one_path_both_live_on(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await in_step(a, b)
        await a.write("memories/x.md", memory("one", number=1))
        await b.write("memories/x.md", memory("two", number=2))
        await in_step(a, b)
        assert await a.texts() == await b.texts() == w.files()
        assert sorted(w.files().values()) == sorted([memory("one", number=1), memory("two", number=2)])


async def test_a_local_change_recorded_as_sent_is_not_taken_for_synced(tmp_path: Path) -> None:
    """rclone bisync #8359: a file changed during the run was recorded as synced."""
    async with world(tmp_path) as w:
        a = await w.device("a")
        await a.write(PATH, memory("one"))
        await a.database.write(lambda c: files.remember_sent(c, 1, memory("one")))
        await a.write(PATH, memory("two", minutes=1))
        await in_step(a)
        assert w.files() == {PATH: memory("two", minutes=1)}


async def test_a_pattern_seen_on_two_devices_at_once_counts_both_sightings(tmp_path: Path) -> None:
    def seen(*numbers: int) -> bytes:
        occurrences = tuple(pattern_file.occurrence(START, f"d{number}", f"example {number}") for number in numbers)
        pattern = pattern_file.PatternFile("ab" * 16, "Run the tests first", "testing", START, START)
        return pattern_file.encode(replace(pattern, occurrences=occurrences))

    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        path = pattern_file.decode(seen(1)).path
        await a.write(path, seen(1))
        await in_step(a, b)
        await a.write(path, seen(1, 2))
        await b.write(path, seen(1, 3))
        await in_step(a, b)
        stored = w.files("patterns/")[path]
        assert sorted(seen.example for seen in pattern_file.decode(stored).occurrences) == [
            "example 1", "example 2", "example 3",
        ]  # fmt: skip
        assert w.files("conflicts/") == {}
