"""The cache alone with 5,000 memories: `python -m benchmarks.store_scale [COUNT]`.

Every call of the facade that goes over many memories, and what one file costs to index without and with search.
"""

import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

from benchmarks.devices import report
from benchmarks.folder_scale import write_store
from memory_cache import files
from memory_cache.cache import MemoryCache, open_cache
from memory_cache.database import connect_migrated, transaction
from memory_cache.home import Home
from memory_cache.models import Change, Draft, Filter, Project
from memory_cache.search import index as search_index
from memory_cache.settings import Settings

PROJECT = Project(id="github.com/acme/widget", key="github.com/acme/widget", name="widget")


def fill(home: Home, store: Path) -> float:
    """Index every file of the store in one transaction; CPU milliseconds per file."""
    home.ensure()
    read = [(path.relative_to(store).as_posix(), path.read_bytes()) for path in sorted(store.rglob("*.md"))]
    connection = connect_migrated(home.cache_file)
    started = time.process_time()
    with transaction(connection):
        for number, (path, data) in enumerate(read):
            files.take_remote(connection, item_id=str(number), path=path, version="1", data=data, file_id=None)
    spent = time.process_time() - started
    connection.close()
    return 1000 * spent / len(read)


def without_search(home: Home, store: Path) -> float:
    """As `fill`, with the search index left out."""
    kept = search_index.refresh, search_index.remove
    search_index.refresh = search_index.remove = lambda *_: None  # type: ignore[assignment]
    try:
        return fill(home, store)
    finally:
        search_index.refresh, search_index.remove = kept


async def calls(cache: MemoryCache) -> dict[str, float]:
    """Milliseconds of each call, the median of five."""
    some = [memory.id for memory in (await cache.list(Filter(), limit=50)).memories]
    chosen = random.Random(3)
    steps: dict[str, Callable[[], Awaitable[Any]]] = {
        "get": lambda: cache.get(chosen.choice(some)),
        "get by prefix": lambda: cache.get(chosen.choice(some)[:8]),
        "list 50": lambda: cache.list(Filter()),
        "list 1000": lambda: cache.list(Filter(), limit=1000),
        "recall without a query": lambda: cache.recall(None, filter=Filter()),
        "statistics": cache.statistics,
        "status": cache.status,
        "context": lambda: cache.context(PROJECT),
        "export": cache.export,
        "update": lambda: cache.update(chosen.choice(some), Change(add_tags=(f"t{chosen.random()}",))),
        "remember": lambda: cache.remember(Draft(content=f"a note {chosen.random()}", category="task")),
        "batch_delete dry": lambda: cache.batch_delete(query="deploy cluster"),
        "graph": cache.graph,
    }
    figures = {}
    for name, step in steps.items():
        times = sorted([await timed(step) for _ in range(5)])
        figures[f"{name} ms"], figures[f"{name} CPU ms"] = times[2]
    wall, spent = await timed(lambda: cache.batch_tag("everywhere"))
    figures["batch_tag all ms"], figures["batch_tag all CPU ms"] = wall, spent
    conditions = {"query": "note", "dry_run": False}
    wall, spent = await timed(lambda: cache.batch_delete(**conditions))  # type: ignore[arg-type]
    figures["batch_delete all ms"], figures["batch_delete all CPU ms"] = wall, spent
    wall, spent = await timed(cache.undo_last_change)
    figures["undo of it ms"], figures["undo of it CPU ms"] = wall, spent
    wall, spent = await timed(cache.catch_up)
    figures["its search terms afterwards ms"], figures["its search terms afterwards CPU ms"] = wall, spent
    return figures


async def timed(step: Callable[[], Awaitable[Any]]) -> tuple[float, float]:
    """Milliseconds on the clock and of the processor that a call takes."""
    started, spent = time.perf_counter(), time.process_time()
    await step()
    return round(1000 * (time.perf_counter() - started), 1), round(1000 * (time.process_time() - spent), 1)


async def measure(count: int) -> dict[str, float]:
    """All figures."""
    with tempfile.TemporaryDirectory() as base:
        store = Path(base) / "store"
        write_store(store, count)
        figures: dict[str, float] = {"memories": count}
        figures["index one file without search ms"] = round(without_search(Home(Path(base) / "plain"), store), 3)
        home = Home(Path(base) / "home")
        figures["index one file ms"] = round(fill(home, store), 3)
        async with open_cache(home, Settings()) as cache:
            figures |= await calls(cache)
            wall, spent = await timed(cache.rebuild)
            figures["rebuild ms"], figures["rebuild CPU ms"] = wall, spent
        return figures


def main() -> None:
    """Print the table and write the JSON."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    figures = anyio.run(measure, count)
    report("store_scale", [(name, f"{value:g}") for name, value in figures.items()], figures)


if __name__ == "__main__":
    main()
