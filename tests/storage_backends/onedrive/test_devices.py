"""Whole devices over OneDrive: what one remembers the other recalls, at the price of few requests, and whatever
the service does on the way, nothing is lost."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from daemon.errors import StorageEmptied
from storage_backends.errors import LoginRequired, StorageError, Throttled, Unreachable
from storage_backends.onedrive import backend
from tests.graph_emulator import Account, Chaos, Emulator

from .devices import FOLDER, OneDriveDevice, device, memories_of, settle

PERSONAL = pytest.mark.parametrize("account", [Account.PERSONAL], indirect=True)


async def test_what_one_device_remembers_edits_and_forgets_the_other_follows(
    emulator: Emulator, tmp_path: Path
) -> None:
    async with device("A", tmp_path, emulator) as one, device("B", tmp_path, emulator) as other:
        memory = await one.remember("The database runs on port 5432")
        await settle(one, other)
        assert await other.texts() == {memory.id: "The database runs on port 5432"}
        await other.edit(memory.id, "The database runs on port 6432")
        await settle(other, one)
        assert await one.texts() == {memory.id: "The database runs on port 6432"}
        emulator.drive.write(f"{FOLDER}/memories/preferences/by-hand.md", b"Tabs, not spaces\n")
        await settle(one, other)
        await anyio.sleep(1.2)  # a hand-written file is taken in when it has been quiet for a second
        await settle(one, other)
        assert sorted((await one.texts()).values()) == sorted((await other.texts()).values())
        assert len(await one.texts()) == 2
        await one.cache.forget(memory.id)
        await settle(one, other)
        assert memory.id not in await other.texts()
        assert await one.files() == await other.files() == memories_of(emulator)


async def test_two_edits_of_one_memory_lose_neither_text(emulator: Emulator, tmp_path: Path) -> None:
    async with device("A", tmp_path, emulator) as one, device("B", tmp_path, emulator) as other:
        memory = await one.remember("first line\nsecond line")
        await settle(one, other)
        await one.edit(memory.id, "first line by A\nsecond line")
        await other.edit(memory.id, "first line by B\nsecond line")
        await settle(one, other, rounds=8)
        everything = b"".join(memories_of(emulator).values())
        assert b"first line by A" in everything
        assert b"first line by B" in everything
        assert await one.files() == await other.files() == memories_of(emulator)
        assert len(await one.cache.conflicts()) == len(await other.cache.conflicts()) == 1


# Requests


async def test_requests_are_as_few_as_they_can_be(emulator: Emulator, tmp_path: Path) -> None:
    async with device("A", tmp_path, emulator) as one, device("B", tmp_path, emulator) as other:
        memory = await one.remember("The database runs on port 5432")
        await settle(one, other)
        for _ in range(2):  # notes of devices and echoes of writes come to rest
            await settle(one, other)
        with emulator.counting() as log:
            await other.round()
        assert dict(log.counts) == {"delta": 1}, "an idle round is one request"
        await one.edit(memory.id, "The database runs on port 6432")
        with emulator.counting() as log:
            await one.round()
        assert dict(log.counts) == {"delta": 1, "update": 1}, "a local change is one upload"
        with emulator.counting() as log:
            await other.round()
        assert dict(log.counts) == {"delta": 1, "download": 1, "bytes": 1}, "a remote change is one download"
        assert (await other.texts())[memory.id] == "The database runs on port 6432"
        with emulator.counting() as log:
            await one.round()
        assert log.counts["download"] == 0, "a write of its own that comes back is not downloaded"


# Faults: what the device does, and that nothing is lost

PASSING = {
    "500 on every kind": {"status": 500, "times": 6},
    "504 pages of a gateway": {"status": 504, "html": True, "times": 6},
    "no answer": {"wire": "lose", "times": 6},
    "answers lost after the work was done": {"wire": "lose", "after": True, "times": 6},
    "errors after the work was done": {"status": 500, "after": True, "times": 6},
    "connections reset": {"wire": "reset", "after": True, "times": 6},
    "bodies cut off": {"wire": "truncate", "after": True, "times": 6},
    "login pages": {"status": 200, "html": True, "times": 4},
    "locked": {"operations": ("update", "create", "delete"), "status": 423, "code": "resourceLocked", "times": 3},
    "not visible yet": {
        "operations": ("stat", "download", "update"),
        "status": 404,
        "code": "itemNotFound",
        "times": 2,
    },
    "raced without a race": {"operations": ("update",), "status": 409, "code": "resourceModified", "times": 2},
    "false mismatch": {"operations": ("update", "delete"), "status": 412, "code": "notAllowed", "times": 2},
    "refused token": {"status": 401, "code": "InvalidAuthenticationToken", "times": 2},
    "refused access": {"status": 403, "code": "accessDenied", "times": 3},
    "read-only service": {"operations": ("update", "create", "delete"), "status": 403, "code": "serviceReadOnly"},
    "full": {"operations": ("update", "create"), "status": 507, "code": "quotaLimitReached", "times": 3},
    "resync": {"operations": ("delta",), "status": 410, "code": "resyncRequired", "times": 2},
    "dead links": {"operations": ("delta",), "status": 404, "code": "itemNotFound", "times": 2},
}


async def life(one: OneDriveDevice, other: OneDriveDevice, turn: int, known: list[str]) -> None:
    """Two devices are used for a while, a round now and then."""
    for number in range(2):
        known.append((await one.remember(f"Fact {turn}.{number} of A: port {5000 + turn}")).id)
        known.append((await other.remember(f"Fact {turn}.{number} of B: host h{turn}")).id)
    await one.try_round()
    await other.try_round()
    here = await one.texts()
    if known[0] in here:
        await one.edit(known[0], f"{here[known[0]]}\nedited by A in turn {turn}")
    there = await other.texts()
    if known[0] in there:
        await other.edit(known[0], f"{there[known[0]]}\nedited by B in turn {turn}")
    await one.try_round()
    await other.try_round()


async def nothing_lost(one: OneDriveDevice, other: OneDriveDevice, emulator: Emulator, known: list[str]) -> None:
    await settle(one, other, rounds=12)
    assert await one.files() == await other.files() == memories_of(emulator)
    texts = await one.texts()
    assert set(texts) == set(known)
    everything = b"".join(memories_of(emulator).values()).decode()
    for turn in range(2):
        for who in "AB":
            if f"edited by {who} in turn {turn}" in "".join([*texts.values(), *(await other.texts()).values()]):
                assert f"edited by {who} in turn {turn}" in everything


@PERSONAL
@pytest.mark.parametrize("fault", PASSING)
async def test_a_passing_fault_costs_time_and_no_memory(emulator: Emulator, tmp_path: Path, fault: str) -> None:
    known: list[str] = []
    async with device("A", tmp_path, emulator) as one, device("B", tmp_path, emulator) as other:
        await life(one, other, 0, known)
        emulator.fault(**PASSING[fault])
        await life(one, other, 1, known)
        emulator.faults.clear()
        await nothing_lost(one, other, emulator, known)


SWITCHES: dict[str, dict[str, object]] = {
    "etags move after uploads": {"etag_moves_after_upload": True},
    "delta lags": {"delta_lag": 0.2},
    "delta without paths and parents": {"parent_path_in_delta": False, "ancestors_in_delta": False},
    "no hashes": {"hashes": ()},
    "drive ids flip": {"drive_id_flips": True},
    "contents without redirect": {"content_redirects": False},
    "no folders by themselves": {"implicit_folders": False},
    "small shuffled pages with duplicates": {
        "page_size": 2,
        "shuffle": True,
        "duplicate_items": 0.5,
        "empty_pages": True,
    },
    "no delta at all": {"folder_delta": False, "root_delta_denied": True},
    "endless pages": {"endless_pages": "cycle"},
    "every cursor dies": {"expire_cursors": 410},
    "tombstones get lost": {"drop_tombstones": 1.0},
    "stale downloads": {"stale_downloads": True},
    "login pages for contents": {"captive_downloads": True},
    "read only": {"read_only": True},
    "full": {"quota": 1},
}


ODD = [
    *((Account.PERSONAL, switch) for switch in SWITCHES),
    (Account.BUSINESS, "delta without paths and parents"),
    (Account.BUSINESS, "no delta at all"),
    (Account.BUSINESS, "tombstones get lost"),
    (Account.BUSINESS, "etags move after uploads"),
]


@pytest.mark.parametrize(("account", "switch"), ODD, indirect=["account"])
async def test_an_odd_service_costs_time_and_no_memory(emulator: Emulator, tmp_path: Path, switch: str) -> None:
    known: list[str] = []
    async with device("A", tmp_path, emulator) as one, device("B", tmp_path, emulator) as other:
        await life(one, other, 0, known)
        ordinary = {name: getattr(emulator.switches, name) for name in SWITCHES[switch]}
        for name, value in SWITCHES[switch].items():
            setattr(emulator.switches, name, value)
        await life(one, other, 1, known)
        for name, value in ordinary.items():
            setattr(emulator.switches, name, value)
        await nothing_lost(one, other, emulator, known)


@PERSONAL
@pytest.mark.parametrize("seed", range(3))
async def test_chaos_costs_time_and_no_memory(emulator: Emulator, tmp_path: Path, seed: int) -> None:
    known: list[str] = []
    async with device("A", tmp_path, emulator) as one, device("B", tmp_path, emulator) as other:
        emulator.faults.chaos = Chaos(seed, 0.25)
        for turn in range(3):
            await life(one, other, turn, known)
        emulator.faults.clear()
        await nothing_lost(one, other, emulator, known)


@PERSONAL
async def test_nothing_is_sent_while_a_pause_runs(emulator: Emulator, tmp_path: Path) -> None:
    async with device("A", tmp_path, emulator) as one:
        await one.remember("kept")
        emulator.faults.throttle(400)
        for _ in range(4):
            with pytest.raises(Throttled):
                await one.round()
        assert emulator.faults.sent_while_throttled == 0
        emulator.faults.clear()


@PERSONAL
async def test_a_login_that_has_ended_keeps_everything_for_later(emulator: Emulator, tmp_path: Path) -> None:
    async with device("A", tmp_path, emulator) as one, device("B", tmp_path, emulator) as other:
        await one.remember("before")
        await settle(one, other)
        tokens = set(emulator.oauth.fixed_tokens)
        emulator.oauth.fixed_tokens.clear()
        await one.remember("meanwhile")
        with pytest.raises(LoginRequired):
            await one.round()
        assert len(await one.texts()) == 2
        emulator.oauth.fixed_tokens |= tokens
        await settle(one, other)
        assert sorted((await other.texts()).values()) == ["before", "meanwhile"]


@PERSONAL
async def test_an_emptied_and_a_vanished_folder_delete_nothing_here(emulator: Emulator, tmp_path: Path) -> None:
    async with device("A", tmp_path, emulator) as one:
        for number in range(12):
            await one.remember(f"Fact number {number}")
        await settle(one)
        for state in emulator.drive.children(emulator.drive.find(FOLDER).item_id):
            emulator.drive.delete(state.item_id)
        for _ in range(3):
            with pytest.raises((StorageEmptied, StorageError)):
                await one.round()
        assert len(await one.texts()) == 12
        emulator.drive.remove(FOLDER)
        for _ in range(3):
            await one.try_round()
        assert len(await one.texts()) == 12


@PERSONAL
async def test_the_folder_of_settings_that_vanished_is_unreachable_and_nothing_is_lost(
    emulator: Emulator, tmp_path: Path
) -> None:
    async with device("A", tmp_path, emulator, folder="Notes/Memory") as one:
        await one.remember("kept")
        await settle(one)
        emulator.drive.remove("Notes")
        for _ in range(3):
            with pytest.raises(Unreachable):
                await one.round()
        assert list((await one.texts()).values()) == ["kept"]
    assert emulator.drive.tree() == {}


async def test_a_deleted_folder_of_memories_is_followed_within_the_brake(
    emulator: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "_LAG", 0.0)  # the files were written long ago
    async with device("A", tmp_path, emulator) as one, device("B", tmp_path, emulator) as other:
        for number in range(5):
            await one.remember(f"Fact {number}", "learnings")
        kept = await one.remember("A preference", "preferences")
        await settle(one, other)
        emulator.drive.remove(f"{FOLDER}/memories/learnings")
        await settle(one, other, rounds=8)
        assert set(await one.texts()) == set(await other.texts()) == {kept.id}
        assert len(await one.cache.trash()) == 5


async def test_a_renamed_folder_of_memories_moves_them(emulator: Emulator, tmp_path: Path) -> None:
    async with device("A", tmp_path, emulator) as one, device("B", tmp_path, emulator) as other:
        for number in range(5):
            await one.remember(f"Fact {number}", "learnings")
        await settle(one, other)
        before = await one.texts()
        emulator.drive.move(f"{FOLDER}/memories/learnings", f"{FOLDER}/memories/lessons")
        with emulator.counting() as log:
            await settle(one, other, rounds=8)
        assert await one.texts() == await other.texts() == before
        assert await one.files() == await other.files() == memories_of(emulator)
        assert all(path.startswith("memories/lessons/") for path in memories_of(emulator))
        assert log.counts["delete"] == log.counts["create"] == 0


# Crashes


def sync_process(home: Path, emulator: Emulator) -> subprocess.Popen[bytes]:
    environ = {
        **os.environ,
        **emulator.environ,
        "CLAUDE_MEMORY_HOME": str(home),
        "CLAUDE_MEMORY_STORAGE_BACKEND": "onedrive",
        "CLAUDE_MEMORY_ONEDRIVE_PUSH": "false",
        "CLAUDE_MEMORY_DAEMON_AUTOSTART": "false",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "command_line", "sync"],
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@PERSONAL
async def test_an_initial_pull_that_is_killed_again_and_again_goes_on_where_it_was(
    emulator: Emulator, tmp_path: Path
) -> None:
    total = 120
    for number in range(total):
        text = f'---\nid: "{number:08x}-0000-4000-8000-000000000000"\ncategory: learnings\n---\n\nFact {number}\n'
        emulator.drive.write(f"{FOLDER}/memories/c{number % 6}/2026-01-01-fact-{number:08x}.md", text.encode())
    emulator.switches.page_size = 10
    home = tmp_path / "killed"
    kills = 0
    with emulator.counting() as log:
        for delay in (0.05, 0.4, 0.25):
            running = sync_process(home, emulator)
            before = log.graph
            with anyio.move_on_after(30):
                while log.graph == before and running.poll() is None:  # noqa: ASYNC110 - another process
                    await anyio.sleep(0.005)
            await anyio.sleep(delay)
            if running.poll() is None:
                running.send_signal(signal.SIGKILL)
                kills += 1
            running.wait(30)
        last = sync_process(home, emulator)
        with anyio.fail_after(90):
            while last.poll() is None:  # noqa: ASYNC110 - another process
                await anyio.sleep(0.05)
        listings = [entry.target for entry in log.entries if entry.operation == "children"]
    assert last.returncode == 0
    assert kills >= 2
    assert len(listings) - len(set(listings)) <= kills, "a kill costs at most the page that was on its way"
    async with device("killed", tmp_path, emulator) as one:
        assert len(await one.texts()) == total
        await one.round()
        assert await one.files() == memories_of(emulator)
