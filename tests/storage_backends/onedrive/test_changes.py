"""The stream of changes stays true, however the service tells it."""

import contextlib
import random
from collections.abc import Callable

import pytest

from storage_backends.base import StorageBackend
from storage_backends.errors import AccessDenied, CursorExpired, StorageError, Unreachable
from storage_backends.onedrive.backend import OneDriveStorage
from tests.graph_emulator import Account, Emulator, Tombstone
from tests.graph_emulator.drive import Refused
from tests.storage_backends.contract import View

from .conftest import NewStorage

FOLDER = "Apps/ClaudeMemory"


async def follow(view: View, storage: StorageBackend) -> View:
    """Follow the stream; enumerate anew when the cursor has died, as every caller has to."""
    try:
        return await view.follow(storage)
    except CursorExpired:
        view.cursor = None
        return await view.follow(storage)


async def fresh(storage: StorageBackend) -> View:
    await storage.scope()
    return await View().follow(storage)


async def step(view: View, storage: StorageBackend, times: int) -> None:
    for _ in range(times):
        view.cursor = (await storage.changes(view.cursor)).cursor


def seen(view: View) -> dict[str, int]:
    return {item.path: item.size for item in view.items.values()}


def there(emulator: Emulator) -> dict[str, int]:
    return {path: len(data) for path, data in emulator.drive.tree(FOLDER).items()}


class Somebody:
    """Another client of the drive: writes, moves, renames and deletes files and folders, in and beside ours."""

    def __init__(self, emulator: Emulator, seed: int) -> None:
        self.drive, self.dice = emulator.drive, random.Random(seed)
        self.number = 0

    def path(self) -> str:
        top = self.dice.choice([FOLDER, FOLDER, FOLDER, "Documents", "Apps/Other"])
        folders = self.dice.choices(["a", "b", "c"], k=self.dice.randrange(3))
        return "/".join([top, *folders, f"{self.dice.randrange(12)}.md"])

    def act(self) -> None:
        files = [f"/{p}" for p in self.drive.tree()]
        folders = sorted({f.rsplit("/", 1)[0] for f in files} - {"", f"/{FOLDER}", "/Apps"})
        choice = self.dice.random()
        if choice < 0.5 or not files:
            self.number += 1
            self.drive.write(self.path(), b"x" * self.number)
        elif choice < 0.65:
            self.drive.remove(self.dice.choice(files))
        elif choice < 0.8:
            self.quietly(lambda: self.drive.move(self.dice.choice(files), self.path()))
        elif folders and choice < 0.88:
            self.quietly(lambda: self.drive.remove(self.dice.choice(folders)))
        elif folders:
            target = self.path().rsplit("/", 1)[0] + f"/moved{self.dice.randrange(3)}"
            self.quietly(lambda: self.drive.move(self.dice.choice(folders), target))

    @staticmethod
    def quietly(action: Callable[[], object]) -> None:
        with contextlib.suppress(Refused):  # the name is taken, or a folder would move into itself
            action()


TELLINGS: dict[str, dict[str, object]] = {
    "plain": {},
    "small shuffled pages": {"page_size": 2, "shuffle": True},
    "duplicates and empty pages": {"page_size": 3, "duplicate_items": 0.5, "empty_pages": True},
    "no paths, no ancestors": {"parent_path_in_delta": False, "ancestors_in_delta": False},
    "bare tombstones": {"tombstone": Tombstone.BARE, "child_tombstones": False},
    "full tombstones": {"tombstone": Tombstone.FULL, "child_tombstones": True, "shuffle": True, "page_size": 2},
    "flipping drive ids": {"drive_id_flips": True},
    "no delta of folders": {"folder_delta": False},
    "no delta at all": {"folder_delta": False, "root_delta_denied": True},
    "no newest position": {"latest_refused": True, "page_size": 3, "shuffle": True},
}


@pytest.mark.parametrize("telling", TELLINGS)
@pytest.mark.parametrize("seed", range(2))
async def test_whoever_follows_knows_the_files_as_they_are(
    emulator: Emulator, new_storage: NewStorage, telling: str, seed: int
) -> None:
    for name, value in TELLINGS[telling].items():
        setattr(emulator.switches, name, value)
    somebody = Somebody(emulator, seed)
    for _ in range(12):
        somebody.act()
    async with new_storage() as storage:
        view = await fresh(storage)
        for _ in range(6):
            assert seen(view) == there(emulator)
            for _ in range(somebody.dice.randrange(6)):
                somebody.act()
            await follow(view, storage)
        assert seen(view) == there(emulator)


async def test_files_of_other_folders_and_apps_never_appear(emulator: Emulator, new_storage: NewStorage) -> None:
    emulator.drive.write("Apps/Other/memories/a.md", b"other app")
    emulator.drive.write("memories/a.md", b"top")
    emulator.drive.write(f"{FOLDER}2/a.md", b"neighbour")
    async with new_storage() as storage:
        view = await fresh(storage)
        assert seen(view) == {}
        emulator.drive.write("Apps/Other/memories/b.md", b"other app")
        emulator.drive.write(f"{FOLDER}/memories/c.md", b"ours")
        await follow(view, storage)
        assert seen(view) == {"memories/c.md": 4}


async def test_links_into_other_drives_and_notebooks_are_no_files(emulator: Emulator, new_storage: NewStorage) -> None:
    emulator.drive.write(f"{FOLDER}/a.md", b"x")
    emulator.drive.shortcut(f"{FOLDER}/Shared.md", "b!elsewhere", "01ABC")
    async with new_storage() as storage:
        assert seen(await fresh(storage)) == {"a.md": 1}


async def test_a_lost_tombstone_is_found_by_the_next_enumeration(emulator: Emulator, new_storage: NewStorage) -> None:
    for number in range(5):
        emulator.drive.write(f"{FOLDER}/{number}.md", b"x")
    emulator.switches.drop_tombstones = 1.0
    async with new_storage() as storage:
        view = await fresh(storage)
        emulator.drive.remove(f"{FOLDER}/3.md")
        await follow(view, storage)
        assert len(view.items) == 5
        view.cursor = None
        await follow(view, storage)
        assert seen(view) == there(emulator)


async def test_a_folder_deleted_and_made_again_while_pages_are_read_is_not_mixed_up(
    emulator: Emulator, new_storage: NewStorage
) -> None:
    for number in range(6):
        emulator.drive.write(f"{FOLDER}/a/{number}.md", b"old")
    async with new_storage() as storage:
        view = await fresh(storage)
        emulator.drive.remove(f"{FOLDER}/a")
        emulator.drive.write(f"{FOLDER}/a/0.md", b"newer")
        await follow(view, storage)
        await view.settle(storage)
        assert seen(view) == {"a/0.md": 5}


# Dead and endless links


@pytest.mark.parametrize("status", [400, 404, 410, 501])
async def test_a_cursor_that_the_service_forgot_leads_to_an_enumeration(
    emulator: Emulator, new_storage: NewStorage, status: int
) -> None:
    emulator.drive.write(f"{FOLDER}/a.md", b"x")
    async with new_storage() as storage:
        view = await fresh(storage)
        emulator.switches.expire_cursors = status
        with pytest.raises(CursorExpired):
            await storage.changes(view.cursor)
        emulator.switches.expire_cursors = 0
        emulator.drive.write(f"{FOLDER}/b.md", b"x")
        view.cursor = None
        assert seen(await view.follow(storage)) == {"a.md": 1, "b.md": 1}


async def test_a_service_that_expires_every_cursor_at_once_still_lets_us_enumerate(
    emulator: Emulator, new_storage: NewStorage
) -> None:
    emulator.drive.write(f"{FOLDER}/a.md", b"x")
    emulator.switches.endless_pages = "same"
    async with new_storage() as storage:
        view = await fresh(storage)
        assert seen(view) == {"a.md": 1}
        emulator.drive.write(f"{FOLDER}/b.md", b"x")
        assert seen(await follow(view, storage)) == {"a.md": 1, "b.md": 1}


@pytest.mark.parametrize("ring", ["same", "cycle"])
async def test_links_that_run_in_a_ring_end_the_round(emulator: Emulator, new_storage: NewStorage, ring: str) -> None:
    emulator.drive.write(f"{FOLDER}/a.md", b"x")
    async with new_storage() as storage:
        view = await fresh(storage)
        emulator.switches.endless_pages = ring
        emulator.log.clear()
        with pytest.raises(CursorExpired):
            await step(view, storage, 50)
        assert emulator.log.graph < 10
        emulator.switches.endless_pages = ""
        view.cursor = None
        assert seen(await view.follow(storage)) == {"a.md": 1}


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_a_failing_service_is_no_end_of_the_cursor(
    emulator: Emulator, new_storage: NewStorage, status: int
) -> None:
    emulator.drive.write(f"{FOLDER}/a.md", b"x")
    async with new_storage() as storage:
        view = await fresh(storage)
        emulator.fault(operations=("delta",), status=status, html=status == 504)
        with pytest.raises(Unreachable):
            await storage.changes(view.cursor)
        emulator.drive.write(f"{FOLDER}/b.md", b"x")
        assert seen(await view.follow(storage)) == {"a.md": 1, "b.md": 1}


async def test_an_error_is_never_an_empty_listing(emulator: Emulator, new_storage: NewStorage) -> None:
    emulator.drive.write(f"{FOLDER}/a.md", b"x")
    async with new_storage() as storage:
        await storage.scope()
        for fault in ({"status": 504, "html": True}, {"status": 200, "html": True}, {"status": 200, "body": b"[]"}):
            emulator.fault(operations=("children",), **fault)
            with pytest.raises(Unreachable):
                await storage.changes(None)
        emulator.fault(operations=("children",), status=403, code="accessDenied")
        with pytest.raises(AccessDenied):
            await storage.changes(None)
        emulator.fault(operations=("children",), wire="truncate", after=True)
        with pytest.raises(Unreachable):
            await storage.changes(None)


async def test_a_link_to_another_host_is_not_followed(emulator: Emulator, new_storage: NewStorage) -> None:
    async with new_storage() as storage:
        view = await fresh(storage)
        emulator.fault(
            operations=("delta",),
            status=200,
            body=b'{"value": [], "@odata.nextLink": "http://localhost:9/v1.0/steal?token=x"}',
        )
        with pytest.raises(StorageError):
            await step(view, storage, 3)


# Our own writes


async def test_delta_from_before_our_own_write_does_not_bring_the_old_version_back(
    emulator: Emulator, new_storage: NewStorage
) -> None:
    async with new_storage() as storage, new_storage() as other:
        item = await other.create("a.md", b"one")
        view = await fresh(storage)
        emulator.switches.delta_lag = 3600  # delta knows nothing of what follows
        mine = await storage.update(item.item_id, b"two", item.version)
        emulator.mounted().feed.expire()
        view.cursor = None
        await view.follow(storage)
        assert view.items[mine.item_id].version == mine.version


async def test_an_item_of_ours_that_delta_still_shows_after_its_deletion_stays_gone(
    emulator: Emulator, new_storage: NewStorage
) -> None:
    async with new_storage() as storage:
        item = await storage.create("a.md", b"one")
        view = await fresh(storage)
        await storage.delete(item.item_id, item.version)
        stale = (
            '{"value": [{"id": "%s", "name": "a.md", "eTag": "old", "size": 3, "file": {},'
            ' "parentReference": {"id": "%s"}}], "@odata.deltaLink": "%s/later?token=1"}'
        )
        root = emulator.drive.find(FOLDER).item_id
        emulator.fault(operations=("delta",), status=200, body=(stale % (item.item_id, root, emulator.url)).encode())
        page = await storage.changes(view.cursor)
        assert list(page.items) == []
        assert item.item_id in page.removed


# Requests


async def test_an_idle_round_is_one_request_also_after_a_restart(emulator: Emulator, new_storage: NewStorage) -> None:
    emulator.drive.write(f"{FOLDER}/memories/a.md", b"x")
    async with new_storage("home") as storage:
        view = await fresh(storage)
        for _ in range(3):
            with emulator.counting() as log:
                await view.follow(storage)
            assert dict(log.counts) == {"delta": 1}
    async with new_storage("home") as restarted:
        with emulator.counting() as log:
            await restarted.scope()
            await view.follow(restarted)
        assert dict(log.counts) == {"delta": 1}


async def test_a_remote_change_is_one_delta_and_one_download(emulator: Emulator, new_storage: NewStorage) -> None:
    emulator.drive.write(f"{FOLDER}/memories/a.md", b"x")
    async with new_storage() as storage:
        view = await fresh(storage)
        emulator.drive.write(f"{FOLDER}/memories/b.md", b"new")
        with emulator.counting() as log:
            page = await storage.changes(view.cursor)
            (item,) = [item for item in page.items if item.path.endswith("b.md")]
            content = await storage.read(item.item_id)
        assert content.data == b"new"
        assert content.item == item
        assert dict(log.counts) == {"delta": 1, "download": 1, "bytes": 1}


async def test_a_local_change_is_one_upload(emulator: Emulator, new_storage: NewStorage) -> None:
    async with new_storage() as storage:
        await fresh(storage)
        await storage.create("memories/a.md", b"x")
        with emulator.counting() as log:
            item = await storage.create("memories/b.md", b"x")
            item = await storage.update(item.item_id, b"y", item.version)
            await storage.delete(item.item_id, item.version)
        assert log.counts["create"] == 1
        assert log.counts["update"] == 1
        assert log.counts["delete"] == 1
        assert log.graph <= 4  # once, the parent of a folder that was just made is looked up


async def test_an_enumeration_goes_on_after_any_page_without_asking_for_one_twice(
    emulator: Emulator, new_storage: NewStorage
) -> None:
    for number in range(40):
        emulator.drive.write(f"{FOLDER}/memories/{number % 4}/{number}.md", b"x")
    emulator.switches.page_size = 5
    async with new_storage("home") as storage:
        await storage.scope()
        with emulator.counting() as log:
            whole = await fresh(storage)
        targets = [entry.target for entry in log.entries if entry.operation == "children"]
        assert len(targets) == len(set(targets))
    view, cursor, more = View(), None, True
    with emulator.counting() as log:
        while more:
            async with new_storage("home") as storage:  # killed after each page
                page = await storage.changes(cursor)
                view.items.update({item.item_id: item for item in page.items})
                cursor, more = page.cursor, page.more
                assert page.enumeration
    assert view.items == whole.items
    again = [entry.target for entry in log.entries if entry.operation == "children"]
    assert sorted(again) == sorted(targets)


async def test_an_enumeration_never_reads_the_rest_of_a_large_drive(
    emulator: Emulator, new_storage: NewStorage, account: Account
) -> None:
    for number in range(300):
        emulator.drive.write(f"Pictures/{number // 50}/{number}.jpg", b"x")
    emulator.drive.write(f"{FOLDER}/a.md", b"x")
    emulator.switches.page_size = 10
    async with new_storage() as storage:
        with emulator.counting() as log:
            assert seen(await fresh(storage)) == {"a.md": 1}
        assert log.graph <= 6


async def test_a_cursor_of_another_folder_is_refused(emulator: Emulator, new_storage: NewStorage) -> None:
    async with new_storage() as storage, new_storage(folder="Elsewhere") as other:
        view = await fresh(storage)
        assert isinstance(other, OneDriveStorage)
        with pytest.raises(CursorExpired):
            await other.changes(view.cursor)
