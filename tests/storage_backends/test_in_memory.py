"""The store in memory keeps the contract, whichever of its traits are switched on."""

from typing import Literal

import anyio
import pytest

from storage_backends.errors import CursorExpired, NotFound, Unreachable, VersionMismatch
from storage_backends.in_memory import InMemoryStorage, InMemoryStore

from .contract import Move, NewDevice, StorageContract, View


class TestInMemoryStorage(StorageContract):
    @pytest.fixture
    def store(self) -> InMemoryStore:
        return InMemoryStore()

    @pytest.fixture
    def new_device(self, store: InMemoryStore) -> NewDevice:
        return lambda: InMemoryStorage(store)

    @pytest.fixture
    def move(self, store: InMemoryStore) -> Move:
        async def move(path: str, new_path: str) -> None:
            store.move(path, new_path)

        return move


class TestPathsAsIds(TestInMemoryStorage):
    @pytest.fixture
    def store(self) -> InMemoryStore:
        return InMemoryStore(stable_ids=False, page_size=7)


class TestTheWeakestStorage(TestInMemoryStorage):
    @pytest.fixture
    def store(self) -> InMemoryStore:
        return InMemoryStore(
            stable_ids=False, atomic_conditions=False, case_sensitive=False, announces_removals=False, page_size=3
        )


async def test_an_answer_that_gets_lost_leaves_the_write_done() -> None:
    store = InMemoryStore()
    lost = True

    async def lose(phase: Literal["before", "after"], call: str, subject: str) -> None:
        if lost and phase == "after" and call == "create":
            raise Unreachable("The line broke.")

    device = InMemoryStorage(store, intercept=lose)
    with pytest.raises(Unreachable):
        await device.create("a.md", b"x")
    lost = False
    assert (await device.find("a.md")).size == 1


async def test_a_call_that_is_kept_from_happening_changes_nothing() -> None:
    store = InMemoryStore()
    item = store.put("a.md", b"x")

    async def refuse(phase: Literal["before", "after"], call: str, subject: str) -> None:
        raise Unreachable("No network.")

    device = InMemoryStorage(store, intercept=refuse)
    with pytest.raises(Unreachable):
        await device.update(item.item_id, b"y", item.version)
    assert store.files() == {"a.md": b"x"}


async def test_without_atomic_conditions_a_displaced_version_comes_back() -> None:
    store = InMemoryStore(atomic_conditions=False)
    device = InMemoryStorage(store)
    item = store.put("a.md", b"start")

    async with anyio.create_task_group() as group:

        async def update() -> None:
            with pytest.raises(VersionMismatch):
                await device.update(item.item_id, b"mine", item.version)

        group.start_soon(update)
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()
        edited = store.put("a.md", b"an editor's save in that instant")
    assert store.files() == {"a.md": b"an editor's save in that instant"}
    assert (await device.stat(item.item_id)).version == edited.version


async def test_removals_that_are_kept_quiet_show_in_the_next_enumeration() -> None:
    store = InMemoryStore(announces_removals=False)
    device = InMemoryStorage(store)
    store.put("a.md", b"x")
    view = await View().follow(device)
    store.remove("a.md")
    await view.follow(device)
    assert view.paths == {"a.md"}
    view.cursor = None
    assert (await view.follow(device)).paths == set()


async def test_expired_cursors_are_refused_and_a_new_enumeration_goes_on() -> None:
    store = InMemoryStore()
    device = InMemoryStorage(store)
    store.put("a.md", b"x")
    view = await View().follow(device)
    store.expire_cursors()
    with pytest.raises(CursorExpired):
        await device.changes(view.cursor)
    assert (await View().follow(device)).paths == {"a.md"}


async def test_two_stores_are_two_scopes_and_refuse_each_others_cursors() -> None:
    one, other = InMemoryStorage(InMemoryStore()), InMemoryStorage(InMemoryStore())
    assert await one.scope() != await other.scope()
    view = await View().follow(one)
    with pytest.raises(CursorExpired):
        await other.changes(view.cursor)


async def test_own_writes_do_not_wake_their_author() -> None:
    device = InMemoryStorage(InMemoryStore())
    await device.create("a.md", b"x")
    assert not await device.wait_for_change(0.01)


async def test_an_outside_delete_is_not_found() -> None:
    store = InMemoryStore()
    with pytest.raises(NotFound):
        store.remove("a.md")
