"""A device for tests of the MCP server: a real home with a real cache, a clock that is set, and clients."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mcp import Client
from mcp_types import CallToolResult, TextContent

from mcp_server.factory import create_server
from mcp_server.server import MemoryServer
from mcp_server.session import SessionContext
from mcp_server.tools import Profile
from memory_cache.cache import MemoryCache, open_cache
from memory_cache.home import Home
from memory_cache.models import Filter
from memory_cache.settings import Settings

START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
ID = re.compile(r"^ID: ([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$", re.MULTILINE)
HEX_ID = re.compile(r"^ID: ([0-9a-f]{32})$", re.MULTILINE)


@dataclass(slots=True)
class Clock:
    """A clock that a test moves. It ticks a second with every look, so that writes have an order."""

    moment: datetime = START

    def __call__(self) -> datetime:
        self.moment += timedelta(seconds=1)
        return self.moment

    def pass_days(self, days: float) -> None:
        """Let time pass."""
        self.moment += timedelta(days=days)


@dataclass(slots=True)
class World:
    """One device."""

    home: Home
    cache: MemoryCache
    clock: Clock
    project: Path

    @staticmethod
    def everything() -> Filter:
        """A filter that leaves nothing out."""
        return Filter(with_expired=True)

    def server(self, context: SessionContext | None = None, *, profile: Profile | None = None) -> MemoryServer:
        """A server whose client works in the project's directory, unless said otherwise."""
        server = create_server(self.cache, context or SessionContext(cwd=str(self.project)), profile=profile)
        server.session.now = self.clock
        return server


@asynccontextmanager
async def open_world(base: Path, settings: Settings | None = None) -> AsyncIterator[World]:
    """A device in `base`, and a directory `widget` to work in."""
    home = Home(base / "home")
    home.ensure()
    project = base / "widget"
    project.mkdir(exist_ok=True)
    clock = Clock()
    async with open_cache(home, settings or Settings(), now=clock) as cache:
        yield World(home, cache, clock, project)


class ToolFailed(Exception):
    """The tool answered with an error."""


@dataclass(slots=True)
class Claude:
    """What the model does with the server, and what it sees."""

    client: Client

    async def call(self, tool: str, /, **arguments: Any) -> CallToolResult:
        """The raw result. `global_` stands for `global`, `all_` for `all`."""
        named = {name.rstrip("_"): value for name, value in arguments.items()}
        result = await self.client.call_tool(tool, named)
        assert isinstance(result, CallToolResult)
        assert result.structured_content is None, "the model would see JSON instead of the text"
        return result

    async def say(self, tool: str, /, **arguments: Any) -> str:
        """The text of a success."""
        result = await self.call(tool, **arguments)
        if result.is_error:
            raise ToolFailed(text_of(result))
        return text_of(result)

    async def fails(self, tool: str, /, **arguments: Any) -> str:
        """The text of an error."""
        result = await self.call(tool, **arguments)
        assert result.is_error, text_of(result)
        return text_of(result)

    async def remember(self, content: str, /, category: str = "learning", **more: Any) -> str:
        """Store a memory; its id."""
        return id_of(await self.say("remember", content=content, category=category, **more))


def text_of(result: CallToolResult) -> str:
    """All text blocks."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def id_of(text: str) -> str:
    """The memory's id in an answer."""
    found = ID.search(text)
    assert found, f"no id in: {text}"
    return found[1]


def hex_id_of(text: str) -> str:
    """The document's or pattern's id in an answer."""
    found = HEX_ID.search(text)
    assert found, f"no id in: {text}"
    return found[1]


def make_repository(directory: Path, origin: str) -> None:
    """What git has in a fresh clone, as far as it names the project."""
    git = directory / ".git"
    for part in ("objects", "refs"):
        (git / part).mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text(f'[remote "origin"]\n\turl = {origin}\n')
