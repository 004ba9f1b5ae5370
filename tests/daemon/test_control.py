"""The daemon's socket: private, reachable under any path, never stale."""

import contextlib
import json
import os
import socket
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from daemon import control
from daemon.control import Handler, open_socket, send_line
from memory_cache import endpoint
from memory_cache.home import Home


async def echo(stream: Any, preamble: Any) -> None:
    await send_line(stream, {"kind": preamble["kind"]})
    while True:
        await stream.send(await stream.receive())


def ask(home: Home, *lines: bytes) -> bytes:
    """Send lines as a client would and read until as many came back, or the daemon closed."""
    connection, _ = endpoint.connect(str(home.root))
    answer = b""
    with socket.socket(fileno=connection.detach()) as raw, contextlib.suppress(ConnectionError):
        raw.settimeout(10)
        for line in lines:
            raw.sendall(line)
        while answer.count(b"\n") < len(lines):
            data = raw.recv(4096)
            if not data:
                break
            answer += data
    return answer


def serving(home: Home, client: Callable[[], Awaitable[None]], handlers: dict[str, Handler] | None = None) -> None:
    async def main() -> None:
        async with open_socket(home) as bound, anyio.create_task_group() as group:
            group.start_soon(bound.serve, handlers or {"echo": echo})
            await client()
            group.cancel_scope.cancel()

    anyio.run(main)


HELLO = b'{"kind":"echo"}\n'


@pytest.mark.parametrize("name", ["h", "x" * 200 + "/ü"])
def test_any_home_is_reachable_and_only_by_its_user(tmp_path: Path, name: str) -> None:
    home = Home(tmp_path / name)

    async def client() -> None:
        answer = await anyio.to_thread.run_sync(ask, home, HELLO, b"line\n")
        assert answer == b'{"kind": "echo"}\nline\n'
        assert stat.S_IMODE(home.socket_path.stat().st_mode) == 0o600
        assert stat.S_IMODE(home.socket_path.parent.stat().st_mode) == 0o700

    serving(home, client)
    assert not home.socket_path.exists()
    with pytest.raises(OSError):
        endpoint.connect(str(home.root))


def test_the_socket_of_a_dead_daemon_is_replaced(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.ensure()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(home.socket_path))
    assert home.socket_path.exists()

    async def client() -> None:
        assert await anyio.to_thread.run_sync(ask, home, HELLO) == b'{"kind": "echo"}\n'

    serving(home, client)


def test_a_socket_that_a_later_daemon_bound_is_left_alone(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with socket.socket(socket.AF_UNIX) as other:

        async def main() -> None:
            async with open_socket(home) as bound:
                assert bound.in_place
                home.socket_path.unlink()
                assert not bound.in_place
                other.bind(str(home.socket_path))
                assert not bound.in_place

        anyio.run(main)
        assert home.socket_path.exists()


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"[]\n",
        b'{"kind":\n',
        b"\xff\xfe\n",
        b"x" * (control.PREAMBLE_BYTES + 2) + b"\n",
    ],
)
def test_whoever_does_not_know_the_protocol_is_shown_out(tmp_path: Path, line: bytes) -> None:
    home = Home(tmp_path)

    async def client() -> None:
        assert await anyio.to_thread.run_sync(ask, home, line) == b""
        assert await anyio.to_thread.run_sync(ask, home, HELLO) == b'{"kind": "echo"}\n'

    serving(home, client)


def test_a_silent_connection_is_not_kept_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "PREAMBLE_SECONDS", 0.05)
    home = Home(tmp_path)

    async def client() -> None:
        assert await anyio.to_thread.run_sync(ask, home, b'{"kind":') == b""

    serving(home, client)


def test_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path)
    monkeypatch.setattr(control, "_peer_user", lambda connection: os.getuid() + 1)

    async def client() -> None:
        assert await anyio.to_thread.run_sync(ask, home, HELLO) == b""

    serving(home, client)


@pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="the system does not tell")
def test_the_system_tells_whose_connection_it_is() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert control._peer_user(ours) == os.getuid()


def test_a_connection_that_fails_ends_alone(tmp_path: Path) -> None:
    home = Home(tmp_path)

    async def broken(stream: Any, preamble: Any) -> None:
        raise RuntimeError("bug")

    async def client() -> None:
        assert await anyio.to_thread.run_sync(ask, home, b'{"kind":"broken"}\n') == b""
        assert await anyio.to_thread.run_sync(ask, home, HELLO) == b'{"kind": "echo"}\n'
        assert b"Unknown request" in await anyio.to_thread.run_sync(ask, home, b'{"kind":"other"}\n')

    serving(home, client, {"broken": broken, "echo": echo})


def test_over_loopback_only_the_token_of_the_home_opens(tmp_path: Path) -> None:
    """What Windows uses, run here: the same listener, the token in a private file."""
    address = tmp_path / "daemon.address"
    bound = control._bind_loopback(address, "right")
    assert stat.S_IMODE(address.stat().st_mode) == 0o600
    port, token = address.read_text().split()
    assert token == "right"

    def talk(said: str) -> bytes:
        with socket.create_connection(("127.0.0.1", int(port)), timeout=10) as client:
            client.sendall(json.dumps({"kind": "echo", "token": said}).encode() + b"\n")
            return client.makefile("rb").readline()

    async def main() -> None:
        listener = await anyio.abc.SocketListener.from_socket(bound)
        server = control.ControlSocket(Home(tmp_path), listener, "right")
        async with listener, anyio.create_task_group() as group:
            group.start_soon(server.serve, {"echo": echo})
            assert b"wrong token" in await anyio.to_thread.run_sync(talk, "wrong")
            assert b"wrong token" in await anyio.to_thread.run_sync(talk, "")
            assert b"echo" in await anyio.to_thread.run_sync(talk, "right")
            group.cancel_scope.cancel()

    anyio.run(main)
