"""Notifications are a hint that comes fast, comes back, and is never needed."""

import time

import anyio
import pytest

from storage_backends.errors import PermanentError
from storage_backends.onedrive import push
from storage_backends.onedrive.push import socket_address
from tests.graph_emulator import Emulator
from tests.storage_backends.contract import View

from .conftest import NewStorage

FOLDER = "Apps/ClaudeMemory"


async def listening(emulator: Emulator) -> None:
    with anyio.fail_after(20):
        while not emulator.push.listeners:  # noqa: ASYNC110 - another thread's state
            await anyio.sleep(0.01)


async def quiet(storage: object) -> None:
    """Take the hints that belong to the past."""
    with anyio.fail_after(20):
        while await storage.wait_for_change(0.2):  # type: ignore[attr-defined]
            pass


async def test_an_edit_elsewhere_wakes_within_two_seconds(emulator: Emulator, new_storage: NewStorage) -> None:
    async with new_storage(push=True) as storage, anyio.create_task_group() as group:
        view = await View().follow(storage)
        group.start_soon(storage.wait_for_change, 0.1)
        await listening(emulator)
        await quiet(storage)
        begun = time.monotonic()
        emulator.drive.write(f"{FOLDER}/a.md", b"x")
        assert await storage.wait_for_change(10)
        await view.follow(storage)
        assert view.paths == {"a.md"}
        assert time.monotonic() - begun < 2


async def test_a_change_between_two_waits_is_not_missed(emulator: Emulator, new_storage: NewStorage) -> None:
    async with new_storage(push=True) as storage:
        await storage.scope()
        await storage.wait_for_change(0.01)
        await listening(emulator)
        await quiet(storage)
        emulator.drive.write(f"{FOLDER}/a.md", b"x")
        await anyio.sleep(0.3)
        assert await storage.wait_for_change(0)


async def test_a_dropped_connection_comes_back_and_counts_as_a_hint(
    emulator: Emulator, new_storage: NewStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push, "_PAUSE_MIN", 0.05)
    async with new_storage(push=True) as storage:
        await storage.scope()
        await storage.wait_for_change(0.01)
        await listening(emulator)
        await quiet(storage)
        emulator.push.drop_all()
        assert await storage.wait_for_change(10)  # something may have happened while nobody listened
        assert emulator.push.connected == 2
        assert emulator.push.registrations == 2


async def test_silence_longer_than_the_service_promised_is_a_dead_connection(
    emulator: Emulator, new_storage: NewStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push, "_PAUSE_MIN", 0.05)
    emulator.push.ping_interval, emulator.push.ping_timeout = 3600, -3599.7  # promises a word in 0.3 s, says none
    async with new_storage(push=True) as storage:
        await storage.scope()
        with anyio.fail_after(20):
            while emulator.push.connected < 3:
                await storage.wait_for_change(1)


async def test_pings_are_answered(emulator: Emulator, new_storage: NewStorage) -> None:
    emulator.push.ping_interval, emulator.push.ping_timeout = 0.05, 5
    async with new_storage(push=True) as storage:
        await storage.scope()
        await storage.wait_for_change(0.01)
        await listening(emulator)
        await anyio.sleep(0.4)
        assert emulator.push.connected == 1
        assert any(client.pongs >= 2 for client in emulator.push.clients)


async def test_the_address_is_renewed_before_it_ends(
    emulator: Emulator, new_storage: NewStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push, "_LIFETIME_MIN", 0.3)
    emulator.switches.socket_lifetime = 100  # less than the two minutes it is renewed early
    async with new_storage(push=True) as storage:
        await storage.scope()
        with anyio.fail_after(20):
            while emulator.push.registrations < 3:
                await storage.wait_for_change(1)


async def test_a_service_that_refuses_notifications_is_asked_again_later_and_nothing_else_suffers(
    emulator: Emulator, new_storage: NewStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push, "_REFUSED", 0.2)
    emulator.switches.socket_refused = True
    async with new_storage(push=True) as storage:
        await storage.scope()
        assert not await storage.wait_for_change(0.1)
        await storage.create("a.md", b"x")
        emulator.switches.socket_refused = False
        await storage.wait_for_change(0.5)
        await listening(emulator)


async def test_a_silent_service_only_times_out(emulator: Emulator, new_storage: NewStorage) -> None:
    emulator.switches.socket_silent = True
    async with new_storage(push=True) as storage:
        await storage.scope()
        await storage.wait_for_change(0.01)
        await listening(emulator)
        await quiet(storage)
        emulator.drive.write(f"{FOLDER}/a.md", b"x")
        assert not await storage.wait_for_change(0.2)


async def test_nothing_connects_before_the_first_wait_nor_when_switched_off(
    emulator: Emulator, new_storage: NewStorage
) -> None:
    async with new_storage(push=True) as storage:
        await View().follow(storage)
        await storage.create("a.md", b"x")
    async with new_storage(push=False) as storage:
        assert not storage.capabilities.pushes
        assert not await storage.wait_for_change(0.05)
    assert emulator.push.registrations == 0


async def test_leaving_the_storage_ends_the_connection(emulator: Emulator, new_storage: NewStorage) -> None:
    async with new_storage(push=True) as storage:
        await storage.scope()
        await storage.wait_for_change(0.01)
        await listening(emulator)
    with anyio.fail_after(10):
        while emulator.push.listeners:  # noqa: ASYNC110 - another thread's state
            await anyio.sleep(0.01)


def test_addresses_of_notifications_become_websockets_with_the_same_query() -> None:
    assert socket_address("https://push.example/notifications?token=a%2Bb&applicationId=c") == (
        "wss://push.example/socket.io/?EIO=4&transport=websocket&token=a%2Bb&applicationId=c"
    )
    assert socket_address("http://127.0.0.1:5/notifications?t=1").startswith("ws://127.0.0.1:5/socket.io/")
    for bad in ("", "http://push.example/notifications", "ftp://x/y", "nonsense"):
        with pytest.raises(PermanentError):
            socket_address(bad)
