"""What a running daemon is asked over its socket, and the small jobs beside."""

import json
import socket
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from daemon import requests, upkeep
from daemon.service import Parts, Service, run_daemon
from memory_cache import database, endpoint
from memory_cache.cache import MemoryCache, open_cache
from memory_cache.home import Home
from memory_cache.models import Draft
from memory_cache.settings import Settings
from storage_backends.in_memory import InMemoryStorage, InMemoryStore


def ask(home: Home, **preamble: Any) -> list[dict[str, Any]]:
    """Everything that the daemon says to one request, until it closes the connection."""
    connection, _ = endpoint.connect(str(home.root))
    with socket.socket(fileno=connection.detach()) as channel, channel.makefile("rb") as answers:
        channel.settimeout(30)
        channel.sendall(json.dumps({"kind": "control", **preamble}).encode() + b"\n")
        return [json.loads(line) for line in answers]


def with_daemon(
    tmp_path: Path, client: Callable[[Home, Service], Awaitable[None]], *, intercept: Any = None
) -> InMemoryStore:
    """Run a whole daemon in this process over a store in memory, and `client` beside it."""
    home, settings, store = Home(tmp_path / "home"), Settings(), InMemoryStore()
    home.ensure()

    @asynccontextmanager
    async def open_backend() -> Any:
        async with InMemoryStorage(store, intercept=intercept) as backend:
            yield backend

    async def serve_session(cache: MemoryCache, stream: Any, preamble: Any) -> None:
        raise AssertionError("nobody comes")

    async def beside(service: Service) -> None:
        try:
            await client(home, service)
        finally:
            service.stop("the test is over")

    parts = Parts(lambda: open_cache(home, settings), open_backend, serve_session)

    async def main() -> None:
        with anyio.fail_after(60):
            await run_daemon(home, settings, parts, version="9", environ={}, on_ready=beside)

    anyio.run(main)
    return store


def test_requests_are_answered(tmp_path: Path) -> None:
    async def client(home: Home, service: Service) -> None:
        async def asked(**preamble: Any) -> list[dict[str, Any]]:
            return await anyio.to_thread.run_sync(lambda: ask(home, **preamble))

        (status,) = await asked(request="status")
        assert status["result"]["version"] == "9"
        assert set(status["result"]["loops"]) == {"sync", "expiry", "upkeep"}
        await service.cache.remember(Draft(content="One", category="learning"))
        *_, last = await asked(request="sync", full=True)
        assert last["exit"] == 0
        assert last["result"]["pending"] == 0
        assert await asked(request="wake") == [{"result": {}}]
        assert await asked(request="reload-login") == [{"result": {}}]
        (unknown,) = await asked(request="dance")
        assert "dance" in unknown["error"]["message"]
        stopped = await asked(request="stop")
        assert stopped[0]["result"]["version"] == "9"

    store = with_daemon(tmp_path, client)
    assert any(path.startswith("memories/learning/") for path in store.files())


def test_a_long_sync_shows_its_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "_PROGRESS_SECONDS", 0.02)

    async def slow(phase: str, call: str, subject: str) -> None:
        if call == "changes":
            await anyio.sleep(0.2)

    async def client(home: Home, service: Service) -> None:
        messages = await anyio.to_thread.run_sync(lambda: ask(home, request="sync"))
        assert [list(message) for message in messages[:2]] == [["progress"], ["progress"]]
        assert messages[-1]["exit"] == 0

    with_daemon(tmp_path, client, intercept=slow)


def test_a_large_log_is_moved_into_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "_LARGE_LOG_BYTES", 10_000)
    path = tmp_path / "cache.sqlite3"
    connection = database.connect(path)
    database.migrate(connection)
    log = path.with_name(path.name + "-wal")
    assert log.stat().st_size > 10_000
    upkeep.checkpoint(path)
    assert log.stat().st_size == 0
    connection.execute("INSERT INTO meta VALUES ('x', 'y')")
    reader = sqlite3.connect(path)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM meta").fetchall()
    monkeypatch.setattr(upkeep, "_LARGE_LOG_BYTES", 0)
    upkeep.checkpoint(path)  # somebody reads: no error, another time
    reader.close()
    connection.close()
