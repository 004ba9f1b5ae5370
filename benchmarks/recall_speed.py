"""How long recall takes in a large cache, and what it costs in memory.

    RECALL_DATA=<folder> python -m benchmarks.recall_speed [--memories 10000] [--cache FILE] [--json FILE]

The memories are put together from sentences of the question sets, about 100 words each. A cache that is there already
is used as it is. Two kinds of queries: questions of the sets, and words so common that thousands of memories hold them.
CPU time is what the search itself takes; wall time counts what this machine does beside it.
"""

import argparse
import json
import os
import random
import tempfile
import time
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection

from benchmarks.recall_quality import LIMIT, NOW, add, load, written
from memory_cache.database import connect, migrate, transaction
from memory_cache.models import Filter
from memory_cache.search import recall
from memory_cache.search.vectors import VectorIndex

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


def measure(connection: Connection, queries: list[str], vectors: VectorIndex) -> dict[str, float]:
    cpu, wall = [], []
    for query in queries:
        cpu_started, started = time.process_time(), time.perf_counter()
        recall.search(connection, query, Filter(), limit=LIMIT, now=NOW, vectors=vectors)
        cpu.append((time.process_time() - cpu_started) * 1000)
        wall.append((time.perf_counter() - started) * 1000)
    return {
        f"{kind}_{share}_ms": round(sorted(times)[int(len(times) * share / 100)], 1)
        for kind, times in (("cpu", cpu), ("wall", wall))
        for share in (50, 95)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Recall speed in a large cache.")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    root = Path(os.environ["RECALL_DATA"])
    chance = random.Random(4)
    asked = [question.text for name in sets(root) for part in load(root / name) for question in part.questions]
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(connect(arguments.cache or Path(folder) / "c.db")) as cache,
    ):
        migrate(cache)
        result: dict[str, object] = {"memories": arguments.memories}
        result["write_cpu_ms"] = round(fill(cache, root, arguments.memories), 2)
        before, started = resident_megabytes(), time.perf_counter()
        vectors = VectorIndex()
        recall.search(cache, "the first search loads", Filter(), limit=LIMIT, now=NOW, vectors=vectors)
        result["first_search_s"] = round(time.perf_counter() - started, 2)
        result["questions"] = measure(cache, chance.sample(asked, 200), vectors)
        result["common_words"] = measure(cache, list(COMMON) * 8, vectors)
        result["rss_growth_mb"] = round(resident_megabytes() - before, 1)
    print(json.dumps(result, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
