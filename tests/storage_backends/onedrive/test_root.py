"""Where the memory folder is, and what is told when it cannot be used."""

from pathlib import Path

import pytest

from storage_backends.errors import AccessDenied, CursorExpired, NotFound, StorageError, Throttled, Unreachable
from storage_backends.onedrive import OneDriveSettings, check_up
from storage_backends.onedrive.items import canonical_drive
from tests.graph_emulator import Account, Emulator
from tests.storage_backends.contract import View

from .conftest import NewStorage

FOLDER = "Apps/ClaudeMemory"


async def test_the_app_folder_is_made_by_the_first_look(emulator: Emulator, new_storage: NewStorage) -> None:
    async with new_storage() as storage:
        await storage.create("a.md", b"x")
        assert storage.location.startswith("https://")
    assert emulator.drive.tree() == {f"{FOLDER}/a.md": b"x"}


async def test_a_localised_and_a_renamed_folder_is_the_same_folder(emulator: Emulator, new_storage: NewStorage) -> None:
    emulator.switches.app_folder_name = "應用程式"
    async with new_storage("home") as storage:
        scope = await storage.scope()
        await storage.create("a.md", b"x")
    emulator.drive.move("應用程式", "Aplikacje")
    emulator.drive.move("Aplikacje/ClaudeMemory", "Aplikacje/My memories")
    for home in ("home", "another"):
        async with new_storage(home) as storage:
            assert await storage.scope() == scope
            assert "a.md" in (await View().follow(storage)).paths
            await storage.create(f"{home}.md", b"x")
    assert set(emulator.drive.tree("Aplikacje/My memories")) == {"a.md", "home.md", "another.md"}


async def test_letter_case_and_zeros_of_the_drive_id_do_not_change_the_scope(
    emulator: Emulator, new_storage: NewStorage
) -> None:
    emulator.switches.drive_id_flips = True
    scopes = set()
    for _ in range(4):
        async with new_storage() as storage:
            scopes.add(await storage.scope())
            await storage.changes(None)
    assert len(scopes) == 1


def test_drive_ids_of_one_drive_are_equal_and_others_stay_apart() -> None:
    assert canonical_drive("0BCDEF0123456789") == canonical_drive("bcdef0123456789")
    assert canonical_drive("b!AbC") != canonical_drive("b!abc")


@pytest.mark.parametrize("folder", ["", "Notes/Claude memory"])
async def test_a_folder_that_was_there_and_is_gone_is_an_error_and_not_an_empty_store(
    emulator: Emulator, new_storage: NewStorage, folder: str
) -> None:
    where = folder or FOLDER
    async with new_storage("home", folder=folder, access="files") as storage:
        scope = await storage.scope()
        await storage.create("a.md", b"x")
        view = await View().follow(storage)
        emulator.drive.remove(where)
        with pytest.raises(CursorExpired):
            await storage.changes(view.cursor)
        # The app folder is made anew by the service itself when it is looked at: that is another scope.
        with pytest.raises(Unreachable):
            await storage.changes(None)
        with pytest.raises(StorageError):
            await storage.create("b.md", b"x")
        if folder:
            with pytest.raises(Unreachable, match="gone") as caught:
                await storage.scope()
            assert "recycle bin" in caught.value.hint
            emulator.drive.write(f"{where}/back.md", b"x")
        assert await storage.scope() != scope


async def test_a_write_into_a_folder_that_is_gone_makes_no_other_folder(
    emulator: Emulator, new_storage: NewStorage
) -> None:
    async with new_storage("home", folder="Notes/Memory") as storage:
        await storage.scope()
        emulator.drive.remove("Notes")
        for path in ("a.md", "memories/task/a.md"):
            with pytest.raises((Unreachable, NotFound)):
                await storage.create(path, b"x")
    assert emulator.drive.tree() == {}


async def test_a_token_for_the_app_folder_alone_reaches_all_that_is_needed(
    emulator: Emulator, new_storage: NewStorage
) -> None:
    emulator.oauth.fixed_tokens.clear()
    emulator.oauth.access["emulator-token"] = emulator_access(emulator, "Files.ReadWrite.AppFolder")
    async with new_storage() as storage:
        item = await storage.create("memories/a.md", b"one")
        view = await View().follow(storage)
        item = await storage.update(item.item_id, b"two", item.version)
        await view.follow(storage)
        assert view.items[item.item_id].version == item.version
        assert (await storage.read(item.item_id)).data == b"two"
        assert (await storage.find("memories/a.md")).item_id == item.item_id
        await storage.delete(item.item_id, item.version)


def emulator_access(emulator: Emulator, scope: str) -> object:
    from tests.graph_emulator.oauth import Access

    return Access(emulator.clock.now() + 3600, scope, cae=False)


async def test_the_services_fault_with_app_folders_is_told_with_the_way_out(
    emulator: Emulator, new_storage: NewStorage
) -> None:
    emulator.oauth.fixed_tokens.clear()
    emulator.oauth.access["emulator-token"] = emulator_access(emulator, "Files.ReadWrite.AppFolder")
    emulator.switches.app_folder_broken = True
    async with new_storage() as storage:
        with pytest.raises(AccessDenied, match="app folder") as caught:
            await storage.scope()
    assert 'access = "files"' in caught.value.hint


async def test_the_wider_permission_finds_the_same_folder(emulator: Emulator, new_storage: NewStorage) -> None:
    async with new_storage() as narrow, new_storage(access="files") as wide:
        assert await narrow.scope() == await wide.scope()


async def test_an_account_without_app_folders_gets_a_plain_one_with_the_wider_permission(
    emulator: Emulator, new_storage: NewStorage
) -> None:
    for status, code in ((403, "accessDenied"), (501, "notSupported"), (404, "itemNotFound")):
        emulator.fault(operations=("root",), status=status, code=code)
        async with new_storage(access="files") as storage:
            await storage.create(f"{status}.md", b"x")
    assert set(emulator.drive.tree(FOLDER)) == {"403.md", "501.md", "404.md"}


async def test_a_read_only_service_is_not_mistaken_for_a_missing_permission(
    emulator: Emulator, new_storage: NewStorage
) -> None:
    emulator.fault(operations=("root",), status=403, code="serviceReadOnly")
    async with new_storage() as storage:
        with pytest.raises(AccessDenied, match="read-only"):
            await storage.scope()


async def test_a_passing_fault_is_passed_on_as_such(emulator: Emulator, new_storage: NewStorage) -> None:
    async with new_storage(access="files") as storage:
        emulator.fault(operations=("root",), status=429, headers={"Retry-After": "5"})
        with pytest.raises(Throttled):
            await storage.scope()
        emulator.fault(operations=("root",), status=503)
        with pytest.raises(Unreachable):
            await storage.scope()
        await storage.scope()
    assert emulator.log.counts["drive"] == 0
    assert not any("/me/drives" in entry.target for entry in emulator.log.entries)


async def test_a_document_library_is_a_root_too(emulator: Emulator, new_storage: NewStorage) -> None:
    library = emulator.add_drive("b!TeamLibrary", Account.BUSINESS)
    library.write("Other/x.md", b"not ours")
    async with new_storage(drive="b!TeamLibrary", folder="Shared/Claude") as storage:
        await storage.create("memories/a.md", b"x")
        view = await View().follow(storage)
        library.write("Shared/Claude/b.md", b"theirs")
        await view.follow(storage)
        assert view.paths == {"memories/a.md", "b.md"}
    assert emulator.drive.tree() == {}


async def test_a_shared_folder_is_a_root_by_its_link_and_by_a_shortcut(
    emulator: Emulator, new_storage: NewStorage
) -> None:
    theirs = emulator.add_drive("b!SomebodyElse", Account.BUSINESS)
    theirs.write("For us/a.md", b"x")
    link = emulator.share(theirs, "For us")
    emulator.drive.shortcut("Shortcuts/For us", "b!SomebodyElse", theirs.find("For us").item_id)
    async with new_storage(folder=link) as by_link, new_storage(folder="Shortcuts/For us") as by_shortcut:
        assert await by_link.scope() == await by_shortcut.scope()
        assert (await View().follow(by_link)).paths == {"a.md"}
        await by_shortcut.create("b.md", b"x")
    assert set(theirs.tree("For us")) == {"a.md", "b.md"}


async def test_a_file_in_the_folders_place_is_told(emulator: Emulator, new_storage: NewStorage) -> None:
    emulator.drive.write("Notes/Memory", b"a file")
    async with new_storage(folder="Notes/Memory") as storage:
        with pytest.raises(AccessDenied, match="taken by a file"):
            await storage.scope()


async def test_items_that_left_the_folder_are_not_found_and_not_touched(
    emulator: Emulator, new_storage: NewStorage
) -> None:
    async with new_storage() as storage:
        item = await storage.create("memories/a.md", b"x")
        emulator.drive.move(f"{FOLDER}/memories/a.md", "Private/a.md")
        with pytest.raises(NotFound):
            await storage.stat(item.item_id)
        with pytest.raises(NotFound):
            await storage.read(item.item_id)
        with pytest.raises(StorageError):
            await storage.update(item.item_id, b"y", item.version)
        with pytest.raises(StorageError):
            await storage.delete(item.item_id, item.version)
    assert emulator.drive.tree("Private") == {"a.md": b"x"}


# What `doctor` is told


async def findings(emulator: Emulator, tmp_path: Path, **settings: object) -> dict[str, tuple[str, str]]:
    found = await check_up(OneDriveSettings(**settings), tmp_path / "doctor", emulator.environ)  # type: ignore[arg-type]
    return {finding.title: (finding.level, finding.message) for finding in found}


async def test_a_healthy_set_up_is_told_as_healthy(emulator: Emulator, tmp_path: Path) -> None:
    found = await findings(emulator, tmp_path)
    assert {title: level for title, (level, _) in found.items()} == dict.fromkeys(
        ("Login", "Folder", "Room", "Clock"), "ok"
    )


@pytest.mark.parametrize(("skew", "level"), [(5, "ok"), (60, "warning"), (-400, "error")])
async def test_a_wrong_clock_is_told(emulator: Emulator, tmp_path: Path, skew: float, level: str) -> None:
    emulator.clock.advance(skew)
    found = (await findings(emulator, tmp_path))["Clock"]
    assert found[0] == level
    if level != "ok":
        assert ("behind" if skew > 0 else "ahead of") in found[1]


async def test_no_room_no_network_no_access_and_a_pause_are_told(emulator: Emulator, tmp_path: Path) -> None:
    emulator.drive.write("big", b"x" * 100)
    emulator.switches.quota = 100
    assert (await findings(emulator, tmp_path))["Room"][0] == "error"
    emulator.switches.quota = 1 << 20
    assert (await findings(emulator, tmp_path))["Room"][0] == "warning"
    emulator.faults.throttle(90)
    assert "90 seconds" in (await findings(emulator, tmp_path))["Folder"][1]
    emulator.faults.clear()
    emulator.fault(operations=("stat",), status=403, code="accessDenied")
    assert (await findings(emulator, tmp_path))["Folder"][0] == "error"
    found = await check_up(
        OneDriveSettings(), tmp_path / "away", {**emulator.environ, "CLAUDE_MEMORY_GRAPH_URL": "http://127.0.0.1:9"}
    )
    assert [(f.title, f.level) for f in found][-1] == ("Folder", "error")
    bad = await check_up(OneDriveSettings(), tmp_path, {"CLAUDE_MEMORY_GRAPH_URL": "http://example.org"})
    assert [(f.title, f.level) for f in bad] == [("Address", "error")]
    nobody = await check_up(OneDriveSettings(client_id="x"), tmp_path, {})
    assert [(f.title, f.level) for f in nobody] == [("Login", "error")]
