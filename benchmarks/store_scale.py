"""Every tool with 5,000 memories: `python -m benchmarks.store_scale [COUNT]`.

Each of the tools is called over MCP in this process, those that change everything on everything; then what it costs to
index a file and to rebuild the cache, and how far memory grew. The processor's time is that of this whole process; on
a machine that does other work, trust it rather than the clock.
"""

import random
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio

from benchmarks.devices import report, resident_megabytes
from benchmarks.folder_scale import WORDS, write_store
from memory_cache import conflicts, document_file, documents, files, patterns
from memory_cache.cache import MemoryCache, open_cache
from memory_cache.conflicts import ConflictRecord
from memory_cache.database import connect_migrated, transaction
from memory_cache.documents import Caps
from memory_cache.home import Home
from memory_cache.models import Filter
from memory_cache.search import index as search_index
from memory_cache.settings import Settings

LIMIT_MS = 1000
NOW = datetime(2026, 12, 1, tzinfo=UTC)
DOCUMENTS, PATTERNS, CONFLICTS = 300, 200, 50
REPEATED, CYCLES = 3, 2


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


def furnish(connection: Any, memory_ids: list[str]) -> None:
    """Documents, patterns and open conflicts beside the memories."""
    chosen = random.Random(5)

    def text(words: int) -> str:
        return " ".join(chosen.choices(WORDS, k=words))

    for number in range(DOCUMENTS):
        document = document_file.DocumentFile(
            title=f"Document {number}", content=f"{number} {text(1500)}", type="library-docs",
            source=f"https://example.org/{number}", source_tool="context7", created=NOW, updated=NOW,
        )  # fmt: skip
        documents.store(connection, document, synced=True, caps=Caps(), now=NOW)
    for number in range(PATTERNS):
        patterns.store(
            connection, description=f"{text(8)} {number}", category="git", project=None, example=text(10),
            device="bench", now=NOW,
        )  # fmt: skip
    for number, memory_id in enumerate(memory_ids[:CONFLICTS]):
        record = ConflictRecord(memory_id, "", "laptop", NOW, None, f"# Theirs {number}\n\n{text(60)}\n".encode())
        files.add(connection, conflicts.path_of(record), conflicts.encode(record))


@contextmanager
def measured(figures: dict[str, dict[str, float]], name: str) -> Any:
    """Note what the block takes; of several with one name the slowest counts."""
    started, spent = time.perf_counter(), time.process_time()
    yield
    wall, cpu = 1000 * (time.perf_counter() - started), 1000 * (time.process_time() - spent)
    slowest = figures.setdefault(name, {"wall_ms": 0.0, "cpu_ms": 0.0})
    slowest["wall_ms"], slowest["cpu_ms"] = max(slowest["wall_ms"], wall), max(slowest["cpu_ms"], cpu)


async def every_tool(cache: MemoryCache, folder: Path, memory_used: list[float]) -> dict[str, dict[str, float]]:
    """The slowest of a few calls of each tool, in cycles; `memory_used` gets the megabytes after each cycle.

    Raises AssertionError when a tool is missing or fails.
    """
    from mcp import Client

    from mcp_server.factory import create_server
    from mcp_server.session import SessionContext

    figures: dict[str, dict[str, float]] = {}
    ids = [entry["id"] for entry in await cache.export()]
    server = create_server(cache, SessionContext(cwd=str(folder)), profile="full")
    async with Client(server) as client:

        async def call(tool: str, label: str = "", /, **arguments: Any) -> str:
            name = f"{tool} {label}".strip()
            with measured(figures, name):
                result = await client.call_tool(tool, arguments)
            text = "".join(getattr(part, "text", "") for part in result.content)
            assert not result.is_error, f"{name}: {text}"
            return text

        for cycle in range(CYCLES):
            await cache.database.write(lambda connection: furnish(connection, ids))
            for number in range(cycle * REPEATED, (cycle + 1) * REPEATED):
                await reading(call, ids, number)
                await writing(call, ids, number)
            await everything(call, cache)
            memory_used.append(resident_megabytes())
        (folder / "elsewhere").mkdir()
        await call("configure_storage", action="custom", path=str(folder / "elsewhere"))
        missing = {tool.name for tool in (await client.list_tools()).tools} - {name.split()[0] for name in figures}
    assert not missing, missing
    return figures


Call = Callable[..., Awaitable[str]]


async def reading(call: Call, ids: list[str], number: int) -> None:
    """Every tool that only reads."""
    words = " ".join(random.Random(number).choices(WORDS, k=4))
    await call("recall", query=words, all=True)
    await call("recall", "without a query", all=True)
    await call("get_context", verbose=True)
    await call("list", limit=50)
    await call("list", "200", limit=200)
    await call("status")
    await call("history", id=ids[number])
    await call("get_related", id=ids[7], depth=3)
    await call("visualize_graph")
    await call("get_statistics")
    await call("project_status")
    await call("list_conflicts")
    found = await call("search_documents", query=words)
    await call("get_document", id=found.partition("ID: ")[2].split()[0])
    await call("pattern_search", query=words)
    await call("pattern_mature", min_count=1)
    await call("batch_tag", "dry", tag="everywhere", dryRun=True)
    await call("batch_delete", "dry", query="note deploy")
    await call("cleanup", "dry", dryRun=True)
    await call("export_memories", "json", format="json")
    await call("export_memories", "markdown", format="markdown")


async def writing(call: Call, ids: list[str], number: int) -> None:
    """Every tool that changes one memory or a few."""
    words = " ".join(random.Random(100 + number).choices(WORDS, k=30))
    mine, others = ids[100 + 50 * number], ids[101 + 50 * number : 149 + 50 * number]
    await call("remember", category="task", content=f"# Remembered {number}\n\n{words}", ttl="7d")
    await call("update", id=mine, content=f"# Updated {number}\n\n{words}", tags=["new"])
    await call("link_memories", id1=mine, id2=others[0])
    await call("forget", id=others[1])
    await call("restore", id=others[1])
    await call("undo_last_change")
    await call("merge_memories", "of 40", ids=[mine, *others[2:41]])
    await call("pattern_store", description=f"Run the tests before {words[:60]} {number}", category="testing")
    conflict = (await call("list_conflicts")).partition("ID: ")[2].split()[0]
    await call("resolve_conflict", id=conflict, keep="both")


async def everything(call: Call, cache: MemoryCache) -> None:
    """Tools that change everything at once, each undone."""
    found = await call("pattern_search", query="deploy database")
    await call("pattern_mark_as_skill", pattern_ids=[found.partition("ID: ")[2].split()[0]])
    await call("batch_tag", "all", tag="everywhere")
    await cache.catch_up()
    await call("undo_last_change", "of batch_tag all")
    await cache.catch_up()
    await call("batch_delete", "all", query="note", dryRun=False)
    await call("get_statistics", "with all in the trash")
    await call("undo_last_change", "of batch_delete all")
    await call("recall", "right afterwards", query="deploy database", all=True)
    await cache.catch_up()
    await expire_all(cache)
    await call("cleanup", "all")
    await call("undo_last_change", "of cleanup all")
    await cache.catch_up()


async def expire_all(cache: MemoryCache) -> None:
    """Every memory has expired."""
    past = (NOW - timedelta(days=365)).isoformat()
    await cache.database.write(lambda connection: connection.execute("UPDATE memories SET expires_at = ?", (past,)))


async def measure(count: int) -> dict[str, Any]:
    """All figures."""
    with tempfile.TemporaryDirectory() as base:
        store = Path(base) / "store"
        write_store(store, count)
        figures: dict[str, Any] = {"memories": count}
        figures["index_one_file_without_search_cpu_ms"] = round(without_search(Home(Path(base) / "plain"), store), 3)
        home = Home(Path(base) / "home")
        figures["index_one_file_cpu_ms"] = round(fill(home, store), 3)
        async with open_cache(home, Settings()) as cache:
            await cache.recall("warm up", filter=Filter())
            figures["rss_mb"] = [resident_megabytes()]
            figures["tools"] = await every_tool(cache, Path(base), figures["rss_mb"])
            figures["rss_peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 * 1.048576
            with measured(figures["tools"], "(rebuild of the cache)"):
                await cache.rebuild()
        return figures


def main() -> None:
    """Print the table and write the JSON."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    figures = anyio.run(measure, count)
    rows = [
        (name, f"{taken['wall_ms']:8.1f} ms   CPU {taken['cpu_ms']:8.1f} ms")
        for name, taken in sorted(figures["tools"].items(), key=lambda entry: -entry[1]["cpu_ms"])
    ]
    slow = [name for name, taken in figures["tools"].items() if taken["cpu_ms"] > LIMIT_MS and not name.startswith("(")]
    rows += [
        ("index one file", f"CPU {figures['index_one_file_cpu_ms']} ms"),
        ("index one file without search", f"CPU {figures['index_one_file_without_search_cpu_ms']} ms"),
        ("memory (RSS) at first, after each cycle",
         f"{', '.join(f'{used:.0f}' for used in figures['rss_mb'])} MB   at most {figures['rss_peak_mb']:.0f} MB"),
        (f"calls over {LIMIT_MS} ms of CPU (aim: none)", ", ".join(slow) or "none"),
    ]  # fmt: skip
    report(f"store_scale_{count}", rows, figures)


if __name__ == "__main__":
    main()
