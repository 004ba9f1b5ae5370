"""Imports real files into a real cache."""

from pathlib import Path
from typing import Any

from memory_cache import files
from memory_cache.cache import MemoryCache
from memory_cache.importing import sources, writer
from memory_cache.importing.placement import Placement
from memory_cache.importing.report import Report
from memory_cache.models import Memory


async def take_in(
    cache: MemoryCache,
    path: Path,
    *,
    kind: str | None = None,
    placement: Placement | None = None,
    dry_run: bool = False,
    home: Path = Path("/nowhere"),
) -> Report:
    """Import a path as the command does."""
    kind = kind or sources.detect(path)
    report = Report(kind, str(path), dry_run)
    return await writer.store(cache, sources.SOURCES[kind].read(path, home), report, placement or Placement())


async def all_memories(cache: MemoryCache) -> dict[str, Memory]:
    """Every memory by its title."""
    exported = await cache.export()
    return {memory["title"]: await cache.get(memory["id"]) for memory in exported}


async def bytes_of(cache: MemoryCache, memory_id: str) -> bytes:
    """The file of a memory."""
    memory = await cache.get(memory_id)
    record = await cache.database.read(lambda c: files.by_path(c, memory.path))
    assert record is not None
    assert record.content is not None
    return record.content


async def state(cache: MemoryCache) -> list[tuple[Any, ...]]:
    """All files, byte for byte."""
    return await cache.database.read(
        lambda c: [tuple(row) for row in c.execute("SELECT path, content, local_version FROM files ORDER BY path")]
    )


def reasons(report: Report) -> dict[str, str]:
    """Why what was skipped."""
    return {left.where: left.reason for left in report.skipped}
