"""The relay as a process, against a scripted daemon on the real socket."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_server.relay import Relay, _Pipe
from memory_cache.home import Home
from tests.daemon.processes import COMMAND, INITIALIZE, PATIENCE, ROOT, Device, Session, alive, eventually


class FakeDaemon:
    """Accepts relays on the socket of a home; the test says what it answers."""

    def __init__(self, home: Path, *, welcome: bytes = b'{"ready": "1"}\n') -> None:
        Home(home).ensure()
        self.path = Home(home).socket_path
        self.welcome = welcome
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(str(self.path))
        self.listening.listen()
        self.listening.settimeout(PATIENCE)
        self.connection: socket.socket | None = None
        self.preamble: dict[str, Any] = {}

    def accept(self) -> None:
        self.connection, _ = self.listening.accept()
        self.connection.settimeout(PATIENCE)
        self.reader = self.connection.makefile("rb")
        self.preamble = json.loads(self.reader.readline())
        self.connection.sendall(self.welcome)

    def receive(self) -> Any:
        try:
            line = self.reader.readline()
        except ConnectionResetError:  # it went away without reading what it was sent
            return None
        return json.loads(line) if line else None

    def send(self, *messages: dict[str, Any]) -> None:
        assert self.connection is not None
        self.connection.sendall(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def answer(self, request: dict[str, Any], **result: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def die(self) -> None:
        """As kill -9 does: the socket's file stays."""
        assert self.connection is not None
        self.reader.close()
        self.connection.close()

    def close(self) -> None:
        if self.connection is not None:
            self.die()
        self.listening.close()
        self.path.unlink(missing_ok=True)


@pytest.fixture
def device(tmp_path: Path) -> Device:
    return Device(tmp_path)


@pytest.fixture
def daemon(device: Device) -> Iterator[FakeDaemon]:
    fake = FakeDaemon(device.home)
    yield fake
    fake.close()


def shake_hands(daemon: FakeDaemon, session: Session, *tools: dict[str, Any]) -> None:
    session.send(INITIALIZE, {"jsonrpc": "2.0", "method": "notifications/initialized"})
    daemon.answer(daemon.receive(), serverInfo={})
    session.answer(0)
    assert daemon.receive()["method"] == "notifications/initialized"
    session.send({"jsonrpc": "2.0", "id": "tools", "method": "tools/list"})
    daemon.answer(daemon.receive(), tools=list(tools))
    session.answer("tools")


def test_the_daemon_is_told_where_the_session_works(device: Device, daemon: FakeDaemon) -> None:
    project = device.base / 'an "odd" näme\\'
    with Session(device, CLAUDE_PROJECT_DIR=str(project), CLAUDE_CODE_SESSION_ID="s-1"):
        daemon.accept()

    assert daemon.preamble["kind"] == "mcp"
    assert daemon.preamble["cwd"] == str(device.work)
    assert daemon.preamble["project_dir"] == str(project)
    assert daemon.preamble["session_id"] == "s-1"
    assert len(daemon.preamble["session_key"]) == 32


def test_lines_pass_unchanged_and_in_order_whatever_their_size(device: Device, daemon: FakeDaemon) -> None:
    with Session(device) as session:
        daemon.accept()
        sizes = [1, 10, 70_000, 3_000_000, 5]
        sent = [{"jsonrpc": "2.0", "id": n, "method": "ping", "params": {"x": "é" * n}} for n in sizes]
        writer = threading.Thread(target=session.send, args=sent)
        writer.start()
        got = [daemon.receive() for _ in sizes]
        writer.join()
        assert got == sent
        # A client that does not read yet: the answers wait, nothing is lost.
        answers = threading.Thread(target=lambda: [daemon.answer(message, y=message["params"]["x"]) for message in got])
        answers.start()
        for number in sizes:
            assert session.answer(number)["result"]["y"] == "é" * number
        answers.join()


def test_a_session_that_ends_ends_the_relay_at_once(device: Device, daemon: FakeDaemon) -> None:
    with Session(device) as session:
        daemon.accept()
        shake_hands(daemon, session)
        assert session.close() == 0
        assert daemon.receive() is None


def test_what_was_asked_before_the_end_is_still_answered(device: Device, daemon: FakeDaemon) -> None:
    with Session(device) as session:
        daemon.accept()
        session.send({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert session.process.stdin is not None
        session.process.stdin.write(b'{"jsonrpc": "2.0", "id": 2, "method": "ping"}')  # its end is missing
        session.process.stdin.close()
        for request in (daemon.receive(), daemon.receive()):
            daemon.answer(request)
        session.answer(1)
        session.answer(2)
        assert session.process.wait(PATIENCE) == 0


def test_a_client_that_vanishes_takes_the_relay_along(device: Device, daemon: FakeDaemon) -> None:
    """The client dies, and something else still holds the writing end of the pipe."""
    script = (
        "import os, subprocess, sys, time\n"
        "relay = subprocess.Popen(sys.argv[1:], stdin=os.dup(0), stdout=subprocess.PIPE)\n"
        "print(relay.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    reading, writing = os.pipe()
    client = subprocess.Popen(
        [sys.executable, "-c", script, *COMMAND, "mcp"], stdin=reading, stdout=subprocess.PIPE, env=device.environment
    )
    try:
        assert client.stdout is not None
        relay = int(client.stdout.readline())
        daemon.accept()
        client.kill()
        client.wait()
        eventually(lambda: not alive(relay), "the relay has ended")
        client.stdout.close()
    finally:
        os.close(reading)
        os.close(writing)


def test_a_session_goes_on_with_the_next_daemon(device: Device, daemon: FakeDaemon) -> None:
    with Session(device) as session:
        daemon.accept()
        key = daemon.preamble["session_key"]
        shake_hands(
            daemon,
            session,
            {"name": "look", "annotations": {"readOnlyHint": True}},
            {"name": "write", "annotations": {}},
        )
        look, write = session.begin("look"), session.begin("write")
        assert [daemon.receive()["id"] for _ in range(2)] == [look, write]
        assert daemon.connection is not None
        daemon.connection.sendall(b'{"jsonrpc": "2.0", "id": 1, "resu')  # half an answer
        daemon.die()

        daemon.accept()
        assert daemon.preamble["session_key"] == key
        assert daemon.receive() == INITIALIZE
        assert daemon.receive()["method"] == "notifications/initialized"
        assert daemon.receive()["id"] == look
        unknown = session.answer(write)
        assert unknown["result"]["isError"] is True
        assert "may or may not have been done" in unknown["result"]["content"][0]["text"]
        daemon.answer(INITIALIZE, serverInfo={})
        daemon.send({"jsonrpc": "2.0", "id": look, "result": {"content": []}})
        assert session.answer(look)["result"] == {"content": []}
        ping = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
        session.send(ping)
        assert daemon.receive() == ping
        daemon.answer(ping)
        session.answer("p")


def test_what_was_not_wholly_sent_goes_to_the_next_daemon(device: Device, daemon: FakeDaemon) -> None:
    with Session(device) as session:
        daemon.accept()
        shake_hands(daemon, session, {"name": "write", "annotations": {}})
        # More than the socket's buffers hold: most of it is still with the relay when the daemon dies.
        arguments = {"x": "x" * 400_000}
        calls = [
            {
                "jsonrpc": "2.0",
                "id": f"w{n}",
                "method": "tools/call",
                "params": {"name": "write", "arguments": arguments},
            }
            for n in range(6)
        ]
        writer = threading.Thread(target=session.send, args=calls, daemon=True)
        writer.start()
        assert daemon.receive()["id"] == "w0"
        daemon.die()
        daemon.accept()
        assert daemon.receive() == INITIALIZE
        daemon.answer(INITIALIZE)
        assert daemon.receive()["method"] == "notifications/initialized"
        answered = {f"w{n}" for n in range(6)}
        while "w5" in answered:
            request = daemon.receive()
            assert request["params"]["arguments"]["x"] == "x" * 400_000
            answered.discard(request["id"])
            daemon.answer(request, content=[])
        writer.join()
        for n in range(6):
            session.answer(f"w{n}")


def test_a_request_that_ends_every_server_is_refused_and_the_session_goes_on(
    device: Device, daemon: FakeDaemon
) -> None:
    with Session(device) as session:
        daemon.accept()
        shake_hands(daemon, session)
        session.send({"jsonrpc": "2.0", "id": "poison", "method": "resources/read"})
        for _ in range(3):
            while daemon.receive()["method"] != "resources/read":
                pass
            daemon.die()
            if _ < 2:
                daemon.accept()
        assert "three times" in session.answer("poison")["error"]["message"]
        session.send({"jsonrpc": "2.0", "id": "next", "method": "ping"})
        daemon.accept()
        while (request := daemon.receive())["method"] != "ping":
            pass
        daemon.answer(request)
        session.answer("next")


def test_a_quiet_session_outlives_any_number_of_daemons() -> None:
    ends: list[socket.socket] = []

    class Ready:
        repeats = False

        def attempt(self, now: float, *, again: bool, needed: bool) -> socket.socket:
            ours, theirs = socket.socketpair()
            theirs.settimeout(PATIENCE)
            ends.append(theirs)
            return ours

        def tick(self, now: float) -> None: ...
        def answered(self, now: float) -> None: ...

    (to_relay, stdin), (stdout, from_relay) = (os.pipe()[::-1], os.pipe())
    relay = Relay(Ready(), _Pipe(stdin), from_relay)  # type: ignore[arg-type]
    thread = threading.Thread(target=relay.run, daemon=True)
    thread.start()
    for number in range(12):
        eventually(lambda number=number: len(ends) == number + 1)  # type: ignore[misc]
        ends[-1].close()
    eventually(lambda: len(ends) == 13)
    os.write(to_relay, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert b"ping" in ends[-1].recv(4096)
    ends[-1].sendall(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
    assert b'"id":1' in os.read(stdout, 4096)
    os.close(to_relay)
    thread.join(PATIENCE)
    for descriptor in (stdin, stdout, from_relay):
        os.close(descriptor)
    ends[-1].close()


def test_a_daemon_that_was_stopped_is_not_missed_before_it_is_needed(device: Device, daemon: FakeDaemon) -> None:
    """`daemon stop` must hold although sessions are open."""
    with Session(device, CLAUDE_MEMORY_DAEMON_AUTOSTART="true") as session:
        daemon.accept()
        shake_hands(daemon, session)
        session.send({"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen"})
        daemon.receive()
        daemon.close()
        with pytest.raises(subprocess.TimeoutExpired):
            session.process.wait(1.0)
        assert not (device.home / "daemon.log").exists()


def test_a_daemon_that_hangs_is_not_waited_for(device: Device) -> None:
    Home(device.home).ensure()
    with socket.socket(socket.AF_UNIX) as hung:
        hung.bind(str(Home(device.home).socket_path))
        hung.listen()
        with Session(device) as session:
            assert session.open()["result"]["serverInfo"]["name"] == "claude-onedrive-memory"


def test_a_daemon_that_refuses_is_not_taken(device: Device) -> None:
    fake = FakeDaemon(device.home, welcome=b'{"error": {"message": "no"}}\n')
    threading.Thread(target=fake.accept, daemon=True).start()
    with Session(device) as session:
        assert session.open()["result"]["serverInfo"]["name"] == "claude-onedrive-memory"
        assert "Remembered" in session.remember("Served here")
        assert session.close() == 0
    fake.close()


def test_without_any_server_the_client_is_told_why(device: Device) -> None:
    with Session(device, CLAUDE_MEMORY_SYNC_POLL_SECONDS="often") as session:
        session.send(INITIALIZE)
        assert "poll_seconds" in session.answer(0)["error"]["message"]
        assert session.process.wait(PATIENCE) == 1
        assert session.process.stderr is not None
        assert b"poll_seconds" in session.process.stderr.read()


def test_a_terminated_relay_is_gone(device: Device, daemon: FakeDaemon) -> None:
    with Session(device) as session:
        daemon.accept()
        session.process.send_signal(signal.SIGTERM)
        assert session.process.wait(PATIENCE) == -signal.SIGTERM
        assert daemon.receive() is None


def test_on_the_way_to_a_daemon_nothing_heavy_is_imported(device: Device, daemon: FakeDaemon) -> None:
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-c", "import sys; sys.argv[1:] = ['mcp']; "
         "from command_line.main import main; sys.exit(main())"],
        env=device.environment, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
    process.stdin.flush()
    daemon.accept()
    daemon.answer(daemon.receive(), serverInfo={})
    out, err = process.communicate(timeout=PATIENCE)
    assert json.loads(out)["id"] == 0
    imported = {
        line.rpartition("|")[2].strip() for line in err.decode().splitlines() if line.startswith("import time:")
    }
    assert "mcp_server.relay" in imported
    heavy = {
        "argparse", "asyncio", "anyio", "dataclasses", "logging", "mcp", "pathlib", "pydantic", "socket", "sqlite3",
        "subprocess", "threading", "tomllib", "typing", "uuid", "daemon", "memory_cache.home", "memory_cache.settings",
    }  # fmt: skip
    assert imported & heavy == set()


def test_a_server_in_this_process_that_fails_is_told_and_not_waited_for(device: Device) -> None:
    broken = device.base / "broken"
    broken.mkdir()
    (broken / "mcp.py").write_text("raise RuntimeError('no SDK')\n")
    with Session(device, PYTHONPATH=f"{broken}{os.pathsep}{ROOT}") as session:
        session.send(INITIALIZE)
        assert "RuntimeError" in session.answer(0)["error"]["message"]
        assert session.process.wait(PATIENCE) == 1
