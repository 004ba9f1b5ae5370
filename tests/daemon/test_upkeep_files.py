"""Device notes, the old index, and what has expired."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

from daemon.expiry import retire
from daemon.heartbeat import devices
from memory_cache import files
from tests.daemon.sync_world import PATH, START, SyncDevice, SyncWorld, in_step, memory, path_of, world


def note(w: SyncWorld, name: str) -> dict[str, Any]:
    note: dict[str, Any] = json.loads(w.files("devices/")[f"devices/id-{name}.json"])
    return note


async def test_every_device_leaves_a_note_that_nobody_counts(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        assert (await a.round()).uploaded == 0
        report = await b.round()
        assert (report.uploaded, report.downloaded, report.pending) == (0, 0, 0)
        await in_step(a, b)
        notes = await a.database.read(devices)
        assert [(n["name"], n["version"], n["pending"], n["conflicts"]) for n in notes] == [
            ("a", "1.0", 0, 0),
            ("b", "1.0", 0, 0),
        ]


async def test_an_active_device_writes_its_note_every_quarter_of_an_hour_and_an_idle_one_hardly_ever(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await in_step(a, b)
        writes = 0
        for minute in range(60):
            w.clock.forward(minutes=1)
            await a.write(PATH, memory(f"text {minute}", minutes=minute))
            await a.round()
            writes += a.calls["update"] + a.calls["create"] - 1
        assert writes == 4
        await in_step(a, b)
        writes = 0
        for _ in range(5 * 60):
            w.clock.forward(minutes=1)
            writes += sum([(await device.round()).requests - 1 for device in (a, b)])
        assert writes <= 4, "two idle devices do not answer each other's notes"


async def test_a_new_conflict_shows_in_the_note_at_once(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await a.write(PATH, memory("one"))
        await in_step(a, b)
        await a.write(PATH, memory("left", minutes=1))
        await b.write(PATH, memory("right", minutes=2))
        await in_step(a, b)
        assert note(w, "a")["conflicts"] == note(w, "b")["conflicts"] == 1


async def test_nobody_but_its_device_decides_about_a_note(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await in_step(a, b)
        w.store.remove("devices/id-a.json")
        w.store.put("devices/id-b.json", b"{}")
        await in_step(a, b)
        assert note(w, "a")["name"] == "a"
        assert note(w, "b")["name"] == "b"
        assert w.files("conflicts/") == {}


async def test_a_clock_set_back_does_not_silence_the_note(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await a.round()
        w.clock.forward(days=-30)
        await a.round()
        assert note(w, "a")["last_round"].startswith("2026-05-02")


async def rounds(w: SyncWorld, *all_devices: SyncDevice) -> None:
    for _ in range(3):
        w.clock.forward(seconds=31)
        await in_step(*all_devices)


async def test_an_index_of_the_old_server_is_kept_current_where_one_is_found_and_never_made(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a, b = await w.device("a"), await w.device("b")
        await a.write(PATH, memory("# Title\n\nfirst line\nsecond", tags=["x"], priority="high"))
        await rounds(w, a, b)
        assert w.files("index") == {}
        w.store.put("index.json", b'{"version": 1, "memories": [{"id": "stale"}]}')
        await rounds(w, a, b)
        index = json.loads(w.files("index")["index.json"])
        assert index["version"] == 1
        (entry,) = index["memories"]
        assert entry == {
            "id": "00000001-0000-4000-8000-000000000000", "category": "learning", "tags": ["x"], "title": "Title",
            "path": PATH, "created": "2026-06-01T08:00:00.000Z", "updated": "2026-06-01T08:00:00.000Z",
            "snippet": "first line second", "priority": "high",
        }  # fmt: skip
        await b.delete(PATH)
        await rounds(w, a, b)
        assert json.loads(w.files("index")["index.json"])["memories"] == []


async def test_a_corrupt_or_empty_index_is_repaired_and_believed_by_nobody(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        for broken in (b"", b'{"version": 1, "memories": []}}', b"[1]", b"\xff"):
            w.store.put("index.json", broken)
            await a.write(PATH, memory("one"))
            await rounds(w, a)
            assert await a.texts() == w.files() == {PATH: memory("one")}
            assert len(json.loads(w.files("index")["index.json"])["memories"]) == 1


async def test_an_index_in_another_order_or_layout_is_left_alone(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        w.store.put("index.json", b"{}")
        for number in (1, 2):
            await a.write(path_of(number), memory("x", number=number))
        await rounds(w, a)
        index = json.loads(w.files("index")["index.json"])
        theirs = json.dumps({"memories": index["memories"][::-1], "version": 1}).encode()
        w.store.put("index.json", theirs)
        await rounds(w, a)
        assert w.files("index")["index.json"] == theirs


async def test_a_writer_that_sees_the_index_otherwise_is_not_answered_for_ever(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await a.write(PATH, memory("one"))
        w.store.put("index.json", b"{}")
        writes = 0
        for minute in range(120):
            w.clock.forward(minutes=1)
            before = w.files("index")["index.json"]
            await a.round()
            writes += w.files("index")["index.json"] != before
            if minute % 2:
                w.store.put("index.json", b'{"version": 1, "memories": []}')
        assert writes == 1
        await a.write(PATH, memory("two", minutes=1))
        await rounds(w, a)
        assert len(json.loads(w.files("index")["index.json"])["memories"]) == 1


async def test_a_file_that_names_no_id_is_not_in_the_index(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        w.store.put("memories/broken.md", b"\xff text")
        w.store.put("index.json", b"{}")
        await rounds(w, a)
        assert json.loads(w.files("index")["index.json"])["memories"] == []


async def test_many_changes_in_a_row_are_one_rewrite_of_the_index(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        w.store.put("index.json", b"{}")
        w.clock.forward(minutes=1)
        await a.round()
        waits = []
        for number in range(10):
            w.clock.forward(seconds=1)
            await a.write(path_of(number), memory("x", number=number))
            waits.append((await a.round()).again_in)
        assert len(json.loads(w.files("index")["index.json"])["memories"]) == 0
        assert 15 < (waits[-1] or 0) <= 30
        w.clock.forward(seconds=31)
        await a.round()
        assert len(json.loads(w.files("index")["index.json"])["memories"]) == 10


async def expiring(w: SyncWorld, a: SyncDevice) -> None:
    await a.write(PATH, memory("short-lived", expires_at=START + timedelta(days=1)))
    await a.write(path_of(2), memory("lasting", number=2))
    await a.round()


async def test_what_expired_goes_to_the_trash_after_the_grace_period_and_from_there_after_thirty_days(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await expiring(w, a)
        expired = purged = 0
        days: list[int] = []
        for day in range(45):
            done = await retire(a.database, now=w.clock.now + timedelta(days=day), grace_days=7, trash_days=30)
            expired, purged = expired + done.expired, purged + done.purged
            days += [day] if done.expired or done.purged else []
        assert (expired, purged, days) == (1, 1, [8, 39])
        await a.round()
        assert list(w.files()) == [path_of(2)]


async def test_a_clock_that_has_just_jumped_retires_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        await expiring(w, a)
        retired = [await retire(a.database, now=START, grace_days=7, trash_days=30)]
        wrong = START + timedelta(days=4000)
        for minutes in (0, 20, 40):
            retired.append(
                await retire(a.database, now=wrong + timedelta(minutes=minutes), grace_days=7, trash_days=30)
            )
        retired.append(await retire(a.database, now=START + timedelta(hours=1), grace_days=7, trash_days=30))
        assert not any(done.expired or done.purged for done in retired)
        later = START + timedelta(days=20)
        for minutes in (0, 30, 61):
            done = await retire(a.database, now=later + timedelta(minutes=minutes), grace_days=7, trash_days=30)
        assert done.expired == 1


async def test_many_expired_memories_are_retired_in_bounded_steps(tmp_path: Path) -> None:
    async with world(tmp_path) as w:
        a = await w.device("a")
        gone = START - timedelta(days=30)
        await a.database.write(
            lambda c: [files.add(c, path_of(n), memory("x", number=n, expires_at=gone)).file_id for n in range(250)]
        )
        first = await retire(a.database, now=START, grace_days=7, trash_days=30)
        second = await retire(a.database, now=START, grace_days=7, trash_days=30)
        assert (first.expired, first.more, second.expired, second.more) == (200, True, 50, False)
