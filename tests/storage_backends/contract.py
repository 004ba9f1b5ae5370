"""The guarantees of `storage_backends.base`, as one class that the tests of every backend inherit.

    class TestMyStorage(StorageContract):
        @pytest.fixture
        def new_device(self) -> NewDevice:
            return lambda: MyStorage(...)      # each call another device; all share one empty store

Devices are entered by the tests. `move` renames a file behind the backend's back; without it those tests are skipped.
"""

import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import anyio
import pytest

from storage_backends.base import Item, StorageBackend
from storage_backends.errors import (
    AlreadyExists,
    CursorExpired,
    InvalidName,
    ItemBusy,
    NotFound,
    StorageError,
    VersionMismatch,
)

NewDevice = Callable[[], StorageBackend]
Move = Callable[[str, str], Awaitable[None]]

ODD_NAMES = [
    "memories/work/2026-01-02-plain-0a1b2c3d.md",
    "index.json",
    "a",
    "deep/er/and/deep/er/x.md",
    "memories/emptyish/ .md".replace(" ", "\u00a0"),
    "memories/with space/a b  c.md",
    "memories/100% #1 & more; it's (1) +x=y@z, [ok] {ok} $HOME `x` ^ ! ~.md",
    "memories/percent/%41%2e%2e%2fescape.md",
    "memories/日本語/設定の書き方.md",
    unicodedata.normalize("NFC", "memories/café/Ångström naïve.md"),
    "memories/한국어/조선글.md",
    "memories/العربية/مرحبا.md",
    "memories/emoji/🧠 memory 👩‍💻.md",
    "memories/dash/-rf.md",
    "memories/dots/a..b...c.md",
    "memories/dots/.hidden.md",
    "memories/copy/note (conflicted copy 2026-01-01).md",
    "memories/copy/note.sync-conflict-20260101-120000-ABCDEFG.md",
    "memories/long/" + "x" * 200 + ".md",
    "memories/long/" + "記" * 80 + ".md",
]

REFUSED_NAMES = [
    "",
    "/etc/passwd",
    "../escape.md",
    "memories/../../escape.md",
    "memories/./x.md",
    "memories//x.md",
    "memories/",
    "..",
    ".",
    "C:\\escape.md",
    "C:escape.md",
    "memories/C:escape.md",
    "a\\..\\..\\escape.md",
    "nul\0byte.md",
    "\ud800.md",
    unicodedata.normalize("NFD", "é.md"),
]

NOT_PORTABLE_NAMES = [
    "memories/CON.md",
    "memories/nul.tar.gz",
    "aux/x.md",
    "com1.md",
    "trailing dot./x.md",
    "trailing space /x.md",
    " leading.md",
    "dot.",
    "what?.md",
    "a:b.md",
    "pipe|.md",
    'quote".md',
    "line\nbreak.md",
    "note.md~",
    ".note.md.swp",
    "~$note.md",
    "note.tmp",
    ".git/config",
    "~folder/x.md",
    "x_vti_x.md",
    "x" * 256,
    "/".join(["d" * 99] * 5),
]


@dataclass
class View:
    """What a caller knows after following the changes."""

    items: dict[str, Item] = field(default_factory=dict)
    cursor: str | None = None

    async def follow(self, device: StorageBackend) -> "View":
        """Take in every page; an enumeration ends with dropping what it did not name."""
        named: set[str] = set()
        enumeration = False
        while True:
            page = await device.changes(self.cursor)
            enumeration = enumeration or page.enumeration
            self.items.update({item.item_id: item for item in page.items})
            for item_id in page.removed:
                self.items.pop(item_id, None)
            named.update(item.item_id for item in page.items)
            self.cursor = page.cursor
            if not page.more:
                break
        if enumeration:
            self.items = {item_id: item for item_id, item in self.items.items() if item_id in named}
        return self

    async def settle(self, device: StorageBackend) -> "View":
        """Follow, and ask about every item that the stream may have kept quiet about."""
        await self.follow(device)
        for item_id in list(self.items):
            try:
                self.items[item_id] = await device.stat(item_id)
            except NotFound:
                del self.items[item_id]
        return self

    @property
    def paths(self) -> set[str]:
        return {item.path for item in self.items.values()}


async def outcomes(calls: Sequence[Callable[[], Awaitable[object]]]) -> list[object]:
    """Run all at once; each one's result or storage error."""
    results: list[object] = [None] * len(calls)

    async def run(number: int, call: Callable[[], Awaitable[object]]) -> None:
        try:
            results[number] = await call()
        except StorageError as error:
            results[number] = error

    async with anyio.create_task_group() as group:
        for number, call in enumerate(calls):
            group.start_soon(run, number, call)
    return results


async def steady_read(device: StorageBackend, item_id: str) -> bytes:
    """The bytes; a busy item is asked for again, as a caller would."""
    while True:
        try:
            return (await device.read(item_id)).data
        except ItemBusy:
            await anyio.sleep(0.001)


class StorageContract:
    """Every backend's tests inherit this class and give `new_device`."""

    concurrent_writers = 6
    enumerated_files = 60

    @pytest.fixture
    def new_device(self) -> NewDevice:
        raise NotImplementedError

    @pytest.fixture
    def move(self) -> Move | None:
        return None

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
            item = await one.create("memories/work/a.md", b"first\r\n\xef\xbb\xbf\x00\xff")
            assert (item.path, item.size) == ("memories/work/a.md", 12)
            for device in (one, other):
                assert (await device.find("memories/work/a.md")).item_id == item.item_id
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
            with pytest.raises(VersionMismatch) if new.item_id == old.item_id else _nothing():
                await device.delete(old.item_id, old.version)
            assert (await device.read(new.item_id)).data == b"new text"

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


class _nothing:  # noqa: N801 - stands where pytest.raises would
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...
