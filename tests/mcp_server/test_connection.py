"""A client over a byte stream, as the daemon serves it: both eras, odd input, an end in the middle of a call."""

import inspect
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream
from mcp.server import MCPServer, Server

from mcp_server import connection
from mcp_server.sessions import serve_session
from tests.mcp_server.world import World, make_repository

HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}  # fmt: skip
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def call(number: int, tool: str, *, modern: bool = False, **arguments: Any) -> dict[str, Any]:
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    if modern:
        params["_meta"] = ENVELOPE
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def lines(*messages: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


class Peer:
    """The client's end of the stream."""

    def __init__(self, stream: SocketStream) -> None:
        self.stream = stream
        self._buffer = b""
        self._answers: dict[object, dict[str, Any]] = {}

    async def send(self, *messages: dict[str, Any]) -> None:
        await self.stream.send(lines(*messages))

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        with anyio.fail_after(20):
            while b"\n" not in self._buffer:
                try:
                    self._buffer += await self.stream.receive()
                except (anyio.EndOfStream, anyio.BrokenResourceError):
                    return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    async def answer(self, number: int) -> dict[str, Any]:
        """The answer to this request; answers come in any order."""
        while number not in self._answers:
            message = await self.receive()
            assert message is not None, f"no answer to {number}"
            self._answers[message.get("id")] = message
        return self._answers.pop(number)

    async def text(self, number: int) -> str:
        return (await self.answer(number))["result"]["content"][0]["text"]


@asynccontextmanager
async def connected(world: World, initial: bytes = b"", **preamble: Any) -> AsyncIterator[Peer]:
    """A client whose server runs until the client is gone."""
    ours, theirs = socket.socketpair()
    here, there = await SocketStream.from_socket(ours), await SocketStream.from_socket(theirs)
    done = anyio.Event()

    async def serve() -> None:
        async with there:
            await serve_session(world.cache, there, there, preamble, initial=initial)
        done.set()

    async with anyio.create_task_group() as group:
        group.start_soon(serve)
        async with here:
            yield Peer(here)
        with anyio.fail_after(20):
            await done.wait()


def test_what_is_used_of_the_sdk_beyond_its_public_names_is_still_there() -> None:
    hint = "an upgrade of the MCP SDK moved what mcp_server/connection.py and server.py build on"
    server = MCPServer("x", version="1")
    assert isinstance(getattr(server, "_lowlevel_server", None), Server), hint
    run = list(inspect.signature(Server.run).parameters)
    assert run[:4] == ["self", "read_stream", "write_stream", "initialization_options"], hint
    for name in ("call_tool", "list_resources", "list_resource_templates", "read_resource"):
        assert inspect.iscoroutinefunction(getattr(MCPServer, name, None)), f"{hint}: {name}"
        assert name in inspect.getsource(MCPServer), hint
    for handler, public in (
        ("_handle_call_tool", "self.call_tool("),
        ("_handle_read_resource", "self.read_resource("),
        ("_handle_list_resources", "self.list_resources("),
        ("_handle_list_resource_templates", "self.list_resource_templates("),
    ):
        assert public in inspect.getsource(getattr(MCPServer, handler)), f"{hint}: {public}"


async def test_an_older_client_is_served(world: World) -> None:
    async with connected(world, cwd=str(world.project)) as peer:
        await peer.send(HELLO)
        hello = await peer.answer(1)
        assert hello["result"]["serverInfo"]["name"] == "claude-onedrive-memory"
        assert hello["result"]["capabilities"]["resources"]["listChanged"] is True
        await peer.send(READY, call(2, "remember", category="learning", content="over a socket"))
        assert "Project: widget" in await peer.text(2)


async def test_a_new_client_is_served(world: World) -> None:
    async with connected(world) as peer:
        await peer.send({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": ENVELOPE}})
        assert (await peer.answer(1))["result"]["instructions"]
        await peer.send(call(2, "remember", modern=True, category="learning", content="over a socket"))
        assert "Remembered: over a socket" in await peer.text(2)


async def test_the_preamble_names_the_project(world: World, tmp_path: Path) -> None:
    make_repository(tmp_path / "repository", "git@github.com:acme/there.git")
    async with connected(world, cwd="/", project_dir=str(tmp_path / "repository"), session_id="s") as peer:
        await peer.send(call(1, "status", modern=True))
        assert "github.com/acme/there" in await peer.text(1)


async def test_bytes_that_came_with_the_preamble_are_not_lost(world: World) -> None:
    first = lines(call(1, "status", modern=True), call(2, "list", modern=True))
    async with connected(world, initial=first[:-20]) as peer:
        await peer.stream.send(first[-20:])
        assert "# Memory status" in await peer.text(1)
        assert "No memories found" in await peer.text(2)


async def test_lines_that_are_no_messages_do_not_end_the_session(world: World) -> None:
    async with connected(world) as peer:
        await peer.stream.send(b'\n\r\n{not json}\n[1, 2]\n"x"\n\xff\xfe\n{"jsonrpc": "2.0"}\n')
        await peer.stream.send(b'{"jsonrpc": "1.0", "id": 7, "method": "ping"}\n')
        told = []
        for _ in range(6):
            message = await peer.receive()
            assert message is not None
            told.append((message["id"], message["error"]["code"]))
        assert told == [(None, -32700), *[(None, -32600)] * 2, (None, -32700), (None, -32600), (7, -32600)]
        await peer.stream.send(lines(call(1, "list", modern=True)).replace(b"\n", b"\r\n"))
        assert "No memories found" in await peer.text(1)


async def test_a_text_cut_in_the_middle_of_an_emoji_is_stored_and_answered(world: World) -> None:
    async with connected(world) as peer:
        await peer.send(call(1, "remember", modern=True, category="learning", content="cut here: \ud83d"))
        assert "Remembered: cut here: \ufffd" in await peer.text(1)


async def test_a_message_in_many_pieces_is_one_message(world: World) -> None:
    async with connected(world) as peer:
        for byte in lines(call(1, "remember", modern=True, category="learning", content="日本語 in pieces")):
            await peer.stream.send(bytes([byte]))
        assert "日本語 in pieces" in await peer.text(1)


async def test_a_long_message_passes_and_an_endless_one_ends_its_own_session_only(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_LINE_BYTES", 2_000_000)
    async with connected(world) as other:
        async with connected(world) as peer:
            await peer.send(call(1, "remember", modern=True, category="learning", content="x" * 900_000))
            assert "Remembered" in await peer.text(1)
            async with anyio.create_task_group() as group:

                async def flood() -> None:
                    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                        while True:
                            await peer.stream.send(b"x" * 100_000)

                group.start_soon(flood)
                assert await peer.receive() is None
        await other.send(call(1, "status", modern=True))
        assert "1 memory" in await other.text(1)


async def test_what_was_asked_before_the_client_closed_is_answered(world: World) -> None:
    async with connected(world) as peer:
        requests = [call(n, "remember", modern=True, category="learning", content=f"note {n}") for n in range(1, 21)]
        await peer.send(*requests)
        await peer.stream.send_eof()
        answered = set()
        while (message := await peer.receive()) is not None:
            assert "Remembered" in message["result"]["content"][0]["text"]
            answered.add(message["id"])
        assert answered == set(range(1, 21))


async def test_a_standing_subscription_does_not_keep_a_closed_session_open(world: World) -> None:
    listen = {
        "jsonrpc": "2.0", "id": 9, "method": "subscriptions/listen",
        "params": {"_meta": ENVELOPE, "notifications": {"resourcesListChanged": True}},
    }  # fmt: skip
    async with connected(world) as peer:
        await peer.send(listen)
        assert (await peer.receive())["method"] == "notifications/subscriptions/acknowledged"
        await peer.stream.send_eof()
        with anyio.fail_after(10):
            while await peer.receive() is not None:
                pass


async def test_a_cancelled_call_does_not_keep_a_closed_session_open(world: World) -> None:
    async with connected(world) as peer:
        await peer.send(HELLO, READY, call(2, "status"))
        await peer.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
        await peer.stream.send_eof()
        with anyio.fail_after(10):
            while await peer.receive() is not None:
                pass


@pytest.mark.parametrize("pause", [0, 0.001, 0.003, 0.01, 0.03])
async def test_a_write_that_a_disconnect_interrupts_is_whole_or_not_at_all(world: World, pause: float) -> None:
    for attempt in range(2):
        async with connected(world) as peer:
            text = f"# Attempt {attempt}\n\n" + "word " * 500
            await peer.send(call(1, "remember", modern=True, category="learning", content=text, tags=["a", "b"]))
            await anyio.sleep(pause)
    counts = await world.cache.database.read(
        lambda c: [
            c.execute(query).fetchone()[0]
            for query in (
                "SELECT count(*) FROM files WHERE kind = 'memory'", "SELECT count(*) FROM memories",
                "SELECT count(*) FROM memory_tags", "SELECT count(*) FROM search_text",
            )
        ]
    )  # fmt: skip
    files, memories, tags, indexed = counts
    assert files == memories == indexed
    assert tags == 2 * memories
    assert await world.cache.database.read(lambda c: c.execute("PRAGMA integrity_check").fetchone()[0]) == "ok"
    async with connected(world) as peer:
        await peer.send(call(1, "remember", modern=True, category="learning", content="afterwards"))
        assert "Remembered: afterwards" in await peer.text(1)


async def test_sessions_side_by_side_keep_to_their_own_projects(world: World, tmp_path: Path) -> None:
    for name in ("one", "two"):
        make_repository(tmp_path / name, f"git@github.com:acme/{name}.git")
    async with connected(world, cwd=str(tmp_path / "one")) as one, connected(world, cwd=str(tmp_path / "two")) as two:
        for number in range(5):
            await one.send(call(number, "remember", modern=True, category="learning", content=f"one {number}"))
            await two.send(call(number, "remember", modern=True, category="learning", content=f"two {number}"))
        for number in range(5):
            assert "acme/one" in await one.text(number)
            assert "acme/two" in await two.text(number)
