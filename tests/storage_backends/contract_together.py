"""The contract, third part: several writers and readers at once, and calls that are cancelled."""

import anyio
import pytest

from storage_backends.base import Item
from storage_backends.errors import AlreadyExists, ItemBusy, NotFound, VersionMismatch

from .contract_help import NewDevice, View, outcomes, steady_read


class TogetherContract:
    concurrent_writers = 6

    # Several at once

    async def test_of_writers_with_the_same_version_exactly_one_wins(self, new_device: NewDevice) -> None:
        async with new_device() as one, new_device() as other:
            item = await one.create("a.md", b"start")
            for turn in range(5):
                texts = [b"turn %d writer %d" % (turn, number) for number in range(self.concurrent_writers)]
                results = await outcomes(
                    [
                        lambda d=(one, other)[n % 2], t=text, i=item: d.update(i.item_id, t, i.version)
                        for n, text in enumerate(texts)
                    ]
                )
                winners = [n for n, result in enumerate(results) if isinstance(result, Item)]
                assert len(winners) == 1
                assert all(isinstance(r, VersionMismatch | ItemBusy) for r in results if not isinstance(r, Item))
                assert await steady_read(other, item.item_id) == texts[winners[0]]
                item = await one.stat(item.item_id)

    async def test_of_creators_of_one_path_exactly_one_wins(self, new_device: NewDevice) -> None:
        async with new_device() as one, new_device() as other:
            for turn in range(5):
                path = f"memories/{turn}/a.md"
                texts = [b"writer %d" % number for number in range(self.concurrent_writers)]
                results = await outcomes(
                    [lambda d=(one, other)[n % 2], t=t, p=path: d.create(p, t) for n, t in enumerate(texts)]
                )
                winners = [n for n, result in enumerate(results) if isinstance(result, Item)]
                assert len(winners) == 1
                assert all(isinstance(r, AlreadyExists) for r in results if not isinstance(r, Item))
                found = await other.find(path)
                assert await steady_read(other, found.item_id) == texts[winners[0]]

    async def test_a_delete_and_an_update_of_one_version_never_both_succeed(self, new_device: NewDevice) -> None:
        async with new_device() as one, new_device() as other:
            for turn in range(6):
                item = await one.create(f"{turn}.md", b"start")
                calls = [
                    lambda i=item: one.delete(i.item_id, i.version),
                    lambda i=item: other.update(i.item_id, b"edit", i.version),
                ]
                results = await outcomes(calls if turn % 2 else calls[::-1])
                if any(isinstance(result, Item) for result in results):
                    assert await steady_read(one, item.item_id) == b"edit"
                    assert sum(isinstance(result, VersionMismatch | ItemBusy) for result in results) == 1
                else:
                    assert any(result is None for result in results)
                    with pytest.raises(NotFound):
                        await one.stat(item.item_id)

    async def test_no_reader_ever_sees_half_a_file(self, new_device: NewDevice) -> None:
        async with new_device() as writer, new_device() as reader:
            item = await writer.create("a.md", b"0" * 70_000)
            done = False
            reads = 0

            async def read_on() -> None:
                nonlocal reads
                while not done:
                    data = await steady_read(reader, item.item_id)
                    assert len(set(data)) == 1
                    assert len(data) == 70_000 + (data[0] - ord("0")) * 1000
                    reads += 1

            async with anyio.create_task_group() as group:
                group.start_soon(read_on)
                version = item.version
                for number in range(40):
                    digit = (number + 1) % 10
                    data = b"%d" % digit * (70_000 + digit * 1000)
                    version = (await writer.update(item.item_id, data, version)).version
                done = True
            assert reads > 0

    async def test_a_cancelled_call_leaves_before_or_after(self, new_device: NewDevice) -> None:
        async with new_device() as device:
            item = await device.create("a.md", b"old")
            for delay in (0, 0, 0.0002, 0.001, 0.003):
                with anyio.CancelScope() as scope:
                    if delay:
                        scope.deadline = anyio.current_time() + delay
                    else:
                        scope.cancel()
                    await device.update(item.item_id, b"new" * 1000, item.version)
                item = await device.stat(item.item_id)
                assert await steady_read(device, item.item_id) in (b"old", b"new" * 1000)
                with anyio.CancelScope() as scope:
                    scope.deadline = anyio.current_time() + delay
                    await device.create(f"created-{delay}.md", b"whole")
            view = await View().follow(device)
            for known in view.items.values():
                assert (await device.read(known.item_id)).data in (b"old", b"new" * 1000, b"whole")
