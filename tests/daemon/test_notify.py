"""What a service manager hears, on a real datagram socket."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from daemon.notify import Notifier, Progress, feed_watchdog


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(str(tmp_path / "notify"))
        channel.settimeout(5)
        yield channel


def heard(manager: socket.socket) -> str:
    return manager.recv(4096).decode()


def test_a_service_manager_hears_the_life_of_the_service(manager: socket.socket) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": manager.getsockname()})
    notifier.ready("in step")
    notifier.status("syncing")
    notifier.extend_timeout(1.5)
    notifier.stopping()

    assert heard(manager) == "READY=1\nSTATUS=in step"
    assert heard(manager) == "STATUS=syncing"
    assert heard(manager) == "EXTEND_TIMEOUT_USEC=1500000"
    assert heard(manager) == "STOPPING=1\nSTATUS=stopping"


@pytest.mark.skipif(not Path("/proc/net/unix").exists(), reason="abstract sockets are Linux's")
def test_an_abstract_address_is_understood() -> None:
    name = f"claude-memory-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind("\0" + name)
        channel.settimeout(5)
        Notifier({"NOTIFY_SOCKET": "@" + name}).status("x")
        assert heard(channel) == "STATUS=x"


def test_a_manager_that_is_gone_is_no_reason_to_fail(tmp_path: Path) -> None:
    Notifier({"NOTIFY_SOCKET": str(tmp_path / "nobody")}).ready("x")
    Notifier({}).ready("x")


def test_the_watchdog_of_another_process_is_not_ours() -> None:
    environ = {"NOTIFY_SOCKET": "/nowhere", "WATCHDOG_USEC": "2000000"}
    assert Notifier(environ).watchdog_seconds == 2.0
    assert Notifier({**environ, "WATCHDOG_PID": str(os.getpid())}).watchdog_seconds == 2.0
    assert Notifier({**environ, "WATCHDOG_PID": "1"}).watchdog_seconds is None
    assert Notifier({**environ, "WATCHDOG_USEC": "soon"}).watchdog_seconds is None
    assert Notifier({"WATCHDOG_USEC": "2000000"}).watchdog_seconds is None


def test_a_part_is_stalled_only_when_it_is_silent_longer_than_it_said() -> None:
    now = 0.0
    progress = Progress(lambda: now)
    progress.beat("sync", 10)
    progress.beat("expiry", 100)
    now = 50.0
    assert progress.stalled() == ["sync"]
    progress.beat("sync", 10)
    assert progress.stalled() == []
    now = 1000.0
    progress.ended("sync")
    assert progress.stalled() == ["expiry"]


def test_the_watchdog_is_fed_by_progress_and_goes_hungry_without(manager: socket.socket) -> None:
    notifier = Notifier({"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "60000"})
    now = 0.0
    progress = Progress(lambda: now)
    progress.beat("sync", 10)
    stalls: list[list[str]] = []
    stall = anyio.Event()

    def on_stall(parts: list[str]) -> None:
        stalls.append(parts)
        stall.set()

    async def stalled_again() -> None:
        nonlocal stall
        stall = anyio.Event()
        await stall.wait()

    async def main() -> None:
        nonlocal now
        async with anyio.create_task_group() as group:
            group.start_soon(feed_watchdog, notifier, progress, on_stall)
            assert await anyio.to_thread.run_sync(heard, manager) == "WATCHDOG=1"
            assert await anyio.to_thread.run_sync(heard, manager) == "WATCHDOG=1"
            now = 100.0
            await stalled_again()
            manager.settimeout(0)
            with contextlib.suppress(BlockingIOError):
                while True:
                    heard(manager)  # what was sent before
            for _ in range(3):
                await stalled_again()
            with pytest.raises(BlockingIOError):
                heard(manager)
            progress.beat("sync", 10)
            manager.settimeout(5)
            assert await anyio.to_thread.run_sync(heard, manager) == "WATCHDOG=1"
            group.cancel_scope.cancel()

    anyio.run(main)
    assert stalls[0] == ["sync"]
