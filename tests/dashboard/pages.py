"""The pages of a real cache over a real socket, and a client that is signed in."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx

from dashboard.running import Running
from dashboard.server import Dashboard
from memory_cache.cache import MemoryCache, open_cache
from memory_cache.home import Home
from memory_cache.models import Draft, Memory, SyncHealth
from memory_cache.settings import Settings


@dataclass(slots=True)
class Daemon:
    """A daemon as the pages see it; a test sets how it fares."""

    health: SyncHealth = field(default_factory=lambda: SyncHealth(state="ok"))
    syncing: bool = False
    rounds: int = 0

    def running(self) -> Running:
        def sync_now() -> None:
            self.rounds += 1

        async def describe() -> dict[str, Any]:
            return {"version": "1"}

        return Running("1", lambda: self.syncing, lambda: self.health, describe, sync_now, nullcontext)


@dataclass(slots=True)
class Pages:
    """The server under test; `web` is signed in, `key` and cookie are its secrets."""

    cache: MemoryCache
    dashboard: Dashboard
    daemon: Daemon
    web: httpx.AsyncClient
    origin: str

    async def get(self, path: str, code: int = 200) -> Any:
        answer = await self.web.get(path)
        assert answer.status_code == code, answer.text
        return answer.json()

    async def send(self, method: str, path: str, body: dict[str, Any], code: int = 200) -> Any:
        answer = await self.web.request(method, path, json=body)
        assert answer.status_code == code, answer.text
        return answer.json()

    async def remember(self, content: str, category: str = "learning", **fields: Any) -> Memory:
        return (await self.cache.remember(Draft(content=content, category=category, **fields))).memory

    async def events(self, wanted: int) -> list[tuple[str, dict[str, Any]]]:
        """The first events of a stream."""
        found: list[tuple[str, dict[str, Any]]] = []
        async with self.web.stream("GET", "/api/events") as stream:
            name = ""
            async for line in stream.aiter_lines():
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    found.append((name, json.loads(line.removeprefix("data: "))))
                if len(found) == wanted:
                    break
        return found


async def sign_in(web: httpx.AsyncClient, url: str) -> None:
    """Exchange the token of this address, as the page does."""
    answer = await web.post("/api/login", json={"token": url.partition("#token=")[2]})
    assert answer.status_code == 200, answer.text
    web.headers["x-memory-key"] = answer.json()["key"]


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[Pages]:
    """The pages of a new home below `folder`."""
    async with open_cache(Home(folder / "home"), Settings()) as cache, anyio.create_task_group() as group:
        daemon = Daemon()
        dashboard = Dashboard(cache, daemon.running())
        await group.start(dashboard.serve)
        origin = f"http://127.0.0.1:{dashboard.port}"
        async with httpx.AsyncClient(base_url=origin, trust_env=False, timeout=30) as web:
            await sign_in(web, dashboard.url())
            yield Pages(cache, dashboard, daemon, web, origin)
        group.cancel_scope.cancel()
