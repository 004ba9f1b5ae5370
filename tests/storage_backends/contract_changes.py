"""The contract, second part: following what changes, and waiting for it."""

import anyio
import pytest

from storage_backends.errors import CursorExpired

from .contract_help import Move, NewDevice, View


class ChangesContract:
    enumerated_files = 60

    # Changes

    async def test_an_enumeration_names_every_file(self, new_device: NewDevice) -> None:
        async with new_device() as one, new_device() as other:
            paths = {f"memories/{number % 7}/{number}.md" for number in range(self.enumerated_files)}
            for path in sorted(paths):
                await one.create(path, path.encode())
            gone = await one.create("memories/gone.md", b"x")
            await one.delete(gone.item_id, gone.version)
            for device in (one, other):
                view = await View().follow(device)
                assert view.paths == paths
                for item in list(view.items.values())[:5]:
                    assert (await device.read(item.item_id)).item == item

    async def test_changes_since_a_cursor_bring_what_others_did(self, new_device: NewDevice) -> None:
        async with new_device() as one, new_device() as other:
            kept = await one.create("memories/kept.md", b"kept")
            edited = await one.create("memories/edited.md", b"first")
            removed = await one.create("memories/removed.md", b"x")
            view = await View().follow(one)
            edited = await other.update(edited.item_id, b"again", edited.version)
            await other.delete(removed.item_id, removed.version)
            await other.create("memories/new/new.md", b"new")
            await view.follow(one)
            await view.settle(one)
            assert view.paths == {"memories/kept.md", "memories/edited.md", "memories/new/new.md"}
            assert view.items[edited.item_id].version == edited.version
            assert view.items[kept.item_id].version == kept.version

    async def test_an_edit_is_in_the_stream_and_not_only_in_stat(self, new_device: NewDevice) -> None:
        async with new_device() as one, new_device() as other:
            item = await one.create("a.md", b"0")
            view = await View().follow(one)
            for number in range(1, 6):
                item = await other.update(item.item_id, b"%d" % number, item.version)
                await view.follow(one)
                assert view.items[item.item_id].version == item.version

    async def test_a_quiet_store_brings_nothing_new(self, new_device: NewDevice) -> None:
        async with new_device() as device:
            for number in range(5):
                await device.create(f"{number}.md", b"x")
            view = await View().follow(device)
            before = dict(view.items)
            page = await device.changes(view.cursor)
            assert not page.enumeration
            assert not page.more
            assert all(before[item.item_id] == item for item in page.items)
            assert not set(page.removed) & set(before)

    async def test_a_page_can_be_asked_for_again(self, new_device: NewDevice) -> None:
        async with new_device() as one, new_device() as other:
            await one.create("a.md", b"x")
            view = await View().follow(one)
            new = await other.create("b.md", b"x")
            for _ in range(3):  # a caller that was killed before it stored the new cursor
                page = await one.changes(view.cursor)
                assert new.item_id in {item.item_id for item in page.items}

    async def test_what_changes_while_an_enumeration_runs_is_not_lost(self, new_device: NewDevice) -> None:
        async with new_device() as one, new_device() as other:
            made = [await one.create(f"{number:03}.md", b"x") for number in range(self.enumerated_files)]
            page = await one.changes(None)
            items = {item.item_id: item for item in page.items}
            late = await other.create("000-late.md", b"x")
            edited = await other.update(made[0].item_id, b"edited", made[0].version)
            while True:
                more = page.more
                page = await one.changes(page.cursor)
                items.update({item.item_id: item for item in page.items})
                if not more and not page.more:
                    break
            assert late.item_id in items
            assert items[edited.item_id].version == edited.version

    async def test_a_cursor_goes_on_after_a_restart_or_says_that_it_cannot(self, new_device: NewDevice) -> None:
        async with new_device() as one:
            await one.create("a.md", b"x")
            view = await View().follow(one)
        async with new_device() as other:
            await other.create("b.md", b"x")
        async with new_device() as restarted:
            try:
                await view.follow(restarted)
            except CursorExpired:
                view.cursor = None
                await view.follow(restarted)
            assert view.paths == {"a.md", "b.md"}

    @pytest.mark.parametrize("cursor", ["", "garbage", "1", "https://example.org/?token=x", "\0"])
    async def test_a_cursor_it_never_gave_is_refused(self, new_device: NewDevice, cursor: str) -> None:
        async with new_device() as device:
            with pytest.raises(CursorExpired):
                await device.changes(cursor)

    async def test_a_move_keeps_the_id_where_ids_are_stable(self, new_device: NewDevice, move: Move | None) -> None:
        if move is None:
            pytest.skip("this backend's tests cannot move a file from outside")
        async with new_device() as device:
            item = await device.create("memories/old/a.md", b"same bytes")
            view = await View().follow(device)
            await move("memories/old/a.md", "memories/new/b.md")
            await view.follow(device)
            await view.settle(device)
            assert view.paths == {"memories/new/b.md"}
            (moved,) = view.items.values()
            assert (moved.item_id == item.item_id) == device.capabilities.stable_ids
            assert (await device.read(moved.item_id)).data == b"same bytes"
            updated = await device.update(moved.item_id, b"edited", moved.version)
            assert updated.path == "memories/new/b.md"

    async def test_a_rename_of_case_only_is_seen(self, new_device: NewDevice, move: Move | None) -> None:
        if move is None:
            pytest.skip("this backend's tests cannot move a file from outside")
        async with new_device() as device:
            await device.create("memories/a.md", b"x")
            view = await View().follow(device)
            await move("memories/a.md", "memories/A.md")
            await view.settle(device)
            assert view.paths == {"memories/A.md"}

    # Waiting

    async def test_waiting_on_a_quiet_store_ends_with_its_time(self, new_device: NewDevice) -> None:
        async with new_device() as device:
            await device.create("a.md", b"x")
            await View().follow(device)
            with anyio.fail_after(10):
                while await device.wait_for_change(0.05):  # an early hint is legal, an endless one is not
                    await device.changes(None)

    async def test_waiting_ends_when_another_device_writes(self, new_device: NewDevice) -> None:
        async with new_device() as one, new_device() as other:
            if not one.capabilities.pushes:
                pytest.skip("this storage does not push")
            await one.create("memories/a.md", b"x")
            view = await View().follow(one)
            while await one.wait_for_change(0.3):
                await view.follow(one)
            for change in range(3):
                async with anyio.create_task_group() as group:

                    async def write(number: int) -> None:
                        await anyio.sleep(0.05)
                        await other.create(f"memories/new/{number}.md", b"new")

                    group.start_soon(write, change)
                    with anyio.fail_after(20):
                        while f"memories/new/{change}.md" not in view.paths:
                            await one.wait_for_change(20)
                            await view.follow(one)

    async def test_a_cancelled_wait_ends_at_once(self, new_device: NewDevice) -> None:
        async with new_device() as device:
            with anyio.fail_after(20):
                with anyio.move_on_after(0.1):
                    while True:
                        await device.wait_for_change(3600)
                await device.create("a.md", b"still works")

    async def test_leaving_ends_what_was_entered(self, new_device: NewDevice) -> None:
        async with new_device() as device:
            await device.create("a.md", b"x")
            await device.wait_for_change(0.01)
        async with new_device() as again:
            assert (await View().follow(again)).paths == {"a.md"}
