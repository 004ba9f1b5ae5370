"""Real sessions, real daemons: many at once, killed in the middle, left over by nobody."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.daemon.processes import INITIALIZE, INITIALIZED, Device, Session, alive, eventually, text_of


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Device]:
    made = Device(tmp_path, CLAUDE_MEMORY_DAEMON_AUTOSTART="true")
    yield made
    made.end()
    for pid in processes_of(made):
        os.kill(pid, signal.SIGKILL)


def processes_of(device: Device) -> list[int]:
    """Every living process whose environment names this home."""
    mark = f"CLAUDE_MEMORY_HOME={device.home}".encode()
    found = []
    for directory in Path("/proc").iterdir():
        try:
            if directory.name.isdigit() and mark in (directory / "environ").read_bytes().split(b"\0"):
                found.append(int(directory.name))
        except OSError:
            continue
    return [pid for pid in found if alive(pid) and pid != os.getpid()]


def test_the_first_session_is_served_at_once_and_starts_a_daemon_for_the_next(device: Device) -> None:
    with Session(device) as first:
        first.open()
        assert "Remembered" in first.remember("From the first session")
        pid = eventually(device.pid, "a daemon for the next session")
        assert device.status()["auto_started"] is True
        assert device.status()["sessions"] == 0, "the first session stays where it is"
        with Session(device) as second:
            second.open()
            assert "From the first session" in second.call("recall", query="first session")
            assert device.status()["sessions"] == 1
        assert first.close() == 0
    assert alive(pid), "the daemon outlives who started it"
    assert processes_of(device) == [pid]


def test_twenty_sessions_that_open_at_once_share_one_daemon_and_lose_nothing(device: Device) -> None:
    with ExitStack() as stack:
        sessions = [stack.enter_context(Session(device)) for _ in range(20)]

        def work(number: int) -> None:
            sessions[number].open()
            sessions[number].remember(f"Fact {number:02}")

        with ThreadPoolExecutor(20) as pool:
            list(pool.map(work, range(20)))
        assert device.titles() == [f"Fact {number:02}" for number in range(20)]
        relays = {session.process.pid for session in sessions}
        pid = eventually(device.pid)
        eventually(lambda: set(processes_of(device)) - relays == {pid}, "one daemon and nobody else")


def test_killing_the_daemon_in_the_middle_loses_nothing_and_doubles_nothing(device: Device) -> None:
    device.run("daemon", "start")
    with Session(device) as session:
        session.open()
        kept = [session.remember(f"Kept {number}").partition("ID: ")[2].split()[0] for number in range(10)]
        calls = []
        for number in range(40):
            fact = {"category": "learning", "content": f"Fact {number:02}", "global": True}
            calls.append(session.begin("remember", **fact))
            if number % 4 == 0:
                calls.append(session.begin("forget", id=kept.pop()))
            if number % 14 == 7:
                session.answer(calls[-6])  # a daemon that falls three times over the same requests is given up
                os.kill(eventually(device.pid), signal.SIGKILL)
        for number in calls:
            assert text_of(session.answer(number)).startswith(("Remembered", "Forgotten"))
        assert device.titles() == [f"Fact {number:02}" for number in range(40)]
        assert "Remembered" in session.remember("The session goes on")


def test_a_daemon_that_ends_well_leaves_no_question_open(device: Device) -> None:
    device.run("daemon", "start")
    with Session(device) as session:
        session.open()
        numbers = []
        for number in range(40):
            numbers.append(
                session.begin("remember", category="learning", content=f"Fact {number:02}", **{"global": True})
            )
            if number == 20:
                os.kill(eventually(device.pid), signal.SIGTERM)
        for number in numbers:
            assert "Remembered" in text_of(session.answer(number))
        assert device.titles() == [f"Fact {number:02}" for number in range(40)]


def test_sessions_that_are_killed_leave_nobody_behind(device: Device) -> None:
    device.run("daemon", "start")
    for number in range(30):
        with Session(device) as session:
            session.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
            if number % 3 == 0:
                session.answer(1)
            session.process.send_signal(signal.SIGKILL if number % 2 else signal.SIGTERM)
            session.process.wait()
    assert processes_of(device) == [device.pid()]
    eventually(lambda: device.status()["sessions"] == 0, "the daemon has noticed")


def test_a_session_without_a_daemon_does_not_wait_for_one_that_cannot_start(device: Device) -> None:
    broken = device.base / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text("import sys\nif '--auto-started' in sys.orig_argv: raise SystemExit(3)\n")
    path = f"{broken}{os.pathsep}{device.environment['PYTHONPATH']}"
    with Session(device, PYTHONPATH=path) as first, Session(device, PYTHONPATH=path) as second:
        began = time.monotonic()
        for session in (first, second):
            session.open()
            assert "Remembered" in session.remember("Served here")
        assert device.pid() is None
        assert time.monotonic() - began < 60
    assert processes_of(device) == []


def test_both_protocols_work_through_the_relay_and_outlive_a_daemon(device: Device) -> None:
    import anyio
    from mcp import Client, StdioServerParameters

    from tests.daemon.processes import COMMAND

    device.run("daemon", "start")

    async def main() -> None:
        parameters = StdioServerParameters(
            command=COMMAND[0], args=[*COMMAND[1:], "mcp"], env=device.environment, cwd=device.work
        )
        for mode in ("auto", "legacy"):
            async with Client(parameters, mode=mode) as client:  # type: ignore[arg-type]
                await client.list_tools()
                arguments = {"category": "learning", "content": f"Spoken in {mode}", "global": True}
                assert not (await client.call_tool("remember", arguments)).is_error
                pid = await anyio.to_thread.run_sync(eventually, device.pid)
                os.kill(pid, signal.SIGKILL)
                found = await client.call_tool("recall", {"query": f"Spoken in {mode}"})
                assert f"Spoken in {mode}" in str(found.content)

    anyio.run(main)


def test_an_answer_of_a_tool_is_never_given_twice(device: Device) -> None:
    device.run("daemon", "start")
    with Session(device) as session:
        session.open()
        calls = [session.begin("list") for _ in range(30)]
        os.kill(eventually(device.pid), signal.SIGKILL)
        for number in calls:
            text_of(session.answer(number))
        session.call("list")


def test_a_client_that_never_asked_for_the_tools_gets_its_answer_too(device: Device) -> None:
    device.run("daemon", "start")
    with Session(device) as session:
        session.send(INITIALIZE)
        session.answer(0)
        session.send(INITIALIZED)
        calls = [
            session.begin("remember", category="learning", content=f"Fact {number:02}", **{"global": True})
            for number in range(20)
        ]
        session.answer(calls[0])
        os.kill(eventually(device.pid), signal.SIGKILL)
        for number in calls:
            assert "Remembered" in text_of(session.answer(number))
        assert device.titles() == [f"Fact {number:02}" for number in range(20)]
