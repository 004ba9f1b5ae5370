"""The contract, first part: one file at a time."""

from contextlib import nullcontext

import pytest

from storage_backends.base import StorageBackend
from storage_backends.errors import AlreadyExists, InvalidName, NotFound, VersionMismatch

from .contract_help import NOT_PORTABLE_NAMES, ODD_NAMES, REFUSED_NAMES, NewDevice, View


class FilesContract:
    # What a device says of itself

    async def test_all_devices_of_one_store_name_the_same_scope_and_place(self, new_device: NewDevice) -> None:
        async with new_device() as one, new_device() as other:
            assert isinstance(one, StorageBackend)
            assert await one.scope() == await other.scope()
            assert one.location == other.location != ""
            assert one.capabilities == other.capabilities

    # Create, find, stat, read

    async def test_an_empty_store_enumerates_as_complete_and_empty(self, new_device: NewDevice) -> None:
        async with new_device() as device:
            page = await device.changes(None)
            assert page.enumeration
            assert not page.more
            assert list(page.items) == []

    async def test_what_is_created_is_found_and_read_on_every_device(self, new_device: NewDevice) -> None:
        async with new_device() as one, new_device() as other:
            item = await one.create("memories/task/a.md", b"first\r\n\xef\xbb\xbf\x00\xff")
            assert (item.path, item.size) == ("memories/task/a.md", 12)
            for device in (one, other):
                assert (await device.find("memories/task/a.md")).item_id == item.item_id
                content = await device.read(item.item_id)
                assert content.data == b"first\r\n\xef\xbb\xbf\x00\xff"
                assert (content.item.item_id, content.item.path, content.item.size) == (item.item_id, item.path, 12)

    async def test_an_untouched_item_has_one_version_whoever_asks_and_however(self, new_device: NewDevice) -> None:
        async with new_device() as device:
            created = await device.create("a.md", b"one")
            seen = {created.version, (await device.stat(created.item_id)).version, (await device.find("a.md")).version}
            seen.add((await device.read(created.item_id)).item.version)
            view = await View().follow(device)
            seen.add(view.items[created.item_id].version)
            seen.update(item.version for item in (await View().follow(device)).items.values())
            assert len(seen) == 1

    @pytest.mark.parametrize("path", ODD_NAMES)
    async def test_odd_names_survive_every_call(self, new_device: NewDevice, path: str) -> None:
        async with new_device() as device:
            created = await device.create(path, b"one")
            assert created.path == path
            assert (await device.find(path)).item_id == created.item_id
            assert (await View().follow(device)).paths == {path}
            updated = await device.update(created.item_id, b"two", created.version)
            assert updated.path == path
            assert (await device.read(created.item_id)).data == b"two"
            await device.delete(created.item_id, updated.version)
            assert (await View().settle(device)).paths == set()

    @pytest.mark.parametrize("path", REFUSED_NAMES)
    async def test_no_path_from_outside_leaves_the_root(self, new_device: NewDevice, path: str) -> None:
        async with new_device() as device:
            with pytest.raises(InvalidName):
                await device.create(path, b"x")
            with pytest.raises(InvalidName):
                await device.find(path)
            assert (await View().follow(device)).paths == set()

    @pytest.mark.parametrize("path", NOT_PORTABLE_NAMES)
    async def test_names_that_some_machine_cannot_hold_are_never_made(self, new_device: NewDevice, path: str) -> None:
        async with new_device() as device:
            with pytest.raises(InvalidName):
                await device.create(path, b"x")
            assert (await View().follow(device)).paths == set()

    @pytest.mark.parametrize(
        "data", [b"", b"x", bytes(range(256)) * 3, b"\r\n" * 999], ids=["empty", "x", "all", "crlf"]
    )
    async def test_bytes_come_back_exactly(self, new_device: NewDevice, data: bytes) -> None:
        async with new_device() as device:
            item = await device.create("created.md", data)
            assert item.size == len(data)
            assert (await device.read(item.item_id)).data == data
            other = await device.create("updated.md", b"something else")
            updated = await device.update(other.item_id, data, other.version)
            assert updated.size == len(data)
            assert (await device.read(other.item_id)).data == data

    async def test_a_file_of_five_megabytes_comes_back_exactly(self, new_device: NewDevice) -> None:
        data = bytes(range(251)) * (5 * 1024 * 1024 // 251)
        async with new_device() as device:
            item = await device.create("documents/large.md", data)
            assert (await device.read(item.item_id)).data == data
            updated = await device.update(item.item_id, data[::-1], item.version)
            assert updated.size == len(data)
            assert (await device.read(item.item_id)).data == data[::-1]

    async def test_create_never_replaces(self, new_device: NewDevice) -> None:
        async with new_device() as one, new_device() as other:
            item = await one.create("a.md", b"first")
            for device in (one, other):
                with pytest.raises(AlreadyExists):
                    await device.create("a.md", b"second")
            assert (await other.read(item.item_id)).data == b"first"
            assert (await other.stat(item.item_id)).version == item.version

    async def test_names_that_differ_by_case_are_two_files_or_refused(self, new_device: NewDevice) -> None:
        async with new_device() as device:
            first = await device.create("memories/note.md", b"first")
            if device.capabilities.case_sensitive:
                second = await device.create("memories/NOTE.md", b"second")
                assert second.item_id != first.item_id
                assert (await device.read(second.item_id)).data == b"second"
            else:
                with pytest.raises(AlreadyExists):
                    await device.create("memories/NOTE.md", b"second")
            assert (await device.read(first.item_id)).data == b"first"
            assert (await device.stat(first.item_id)).path == "memories/note.md"

    async def test_what_never_was_is_not_found(self, new_device: NewDevice) -> None:
        async with new_device() as device:
            item = await device.create("a.md", b"x")
            await device.delete(item.item_id, item.version)
            with pytest.raises(NotFound):
                await device.find("nothing/here.md")
            for call in (device.stat(item.item_id), device.read(item.item_id), device.find("a.md")):
                with pytest.raises(NotFound):
                    await call

    # Update and delete

    async def test_an_update_replaces_the_bytes_and_nothing_else(self, new_device: NewDevice) -> None:
        async with new_device() as one, new_device() as other:
            item = await one.create("memories/a.md", b"first")
            updated = await other.update(item.item_id, b"second, longer", item.version)
            assert (updated.item_id, updated.path) == (item.item_id, item.path)
            assert updated.version != item.version
            assert (await one.read(item.item_id)).data == b"second, longer"
            assert (await one.stat(item.item_id)).version == (await other.stat(item.item_id)).version

    async def test_an_update_from_an_old_version_is_refused_and_changes_nothing(self, new_device: NewDevice) -> None:
        async with new_device() as one, new_device() as other:
            old = await one.create("a.md", b"first")
            new = await other.update(old.item_id, b"other", old.version)
            with pytest.raises(VersionMismatch):
                await one.update(old.item_id, b"mine!", old.version)
            with pytest.raises(VersionMismatch):
                await one.update(old.item_id, b"mine!", "never a version")
            assert (await one.read(old.item_id)).data == b"other"
            assert (await one.stat(old.item_id)).version == new.version

    async def test_an_update_of_something_gone_is_not_found(self, new_device: NewDevice) -> None:
        async with new_device() as device:
            item = await device.create("a.md", b"x")
            await device.delete(item.item_id, item.version)
            with pytest.raises(NotFound):
                await device.update(item.item_id, b"y", item.version)
            assert (await View().follow(device)).paths == set()

    async def test_every_change_of_bytes_changes_the_version_however_fast(self, new_device: NewDevice) -> None:
        async with new_device() as device, new_device() as other:
            item = await device.create("a.md", b"0000")
            seen = [item.version]
            for number in range(1, 25):
                item = await device.update(item.item_id, b"%04d" % number, item.version)
                assert (await other.stat(item.item_id)).version not in seen
                seen.append(item.version)
            assert len(set(seen)) == len(seen)
            for version in seen[:-1]:
                with pytest.raises(VersionMismatch):
                    await device.update(item.item_id, b"late", version)

    async def test_a_delete_removes_the_version_its_author_has_seen(self, new_device: NewDevice) -> None:
        async with new_device() as one, new_device() as other:
            item = await one.create("memories/a.md", b"x")
            await one.create("memories/b.md", b"stays")
            await other.delete(item.item_id, item.version)
            assert (await View().settle(one)).paths == {"memories/b.md"}

    async def test_a_delete_from_an_old_version_is_refused_and_removes_nothing(self, new_device: NewDevice) -> None:
        async with new_device() as one, new_device() as other:
            old = await one.create("a.md", b"first")
            await other.update(old.item_id, b"edit!", old.version)
            with pytest.raises(VersionMismatch):
                await one.delete(old.item_id, old.version)
            assert (await one.read(old.item_id)).data == b"edit!"

    async def test_deleting_what_is_gone_already_is_fine(self, new_device: NewDevice) -> None:
        async with new_device() as one, new_device() as other:
            item = await one.create("a.md", b"x")
            await one.delete(item.item_id, item.version)
            await one.delete(item.item_id, item.version)
            await other.delete(item.item_id, item.version)

    async def test_a_file_made_anew_is_not_mistaken_for_the_old_one(self, new_device: NewDevice) -> None:
        async with new_device() as device:
            old = await device.create("a.md", b"old text")
            await device.delete(old.item_id, old.version)
            new = await device.create("a.md", b"new text")
            with pytest.raises((VersionMismatch, NotFound)):
                await device.update(old.item_id, b"late", old.version)
            with pytest.raises(VersionMismatch) if new.item_id == old.item_id else nullcontext():
                await device.delete(old.item_id, old.version)
            assert (await device.read(new.item_id)).data == b"new text"
