"""A root that is missing, unmounted, replaced, read-only or full is an error, and never an empty store."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from storage_backends.errors import AccessDenied, AlreadyExists, CursorExpired, StorageError, StorageFull, Unreachable
from storage_backends.folder import FolderStorage

from .contract import View
from .folder_help import as_nobody, mounted, names, storage, temporary_files, tree


async def every_call_fails(device: FolderStorage, kind: type[StorageError], cursor: str | None) -> None:
    for call in (
        device.scope(),
        device.changes(None),
        device.changes(cursor),
        device.stat("a.md"),
        device.find("a.md"),
        device.read("a.md"),
        device.create("new/b.md", b"x"),
        device.update("a.md", b"y", "v"),
        device.delete("a.md", "v"),
    ):
        with pytest.raises(kind) as caught:
            await call
        assert caught.value.hint


async def test_a_root_that_is_not_there_is_unreachable_and_never_made(tmp_path: Path) -> None:
    async with FolderStorage(tmp_path / "no" / "root") as device:
        await every_call_fails(device, Unreachable, "folder:1:2:3:4:5")
        assert not await device.wait_for_change(0.01)
        assert names(tmp_path) == []


async def test_a_root_that_is_a_file_is_unreachable(tmp_path: Path) -> None:
    (tmp_path / "root").write_bytes(b"x")
    async with FolderStorage(tmp_path / "root") as device:
        await every_call_fails(device, Unreachable, None)
    with pytest.raises(AlreadyExists):
        FolderStorage.prepare(tmp_path / "root")


async def test_setup_makes_the_root_for_its_owner_only(tmp_path: Path) -> None:
    FolderStorage.prepare(tmp_path / "a" / "root")
    FolderStorage.prepare(tmp_path / "a" / "root")
    assert (tmp_path / "a" / "root").stat().st_mode & 0o777 == 0o700


async def test_a_root_that_vanishes_and_comes_back_is_the_same_store(tmp_path: Path) -> None:
    root = tmp_path / "root"
    async with storage(root) as device:
        await device.create("a.md", b"x")
        view = await View().follow(device)
        root.rename(tmp_path / "away")
        await every_call_fails(device, Unreachable, view.cursor)
        assert not root.exists()
        (tmp_path / "away").rename(root)
        await device.create("b.md", b"x")
        assert (await view.follow(device)).paths == {"a.md", "b.md"}


async def test_an_empty_folder_in_the_place_of_a_full_one_is_not_an_empty_store(tmp_path: Path) -> None:
    root = tmp_path / "root"
    async with storage(root) as device:
        await device.create("a.md", b"x")
        view = await View().follow(device)
        root.rename(tmp_path / "away")
        root.mkdir()
        (root / ".DS_Store").write_bytes(b"x")  # the system's own file makes it no store
        await every_call_fails(device, Unreachable, view.cursor)
        assert names(root) == [".DS_Store"]
    async with FolderStorage(root) as restarted:
        with pytest.raises(Unreachable):
            await restarted.changes(view.cursor)


async def test_another_full_folder_in_its_place_is_enumerated_anew(tmp_path: Path) -> None:
    root = tmp_path / "root"
    async with storage(root) as device:
        await device.create("a.md", b"x")
        scope = await device.scope()
        view = await View().follow(device)
        root.rename(tmp_path / "away")
        shutil.copytree(tmp_path / "away", root)
        (root / "b.md").write_bytes(b"x")
        assert await device.scope() == scope  # what a round asks first
        with pytest.raises(CursorExpired):
            await device.changes(view.cursor)
        assert (await View().follow(device)).paths == {"a.md", "b.md"}
        assert (await device.read("b.md")).data == b"x"


async def test_emptying_the_folder_by_hand_is_not_an_unmount(tmp_path: Path) -> None:
    root = tmp_path / "root"
    async with storage(root) as device:
        await device.create("a.md", b"x")
        view = await View().follow(device)
        (root / "a.md").unlink()
        assert (await view.follow(device)).paths == set()


async def test_an_unmounted_root_is_unreachable_until_it_is_mounted_again(tmp_path: Path) -> None:
    disk, root = tmp_path / "disk", tmp_path / "root"
    disk.mkdir()
    with mounted(root, "--bind", str(disk)), mounted(disk, "-t", "tmpfs", "none"):
        subprocess.run(["umount", str(root)], check=True)
        subprocess.run(["mount", "--bind", str(disk), str(root)], check=True)
        async with FolderStorage(root) as device:
            await device.create("memories/a.md", b"x")
            view = await View().follow(device)
            await device.wait_for_change(0.3)  # a watched disk can still be unmounted
            subprocess.run(["umount", str(root)], check=True)
            await every_call_fails(device, Unreachable, view.cursor)
            assert names(root) == []
            async with FolderStorage(root) as restarted:
                with pytest.raises(Unreachable):
                    await restarted.changes(view.cursor)
                with pytest.raises(Unreachable):
                    await restarted.changes(view.cursor)
            subprocess.run(["mount", "--bind", str(disk), str(root)], check=True)
            assert (await view.follow(device)).paths == {"memories/a.md"}
            await device.create("memories/b.md", b"x")


async def test_an_unmounted_folder_below_the_root_is_no_mass_delete(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "memories").mkdir(parents=True)
    async with FolderStorage(root) as device:
        await device.create("index.json", b"{}")
        with mounted(root / "memories", "-t", "tmpfs", "none"):
            for number in range(3):
                await device.create(f"memories/{number}.md", b"x")
            view = await View().follow(device)
            subprocess.run(["umount", str(root / "memories")], check=True)
            for cursor in (view.cursor, None):
                with pytest.raises(Unreachable):
                    await device.changes(cursor)


async def test_a_full_disk_stops_the_write_and_harms_nothing(tmp_path: Path) -> None:
    root = tmp_path / "root"
    with mounted(root, "-t", "tmpfs", "-o", "size=1m", "none"):
        async with FolderStorage(root) as device:
            item = await device.create("memories/a.md", b"small")
            for call in (
                device.create("memories/big.md", b"x" * 2_000_000),
                device.update(item.item_id, b"x" * 2_000_000, item.version),
            ):
                with pytest.raises(StorageFull):
                    await call
            assert tree(root) == {"memories/a.md": b"small"}
            assert temporary_files(root) == []
            await device.update(item.item_id, b"still works", item.version)


async def test_a_read_only_disk_is_read_and_its_writes_are_denied(tmp_path: Path) -> None:
    root = tmp_path / "root"
    with mounted(root, "-t", "tmpfs", "none"):
        async with FolderStorage(root) as device:
            item = await device.create("memories/a.md", b"x")
            subprocess.run(["mount", "-o", "remount,ro", str(root)], check=True)
            assert (await device.read(item.item_id)).data == b"x"
            assert (await View().follow(device)).paths == {"memories/a.md"}
            for call in (
                device.create("memories/b.md", b"x"),
                device.create("new/b.md", b"x"),
                device.update(item.item_id, b"y", item.version),
                device.delete(item.item_id, item.version),
            ):
                with pytest.raises(AccessDenied):
                    await call
            assert tree(root) == {"memories/a.md": b"x"}


async def test_a_file_that_may_not_be_changed_stays_as_it_is(tmp_path: Path) -> None:
    root = tmp_path / "root"
    async with storage(root) as device:
        item = await device.create("memories/a.md", b"x")
        chattr = ["chattr", "+i", str(root / "memories/a.md")]
        if shutil.which("chattr") is None or subprocess.run(chattr, capture_output=True, check=False).returncode != 0:
            pytest.skip("chattr does not work here")
        try:
            item = await device.stat(item.item_id)
            with pytest.raises(AccessDenied):
                await device.update(item.item_id, b"y", item.version)
            with pytest.raises(AccessDenied):
                await device.delete(item.item_id, item.version)
            assert tree(root) == {"memories/a.md": b"x"}
        finally:
            subprocess.run(["chattr", "-i", str(root / "memories/a.md")], check=True)


async def test_a_folder_without_permission_to_write_denies_each_write() -> None:
    with as_nobody() as root:
        async with FolderStorage(root) as device:
            item = await device.create("memories/a.md", b"x")
            (root / "memories").chmod(0o500)
            for call in (
                device.create("memories/b.md", b"x"),
                device.update(item.item_id, b"y", item.version),
                device.delete(item.item_id, item.version),
            ):
                with pytest.raises(AccessDenied):
                    await call
            (root / "memories").chmod(0o700)
            root.chmod(0)
            with pytest.raises(AccessDenied):
                await device.changes(None)
            root.chmod(0o700)
            assert tree(root) == {"memories/a.md": b"x"}


@pytest.mark.skipif(os.name != "posix", reason="uses modes of POSIX")
async def test_new_files_are_private_and_an_update_keeps_what_its_owner_set(tmp_path: Path) -> None:
    root = tmp_path / "root"
    old_mask = os.umask(0)
    try:
        async with storage(root) as device:
            item = await device.create("memories/task/a.md", b"x")
            file = root / "memories/task/a.md"
            assert [path.stat().st_mode & 0o7777 for path in (file, file.parent)] == [0o600, 0o700]
            file.chmod(0o664)
            if os.geteuid() == 0:
                os.chown(file, 1234, 4321)
            before = file.stat()
            item = await device.stat(item.item_id)
            await device.update(item.item_id, b"y", item.version)
            after = file.stat()
            assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
            assert after.st_ino != before.st_ino
    finally:
        os.umask(old_mask)
