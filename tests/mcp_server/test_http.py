"""The server over real HTTP: who gets in, under which names, and what is never served."""

import json
import socket
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ResourceListChangedNotification

from mcp_server import bearer
from mcp_server.http import _listen, build_app, gate, run_http, serve
from mcp_server.session import SessionContext
from memory_cache.errors import InvalidInput
from memory_cache.home import Home
from memory_cache.models import Draft
from tests.mcp_server.test_schemas import CONTRACT
from tests.mcp_server.world import Claude, World, make_repository

TOKEN = "t" * 43


@asynccontextmanager
async def http(world: World, token: str | None = TOKEN) -> AsyncIterator[str]:
    """The server on a free port; its origin."""
    server = world.server(SessionContext())
    listening = socket.create_server(("127.0.0.1", 0))
    ready = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(serve, server, build_app(server, token=token), listening, ready.set)
        with anyio.fail_after(20):
            await ready.wait()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        group.cancel_scope.cancel()
    listening.close()


@asynccontextmanager
async def client(origin: str, mode: str, **headers: str) -> AsyncIterator[Claude]:
    sent = {"Authorization": f"Bearer {TOKEN}", **headers}
    async with (
        httpx2.AsyncClient(headers=sent) as web,
        Client(streamable_http_client(f"{origin}/mcp", http_client=web), mode=mode) as connected,
    ):
        yield Claude(connected)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_tool_is_there_and_works(world: World, mode: str, tmp_path: Path) -> None:
    make_repository(tmp_path / "über", "git@github.com:acme/there.git")
    directory = bearer.headers(world.home.root, {"CLAUDE_PROJECT_DIR": str(tmp_path / "über")}, None)
    async with http(world) as origin:
        async with client(origin, mode, **{bearer.PROJECT_HEADER: directory[bearer.PROJECT_HEADER]}) as claude:
            assert {tool.name for tool in (await claude.client.list_tools()).tools} == set(CONTRACT)
            memory_id = await claude.remember("# Use WAL\n\nReaders never block.")
            assert "github.com/acme/there, from CLAUDE_PROJECT_DIR" in await claude.say("status")
            assert memory_id in await claude.say("recall", query="readers")
            assert "required" in await claude.fails("remember")
            content = (await claude.client.read_resource(f"memory://{memory_id}")).contents[0].text
            assert "Readers never block." in content
        async with client(origin, mode) as claude:
            assert "none known for this session" in await claude.say("status")


async def request(base: str, path: str = "/mcp", method: str = "POST", **headers: str) -> httpx.Response:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with httpx.AsyncClient() as web:
        return await web.request(method, f"{base}{path}", headers=named, json=body if method == "POST" else None)


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN}x",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer " + "é" * 43,
    ],
)
async def test_a_wrong_bearer_gets_nothing_but_a_hint(world: World, authorization: str) -> None:
    async with http(world) as origin:
        sent = {b"authorization": authorization.encode()} if authorization else {}
        async with httpx.AsyncClient() as web:
            answer = await web.post(f"{origin}/mcp", headers=sent, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.headers["content-type"] == "application/json"
        assert "mcp --headers" in answer.json()["error"]
        assert TOKEN not in answer.text


@pytest.mark.parametrize("path", ["/mcp", "/health", "/", "/register", "/.well-known/oauth-protected-resource"])
@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "192.168.1.5"]
)
async def test_the_host_is_checked_on_every_route(world: World, path: str, host: str) -> None:
    async with http(world) as origin:
        answer = await request(origin, path, "GET", host=host, authorization=f"Bearer {TOKEN}")
        assert answer.status_code in (400, 421)
        assert "ok" not in answer.text


@pytest.mark.parametrize("path", ["/mcp", "/health"])
async def test_the_origin_is_checked_on_every_route(world: World, path: str) -> None:
    async with http(world) as origin:
        for evil in ("http://evil.example", "https://127.0.0.1.evil.example", "null", "file://", "http://[::1"):
            answer = await request(origin, path, "GET", origin=evil, authorization=f"Bearer {TOKEN}")
            assert answer.status_code == 403, evil
        for own in ("http://localhost:3101", "http://127.0.0.1"):
            answer = await request(origin, path, "GET", origin=own, authorization=f"Bearer {TOKEN}")
            assert answer.status_code not in (401, 403, 421), own


async def test_health_needs_no_bearer_and_tells_nothing_private(world: World) -> None:
    async with http(world) as origin:
        answer = await request(origin, "/health", "GET")
        assert answer.status_code == 200
        assert answer.json() == {"status": "ok"}
        assert "server" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/register", "/authorize", "/token", "/", "/mcp/", "/sse", "/messages", "/docs",
        "/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp", "/.well-known/openid-configuration", "//mcp",
    ],
)  # fmt: skip
async def test_nothing_else_is_served(world: World, path: str) -> None:
    async with http(world) as origin:
        for method in ("GET", "POST"):
            for headers in ({}, {"authorization": f"Bearer {TOKEN}"}):
                answer = await request(origin, path, method, **headers)
                assert answer.status_code in (404, 401), path
                assert "oauth" not in answer.text.lower()


@pytest.mark.parametrize(
    "query", [f"token={TOKEN}", f"x={TOKEN}", "access_token=abc", "Authorization=Bearer", f"a=b&TOKEN={TOKEN}"]
)
async def test_a_token_in_the_url_is_refused_even_with_the_header(world: World, query: str) -> None:
    async with http(world) as origin:
        for headers in ({}, {"authorization": f"Bearer {TOKEN}"}):
            answer = await request(origin, f"/mcp?{query}", **headers)
            assert answer.status_code == 400
            assert "refused" in answer.json()["error"]
            assert TOKEN not in answer.text


async def test_a_client_hears_of_changes(world: World) -> None:
    async with (
        http(world) as origin,
        client(origin, "auto") as claude,
        claude.client.listen(resources_list_changed=True) as subscription,
    ):
        await anyio.sleep(1.2)
        await world.cache.remember(Draft(content="elsewhere", category="learning"))
        with anyio.fail_after(15):
            async for _ in subscription:
                break


async def test_older_clients_hear_of_changes_while_one_that_does_not_listen_keeps_nobody_waiting(world: World) -> None:
    heard = [anyio.Event(), anyio.Event()]

    def listener(number: int) -> Callable[[object], Awaitable[None]]:
        async def message(received: object) -> None:
            if isinstance(getattr(received, "root", received), ResourceListChangedNotification):
                heard[number].set()

        return message

    async with http(world) as origin, client(origin, "legacy"), AsyncExitStack() as stack:
        for number in range(2):
            web = await stack.enter_async_context(httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}))
            transport = streamable_http_client(f"{origin}/mcp", http_client=web)
            connecting = Client(transport, mode="legacy", message_handler=listener(number))
            connected = await stack.enter_async_context(connecting)
            assert connected.server_capabilities.resources is not None
            assert connected.server_capabilities.resources.list_changed
        await anyio.sleep(1.2)
        await world.cache.remember(Draft(content="elsewhere", category="learning"))
        with anyio.fail_after(15):
            for event in heard:
                await event.wait()


async def test_parallel_clients_lose_nothing(world: World) -> None:
    async with http(world) as origin:

        async def write(name: str, mode: str) -> None:
            async with client(origin, mode) as claude:
                for number in range(10):
                    await claude.remember(f"{name} {number}")

        async with anyio.create_task_group() as group:
            for name, mode in (("a", "auto"), ("b", "legacy"), ("c", "auto")):
                group.start_soon(write, name, mode)
        assert (await world.cache.status()).memories == 30


def test_the_token_is_made_once_and_private(tmp_path: Path) -> None:
    home = tmp_path / "new home"
    token = bearer.token(home)
    assert len(token) >= 43
    assert bearer.token(home) == token
    path = home / bearer.TOKEN_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in home.iterdir()] == [bearer.TOKEN_FILE]
    path.chmod(0o644)
    assert bearer.token(home) == token
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("")
    assert len(bearer.token(home)) >= 43


def test_processes_that_start_at_once_agree_on_one_token(tmp_path: Path) -> None:
    import threading

    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(bearer.token(tmp_path))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1


def test_headers_for_clients(tmp_path: Path) -> None:
    sent = bearer.headers(tmp_path, {"CLAUDE_PROJECT_DIR": "/home/über uns"}, "/elsewhere")
    assert sent == {
        "Authorization": f"Bearer {bearer.token(tmp_path)}",
        bearer.PROJECT_HEADER: "/home/%C3%BCber%20uns",
    }
    assert bearer.headers(tmp_path, {}, "/elsewhere")[bearer.PROJECT_HEADER] == "/elsewhere"
    assert json.loads(json.dumps(sent)) == sent


def test_a_server_on_every_interface_answers_to_addresses_and_its_own_name_only() -> None:
    everywhere = gate(cast(Any, None), TOKEN, "0.0.0.0")  # noqa: S104 - nothing is bound
    headers: dict[str, Any] = {"type": "http", "path": "/health", "query_string": b""}
    for host, good in (
        ("192.168.1.5:3101", True), ("[fe80::1]:3101", True), (socket.gethostname(), True), ("localhost", True),
        ("evil.example", False), ("1.2.3.4.evil.example", False), ("*", False),
    ):  # fmt: skip
        refusal = everywhere.refusal({**headers, "headers": [(b"host", host.encode())]})
        assert (refusal is None) == good, host


async def test_the_whole_command_binds_loopback_and_makes_its_token(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    addresses: list[str] = []
    started = anyio.Event()

    def ready(url: str) -> None:
        addresses.append(url)
        started.set()

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: run_http(home, {}, port=0, ready=ready))
        with anyio.fail_after(20):
            await started.wait()
        assert addresses[0].startswith("http://127.0.0.1:")
        origin = addresses[0].removesuffix("/mcp")
        assert (await request(origin, "/health", "GET")).status_code == 200
        assert (await request(origin)).status_code == 401
        token = bearer.token(home.root)
        assert (await request(origin, authorization=f"Bearer {token}")).status_code not in (401, 403, 404, 421)
        taken = int(origin.rsplit(":", 1)[1])
        with pytest.raises(InvalidInput, match=f"port {taken}"):
            await run_http(home, {}, port=taken)
        group.cancel_scope.cancel()
    assert (home.root / bearer.TOKEN_FILE).exists()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_answers_are_sent_without_waiting_for_a_receipt(host: str) -> None:
    # asyncio turns Nagle's algorithm off only for sockets that say that they are TCP.
    try:
        listening = _listen(host, 0)
    except InvalidInput:
        pytest.skip(f"this machine has no {host}")
    with listening:
        assert listening.proto == socket.IPPROTO_TCP
