"""How long recall takes in a large cache, and what it costs in memory.

    RECALL_DATA=<folder> python -m benchmarks.recall_speed [--memories 10000] [--home FOLDER] [--json FILE]

The memories are put together from sentences of the question sets, about 100 words each. The cache of a home that is
kept is filled up to the number. Two kinds of queries: questions of the sets, and words so common that thousands of
memories hold them. They are asked of the cache, in this process, and of an MCP server over stdio. CPU time is what
recall itself takes in this process; wall time counts what this machine does beside it.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection

import anyio
from mcp import Client, StdioServerParameters

from benchmarks.recall_quality import LIMIT, add, load, written
from memory_cache.cache import open_cache
from memory_cache.database import connect, migrate, transaction
from memory_cache.home import Home
from memory_cache.models import Filter
from memory_cache.search import embedding
from memory_cache.settings import Settings

Ask = Callable[[str], Awaitable[object]]

COMMON = (
    "use file command run", "new time good work great", "people see look going really", "return def self value name",
    "example way just want need", "file", "like this thing one get", "data function list string",
)  # fmt: skip


def fill(connection: Connection, root: Path, wanted: int) -> float:
    """Add memories up to the number wanted; returns CPU milliseconds per memory, 0 when there was nothing to add."""
    texts = [document["text"] for name in sets(root) for part in load(root / name) for document in part.documents]
    pieces = [
        " ".join(words[start : start + 25]) for words in map(str.split, texts) for start in range(0, len(words), 25)
    ]
    have = connection.execute("SELECT count(*) FROM memories").fetchone()[0]
    chance = random.Random(have)
    started = time.process_time()
    for start in range(have, wanted, 2000):
        with transaction(connection):
            for number in range(start, min(start + 2000, wanted)):
                add(connection, " ".join(chance.choices(pieces, k=4)), written({"meta": {}}, number * 40_000, False))
    return (time.process_time() - started) * 1000 / max(1, wanted - have) if wanted > have else 0.0


def sets(root: Path) -> list[str]:
    return [path.name for path in sorted(root.iterdir()) if path.name in ("til", "cosqa", "locomo", "locomo-sess")]


def resident_megabytes() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


async def measure(ask: Ask, queries: list[str]) -> dict[str, float]:
    cpu, wall = [], []
    for query in queries:
        cpu_started, started = time.process_time(), time.perf_counter()
        await ask(query)
        cpu.append((time.process_time() - cpu_started) * 1000)
        wall.append((time.perf_counter() - started) * 1000)
    return {
        f"{kind}_{share}_ms": round(sorted(times)[int(len(times) * share / 100)], 1)
        for kind, times in (("cpu", cpu), ("wall", wall))
        for share in (50, 95)
    }


async def of_the_cache(home: Home, kinds: dict[str, list[str]]) -> dict[str, object]:
    before = resident_megabytes()
    async with open_cache(home, Settings()) as cache:

        async def ask(query: str) -> object:
            return await cache.recall(query, filter=Filter(), limit=LIMIT)

        started = time.perf_counter()
        await ask("the first search loads")
        result: dict[str, object] = {"first_search_s": round(time.perf_counter() - started, 2)}
        for kind, queries in kinds.items():
            result[kind] = await measure(ask, queries)
    return {**result, "rss_growth_mb": round(resident_megabytes() - before, 1)}


async def over_stdio(home: Home, kinds: dict[str, list[str]]) -> dict[str, object]:
    environment = {
        **os.environ,
        "CLAUDE_MEMORY_HOME": str(home.root),
        "CLAUDE_MEMORY_DAEMON_AUTOSTART": "false",
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }
    server = StdioServerParameters(command=sys.executable, args=["-m", "command_line", "mcp"], env=environment)
    async with Client(server, mode="legacy", read_timeout_seconds=120) as client:

        async def ask(query: str) -> object:
            return await client.call_tool("recall", {"query": query, "limit": LIMIT, "all": True})

        await ask("the first search loads")
        return {kind: await measure(ask, queries) for kind, queries in kinds.items()}


def embedding_milliseconds(root: Path) -> float:
    """CPU time of the vector of a text of 100 words."""
    words = " ".join(part.text for name in sets(root) for each in load(root / name) for part in each.questions).split()
    texts = [" ".join(words[start : start + 100]) for start in range(0, min(len(words), 20_000) - 100, 100)]
    model = embedding.StaticEmbedder()
    model.embed_documents(texts[:1])
    started = time.process_time()
    model.embed_documents(texts)
    return (time.process_time() - started) * 1000 / len(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description="Recall speed in a large cache.")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--home", type=Path, help="keep the cache here")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    root = Path(os.environ["RECALL_DATA"])
    asked = [question.text for name in sets(root) for part in load(root / name) for question in part.questions]
    kinds = {"questions": random.Random(4).sample(asked, 200), "common_words": list(COMMON) * 8}
    with tempfile.TemporaryDirectory() as folder:
        home = Home((arguments.home or Path(folder)).resolve())
        home.ensure()
        with closing(connect(home.cache_file)) as cache:
            migrate(cache)
            result: dict[str, object] = {"memories": arguments.memories}
            result["write_cpu_ms"] = round(fill(cache, root, arguments.memories), 2)
        result["cache"] = anyio.run(of_the_cache, home, kinds)
        result["over_stdio"] = anyio.run(over_stdio, home, kinds)
        result["embedding_cpu_ms"] = round(embedding_milliseconds(root), 2)
    print(json.dumps(result, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
