"""Opens real caches for tests of the facade."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from memory_cache import files
from memory_cache.cache import MemoryCache, open_cache
from memory_cache.home import Home
from memory_cache.models import Draft, Memory, Project
from memory_cache.settings import Settings

from .store import Clock

WIDGET = Project(id="github.com/acme/widget", key="github.com/acme/widget", name="widget")
GADGET = Project(id="github.com/acme/gadget", key="github.com/acme/gadget", name="gadget")


@asynccontextmanager
async def opened(
    folder: Path, clock: Clock | None = None, settings: Settings | None = None
) -> AsyncIterator[MemoryCache]:
    """A cache in its own home below `folder`."""
    async with open_cache(Home(folder / "home"), settings or Settings(), now=clock or Clock()) as cache:
        yield cache


async def remember(cache: MemoryCache, content: str = "Text", category: str = "learning", **fields: object) -> Memory:
    return (await cache.remember(Draft(content=content, category=category, **fields))).memory  # type: ignore[arg-type]


async def bytes_of(cache: MemoryCache, memory: Memory) -> bytes:
    record = await cache.database.read(lambda c: files.by_path(c, memory.path))
    assert record is not None
    assert record.content is not None
    return record.content


async def put(cache: MemoryCache, path: str, data: bytes) -> None:
    await cache.database.write(lambda c: files.add(c, path, data))
