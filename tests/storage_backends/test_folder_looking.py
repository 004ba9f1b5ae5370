"""What a folder shows: every change that programs can make to files, nothing that is not content, nothing outside."""

import os
import shutil
import socket
import subprocess
import unicodedata
from pathlib import Path

import pytest

from storage_backends.errors import (
    AccessDenied,
    AlreadyExists,
    CursorExpired,
    InvalidName,
    ItemBusy,
    NotFound,
    StorageError,
)
from storage_backends.folder import FolderStorage
from storage_backends.names import is_temporary

from .contract import View
from .folder_help import Clock, as_nobody, coarse_times, exfat, names, storage, tree

NFD_NAME = unicodedata.normalize("NFD", "Ångström café.md")
NFC_NAME = unicodedata.normalize("NFC", NFD_NAME)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


# Changes of every kind


async def test_two_saves_of_equal_size_in_one_tick_of_the_clock_are_two_versions(tmp_path: Path) -> None:
    with coarse_times(tmp_path) as disk:
        file = disk / "store" / "a.md"
        async with storage(file.parent) as device:
            file.write_bytes(b"000")
            view = await View().follow(device)
            seen = {view.items["a.md"].version}
            for number in range(1, 100):
                with file.open("r+b") as handle:  # in place: the same file in the same second
                    handle.write(b"%03d" % number)
                await view.follow(device)
                seen.add(view.items["a.md"].version)
                content = await device.read("a.md")
                assert (content.item.version, content.data) == (view.items["a.md"].version, b"%03d" % number)
            assert len(seen) == 100


async def test_a_file_made_in_the_same_tick_as_the_last_look_is_seen(tmp_path: Path) -> None:
    with coarse_times(tmp_path) as disk:
        async with storage(disk / "store") as device:
            view = await View().follow(device)
            await device.wait_for_change(0.3)  # from now on only what changed is looked at
            for number in range(30):
                (disk / "store" / f"{number}.md").write_bytes(b"x")
                page = device._state.page(view.cursor, set())
                assert [item.path for item in page.items] == [f"{number}.md"]
                view.cursor = page.cursor


async def test_a_change_that_sets_the_file_time_back_is_seen(root: Path) -> None:
    clock = Clock()
    FolderStorage.prepare(root)
    async with FolderStorage(root, clock=clock) as device:
        file = root / "a.md"
        file.write_bytes(b"before")
        before = file.stat()
        clock.ahead = 3600  # the file is no longer fresh: its stamp alone counts
        view = await View().follow(device)
        version = view.items["a.md"].version
        file.write_bytes(b"after!")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        await view.follow(device)
        assert view.items["a.md"].version != version


async def test_a_version_of_an_earlier_run_still_counts_when_nothing_changed(root: Path) -> None:
    async with storage(root) as first:
        item = await first.create("a.md", b"one")
    clock = Clock()
    clock.ahead = 3600
    async with FolderStorage(root, clock=clock) as second:
        aged = (await View().follow(second)).items["a.md"]
        assert (await second.update("a.md", b"two", item.version)).path == "a.md"
        with pytest.raises(StorageError):
            await second.update("a.md", b"three", aged.version)


EDITORS = {
    "append": 'printf more >> "$1"',
    "truncate-and-write": 'printf whole > "$1"',
    "sed -i": 'sed -i s/old/new/ "$1"',
    "rename-over": 'printf new > "$1.tmp" && mv "$1.tmp" "$1"',
    "backup-and-new": 'mv "$1" "$1~" && printf new > "$1"',
    "copy-over": 'printf new > "$1.part" && cp "$1.part" "$1" && rm "$1.part"',
    "delete-and-new": 'rm "$1" && printf new > "$1"',
    "vim, in place": 'vim -u NONE -i NONE -es -c "set backupcopy=yes backup" -c "%s/old/new/" -c wq "$1"',
    "vim, new file": 'vim -u NONE -i NONE -es -c "set backupcopy=no backup" -c "%s/old/new/" -c wq "$1"',
}


@pytest.mark.parametrize("editor", EDITORS)
async def test_every_editors_way_to_save_is_one_changed_file(root: Path, editor: str) -> None:
    program = EDITORS[editor].split(" ", 1)[0]
    if os.name != "posix" or (program in ("vim", "sed") and shutil.which(program) is None):
        pytest.skip(f"{program} is not here")
    async with storage(root) as device:
        item = await device.create("memories/task/note.md", b"old text\n")
        view = await View().follow(device)
        file = root / "memories/task/note.md"
        subprocess.run(["sh", "-c", EDITORS[editor], "sh", str(file)], check=True, capture_output=True)
        await view.settle(device)
        assert view.paths == {"memories/task/note.md"}
        content = await device.read(item.item_id)
        assert content.data == file.read_bytes() != b"old text\n"
        assert content.item.version == view.items[item.item_id].version != item.version


async def test_removed_and_renamed_folders_take_their_files_along(root: Path) -> None:
    async with storage(root) as device:
        for path in ("memories/a/1.md", "memories/a/deep/2.md", "memories/ab/3.md", "memories/gone/4.md"):
            await device.create(path, b"x")
        view = await View().follow(device)
        (root / "memories/a").rename(root / "memories/b")
        shutil.rmtree(root / "memories/gone")
        await view.follow(device)
        assert view.paths == {"memories/b/1.md", "memories/b/deep/2.md", "memories/ab/3.md"}


async def test_a_removal_right_after_our_own_write_is_seen(root: Path) -> None:
    async with storage(root) as device:
        view = await View().follow(device)
        await device.create("new/folder/a.md", b"x")
        (root / "new/folder/a.md").unlink()
        await view.follow(device)
        assert view.paths == set()


# What is content and what is not

TEMPORARY = [
    ".note.md.swp", ".note.md.swo", "4913", "note.md~", "#note.md#", ".#note.md", "~$note.docx", "note.tmp", "x.TMP",
    ".~lock.note.md#", ".~note.md", "note.md.part", ".DS_Store", "Thumbs.db", "desktop.ini", ".dropbox", "._note.md",
    ".dropbox.attr", ".goutputstream-ABC123", "sedAb12Cd", ".nfs0000000000abcdef", ".syncthing.note.md.tmp",
    "~syncthing~note.md.tmp", "note.md___jb_tmp___", ".note.md.kate-swp", "download.crdownload", ".sync_abc.db-wal",
]  # fmt: skip
CONTENT = [
    "note.md", "note (1).md", "note-DESKTOP-AB12CD.md", "note (Anna's conflicted copy 2026-01-01).md", ".hidden.md",
    "note.sync-conflict-20260101-120000-ABCDEFG.md", "note.md.bak", "sedation.md", "a#b.md", "~ note.md", "tmp",
    "Anna's note ~ 2.md", "desktop.md", "lock.md", "s.swap.md",
]  # fmt: skip


async def test_temporary_files_of_editors_and_sync_clients_are_no_items_and_copies_are(root: Path) -> None:
    assert [name for name in TEMPORARY if not is_temporary(name)] == []
    assert [name for name in CONTENT if is_temporary(name)] == []
    for folder in (".git", ".stfolder", ".stversions", ".dropbox.cache", "memories"):
        (root / folder).mkdir(parents=True)
        for name in (*TEMPORARY, *(CONTENT if folder == "memories" else ["config"])):
            (root / folder / name).write_bytes(b"x")
    async with storage(root) as device:
        assert (await View().follow(device)).paths == {f"memories/{name}" for name in CONTENT}
        for path in (".git/config", "memories/note.md~"):
            with pytest.raises(NotFound):
                await device.find(path)


async def test_special_files_are_left_alone_and_nothing_hangs_on_them(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with storage(root) as device:
        os.mkfifo(root / "pipe.md")
        with socket.socket(socket.AF_UNIX) as listener:
            monkeypatch.chdir(root)  # a socket's path has to be short
            listener.bind("socket.md")
            assert (await View().follow(device)).paths == set()
            for name in ("pipe.md", "socket.md"):
                with pytest.raises(NotFound):
                    await device.read(name)
                with pytest.raises(AlreadyExists):
                    await device.create(name, b"x")
        assert set(device.skipped) == {"pipe.md", "socket.md"}


async def test_a_name_that_is_no_text_spoils_nothing(root: Path) -> None:
    (root / "memories").mkdir(parents=True)
    Path(os.fsdecode(bytes(root / "memories") + b"/latin1-\xe9.md")).write_bytes(b"x")
    (root / "memories/back\\slash.md").write_bytes(b"x")
    (root / "memories/good.md").write_bytes(b"x")
    async with storage(root) as device:
        assert (await View().follow(device)).paths == {"memories/good.md"}
        assert len(device.skipped) == 2


async def test_a_file_that_icloud_keeps_only_a_stub_of_is_not_gone(root: Path) -> None:
    async with storage(root) as device:
        item = await device.create("memories/note.md", b"x")
        view = await View().follow(device)
        (root / "memories/note.md").rename(root / "memories/.note.md.icloud")
        await view.follow(device)
        assert view.paths == {"memories/note.md"}
        for call in (device.stat(item.item_id), device.read(item.item_id), device.delete(item.item_id, item.version)):
            with pytest.raises(ItemBusy):
                await call


# Unicode forms and case


async def test_a_decomposed_name_on_disk_is_one_composed_path(root: Path) -> None:
    (root / "memories").mkdir(parents=True)
    (root / "memories" / NFD_NAME).write_bytes(b"old")
    path = f"memories/{NFC_NAME}"
    async with storage(root) as device:
        view = await View().follow(device)
        assert view.paths == {path}
        with pytest.raises(AlreadyExists):
            await device.create(path, b"twin")
        item = await device.find(path)
        assert (await device.read(item.item_id)).data == b"old"
        item = await device.update(item.item_id, b"new", item.version)
        assert names(root / "memories") == [NFD_NAME]
        await view.follow(device)
        assert view.items == {item.item_id: item}
        await device.delete(item.item_id, item.version)
        assert tree(root) == {}


async def test_a_decomposed_folder_is_used_and_not_made_twice(root: Path) -> None:
    (root / unicodedata.normalize("NFD", "café")).mkdir(parents=True)
    async with storage(root) as device:
        await device.create("café/a.md", b"x")
        assert len(names(root)) == 1
        assert (await View().follow(device)).paths == {"café/a.md"}


async def test_of_two_unicode_forms_of_one_name_one_is_the_item_and_both_stay(root: Path) -> None:
    root.mkdir()
    (root / NFD_NAME).write_bytes(b"decomposed")
    (root / NFC_NAME).write_bytes(b"composed")
    if len(names(root)) == 1:
        pytest.skip("this file system takes both for one name")
    async with storage(root) as device:
        view = await View().follow(device)
        for _ in range(3):
            page = await device.changes(view.cursor)
            assert list(page.items) == []
            view.cursor = page.cursor
        assert (await device.read(NFC_NAME)).data == b"composed"
        assert list(device.skipped) == [NFD_NAME]
        assert len(names(root)) == 2


async def test_a_file_system_that_ignores_case_shows_each_file_once(tmp_path: Path) -> None:
    with exfat(tmp_path) as disk:
        async with storage(disk / "store") as device:
            await device.create("memories/Task/note.md", b"x")
            view = await View().follow(device)
            assert not device.capabilities.case_sensitive
            with pytest.raises(AlreadyExists):
                await device.create("memories/Task/NOTE.md", b"y")
            for path in ("memories/Task/NOTE.md", "memories/task/note.md"):
                with pytest.raises(NotFound):
                    await device.stat(path)
            made = await device.create("memories/task/other.md", b"z")
            assert made.path == "memories/Task/other.md"
            folder = disk / "store/memories/Task"
            (folder / "note.md").rename(folder / "Note.md")
            await view.settle(device)
            assert view.paths == {"memories/Task/Note.md", "memories/Task/other.md"}


# Links and permissions


async def test_links_are_never_followed_out_of_the_root(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_bytes(b"secret")
    async with storage(root) as device:
        await device.create("memories/a.md", b"x")
        (root / "memories/file.md").symlink_to(outside / "secret.md")
        (root / "memories/folder").symlink_to(outside, target_is_directory=True)
        (root / "memories/loop").symlink_to(root, target_is_directory=True)
        (root / "memories/dangling.md").symlink_to(tmp_path / "nowhere")
        assert (await View().follow(device)).paths == {"memories/a.md"}
        for path in ("memories/file.md", "memories/folder/secret.md", "memories/loop/memories/a.md"):
            for call in (device.find(path), device.stat(path), device.read(path), device.update(path, b"y", "v")):
                with pytest.raises(NotFound):
                    await call
            await device.delete(path, "v")
        for path in ("memories/folder/new.md", "memories/loop/new.md", "memories/a.md/new.md"):
            with pytest.raises(InvalidName):
                await device.create(path, b"y")
        for path in ("memories/file.md", "memories/dangling.md", "memories/folder"):
            with pytest.raises(AlreadyExists):
                await device.create(path, b"y")
        assert tree(outside) == {"secret.md": b"secret"}
        assert not (tmp_path / "nowhere").exists()


async def test_a_folder_that_becomes_a_link_is_gone_and_not_followed(root: Path, tmp_path: Path) -> None:
    async with storage(root) as device:
        item = await device.create("memories/task/a.md", b"x")
        view = await View().follow(device)
        (root / "memories/task").rename(tmp_path / "moved")
        (root / "memories/task").symlink_to(tmp_path / "moved", target_is_directory=True)
        await view.follow(device)
        assert view.paths == set()
        with pytest.raises(NotFound):
            await device.read(item.item_id)
        with pytest.raises(NotFound):
            await device.update(item.item_id, b"y", item.version)
        assert tree(tmp_path / "moved") == {"a.md": b"x"}


async def test_the_root_itself_may_be_reached_through_a_link(root: Path, tmp_path: Path) -> None:
    FolderStorage.prepare(root)
    (tmp_path / "link").symlink_to(root, target_is_directory=True)
    async with FolderStorage(tmp_path / "link") as linked, FolderStorage(root) as direct:
        await linked.create("a.md", b"x")
        assert (await View().follow(direct)).paths == {"a.md"}
        assert await linked.scope() == await direct.scope()


async def test_a_folder_that_cannot_be_read_is_an_error_and_not_empty() -> None:
    with as_nobody() as root:
        async with FolderStorage(root) as device:
            await device.create("memories/open/a.md", b"x")
            await device.create("memories/closed/b.md", b"x")
            view = await View().follow(device)
            (root / "memories/closed").chmod(0)
            for cursor in (view.cursor, None):
                with pytest.raises(AccessDenied):
                    await device.changes(cursor)
            with pytest.raises(AccessDenied):
                await device.stat("memories/closed/b.md")
            (root / "memories/closed").chmod(0o700)
            await view.follow(device)
            assert view.paths == {"memories/open/a.md", "memories/closed/b.md"}


async def test_a_file_that_cannot_be_read_stops_only_itself() -> None:
    with as_nobody() as root:
        async with FolderStorage(root) as device:
            await device.create("a.md", b"x")
            await device.create("b.md", b"x")
            (root / "a.md").chmod(0)
            assert (await View().follow(device)).paths == {"a.md", "b.md"}
            with pytest.raises(AccessDenied):
                await device.read("a.md")
            assert (await device.read("b.md")).data == b"x"


# Cursors


async def test_a_cursor_of_another_folder_or_run_is_refused(root: Path, tmp_path: Path) -> None:
    async with storage(root) as device, storage(tmp_path / "other") as other, FolderStorage(root) as again:
        await device.create("a.md", b"x")
        view = await View().follow(device)
        for stranger in (other, again):
            with pytest.raises(CursorExpired):
                await stranger.changes(view.cursor)


async def test_a_settled_store_is_not_read_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    FolderStorage.prepare(root)
    async with FolderStorage(root, clock=clock) as device:
        for number in range(20):
            await device.create(f"memories/{number}.md", b"x")
        clock.ahead = 3600
        view = await View().follow(device)  # ages every file
        from storage_backends.folder_directory import Directory

        def refuse(self: Directory, name: str) -> None:
            raise AssertionError(f"{name} was read")

        monkeypatch.setattr(Directory, "read", refuse)
        for cursor in (view.cursor, None):
            await device.changes(cursor)
