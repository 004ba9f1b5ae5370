"""How well recall finds: question sets, baselines, and this project's search, in one table and one JSON file.

    RECALL_DATA=<folder> python -m benchmarks.recall_quality [--sets a,b] [--systems lexical,default] [--json FILE]

The folder holds one directory per set with `corpus.jsonl` (lines {"coll", "id", "text", "meta"}) and `queries.jsonl`
(lines {"coll", "id", "text", "rel"}). Each `coll` is a cache of its own. `meta.date` becomes the day of writing.
Times are of the search alone, in one process, on whatever this machine does beside it.
"""

import argparse
import json
import math
import os
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memory_cache.clock import to_text
from memory_cache.database import connect, migrate, transaction
from memory_cache.models import Filter
from memory_cache.search import embedding, index, recall
from memory_cache.search.embedder import EmbedderMissing
from memory_cache.search.stopwords import STOP_WORDS
from memory_cache.search.vectors import VectorIndex

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
LIMIT = 10

Search = Callable[[str], list[str]]


@dataclass(frozen=True)
class Question:
    text: str
    relevant: frozenset[str]


@dataclass(frozen=True)
class Collection:
    """Memories that are searched together, and what is asked of them."""

    documents: list[dict[str, Any]]
    questions: list[Question]


def load(folder: Path) -> list[Collection]:
    documents: dict[str, list[dict[str, Any]]] = defaultdict(list)
    questions: dict[str, list[Question]] = defaultdict(list)
    for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines():
        document = json.loads(line)
        documents[document["coll"]].append(document)
    for line in (folder / "queries.jsonl").read_text("utf-8").splitlines():
        question = json.loads(line)
        questions[question["coll"]].append(Question(question["text"], frozenset(question["rel"])))
    return [Collection(documents[name], questions[name]) for name in documents]


def written(document: dict[str, Any], position: int, with_dates: bool) -> datetime:
    """When the memory counts as written: its set's date where there is one; in order within a day."""
    found = re.search(r"(\d{1,2}) (\w+),? (\d{4})", str(document["meta"].get("date", ""))) if with_dates else None
    moment = NOW - timedelta(hours=1)
    if found:
        moment = datetime.strptime(" ".join(found.groups()), "%d %B %Y").replace(tzinfo=UTC)
    return moment + timedelta(milliseconds=10 * position)


def fill(connection: sqlite3.Connection, documents: list[dict[str, Any]], with_dates: bool) -> None:
    """Store the documents as memories, through the code that indexes every write."""
    for start in range(0, len(documents), 500):
        with transaction(connection):
            for position, document in enumerate(documents[start : start + 500], start):
                add(connection, document["text"], written(document, position, with_dates))


def add(connection: sqlite3.Connection, body: str, moment: datetime) -> int:
    file_id = connection.execute("INSERT INTO files (path, kind) VALUES ('memories/x.md', 'memory')").lastrowid
    assert file_id is not None
    title = body.strip().partition("\n")[0].lstrip("# ").strip()[:100]
    connection.execute(
        "INSERT INTO memories (file_id, id, category, title, body, created, updated, priority)"
        " VALUES (?, ?, '', ?, ?, ?, ?, 'normal')",
        (file_id, str(file_id), title, body, to_text(moment), to_text(moment)),
    )
    index.refresh(connection, file_id)
    return file_id


class Ours:
    """This project's search over a cache on disk."""

    def __init__(self, embedder: str | None, with_dates: bool) -> None:
        self.embedder = embedder
        self.with_dates = with_dates

    def open(self, documents: list[dict[str, Any]], folder: Path) -> Iterator[Search]:
        with closing(connect(folder / f"{self.embedder}.db")) as connection:
            migrate(connection)
            if self.embedder:
                embedding.choose(connection, self.embedder)
            fill(connection, documents, self.with_dates)
            self._fill_vectors(connection)
            vectors = VectorIndex(self.embedder) if self.embedder else None

            def search(query: str) -> list[str]:
                found = recall.search(connection, query, Filter(), limit=LIMIT, now=NOW, vectors=vectors)
                return [documents[hit.file_id - 1]["id"] for hit in found.hits]

            yield search

    def _fill_vectors(self, connection: sqlite3.Connection) -> None:
        embedder = embedding.load_embedder(self.embedder or "none")
        while embedder is not None and (made := embedding.fill_some(connection, embedder, 64)):
            print(f"\r  {embedding.waiting(connection, embedder.name)} vectors to make ", end="", file=sys.stderr)
            assert made


class FullText:
    """Plain SQLite: FTS5 with its porter tokenizer, stop words left out, terms joined by OR."""

    def open(self, documents: list[dict[str, Any]], folder: Path) -> Iterator[Search]:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute("CREATE VIRTUAL TABLE t USING fts5 (text, tokenize = 'porter unicode61')")
            connection.executemany("INSERT INTO t VALUES (?)", [(document["text"],) for document in documents])

            def search(query: str) -> list[str]:
                words = re.findall(r"\w+", query.lower())
                asked = " OR ".join(f'"{word}"' for word in ([w for w in words if w not in STOP_WORDS] or words))
                cursor = connection.execute(
                    "SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT ?", (asked or '""', LIMIT)
                )
                return [documents[row[0] - 1]["id"] for row in cursor]

            yield search


class Substring:
    """What simple memory servers do: the memories that contain most of the query's words, as written."""

    def open(self, documents: list[dict[str, Any]], folder: Path) -> Iterator[Search]:
        texts = [document["text"].lower() for document in documents]

        def search(query: str) -> list[str]:
            words = set(re.findall(r"\w+", query.lower())) - STOP_WORDS
            counts = [sum(word in text for word in words) for text in texts]
            best = sorted(range(len(texts)), key=lambda place: -counts[place])[:LIMIT]
            return [documents[place]["id"] for place in best if counts[place]]

        yield search


@dataclass(frozen=True)
class Result:
    """Means over all questions; times in milliseconds."""

    set: str
    system: str
    questions: int
    recall_5: float
    recall_10: float
    ndcg_10: float
    mrr: float
    p50_ms: float
    p95_ms: float


def measure(name: str, system: str, searcher: Any, collections: list[Collection]) -> Result:
    scores: list[tuple[float, float, float, float]] = []
    times: list[float] = []
    for collection in collections:
        with tempfile.TemporaryDirectory() as folder:
            for search in searcher.open(collection.documents, Path(folder)):
                search("warm up")
                for question in collection.questions:
                    started = time.perf_counter()
                    found = search(question.text)
                    times.append((time.perf_counter() - started) * 1000)
                    scores.append(score(found, question.relevant))
    means = [statistics.fmean(column) for column in zip(*scores, strict=True)]
    times.sort()
    p50, p95 = times[len(times) // 2], times[int(len(times) * 0.95)]
    return Result(name, system, len(scores), *(round(mean, 4) for mean in means), round(p50, 2), round(p95, 2))


def score(found: list[str], relevant: frozenset[str]) -> tuple[float, float, float, float]:
    """Recall at 5 and 10, nDCG at 10, reciprocal rank of the first relevant one."""
    hits = [identifier in relevant for identifier in found]
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(LIMIT, len(relevant))))
    gained = sum(hit / math.log2(rank + 2) for rank, hit in enumerate(hits))
    first = next((1 / (rank + 1) for rank, hit in enumerate(hits) if hit), 0.0)
    return sum(hits[:5]) / len(relevant), sum(hits) / len(relevant), gained / ideal, first


def systems(names: list[str], with_dates: bool) -> dict[str, Any]:
    known: dict[str, Any] = {
        "substring": Substring(),
        "fts5-porter": FullText(),
        "lexical": Ours(None, with_dates),
        "default": Ours("static", with_dates),
    }
    for extra in ("onnx", "multilingual"):
        try:
            embedding.load_embedder(extra)
        except EmbedderMissing as missing:
            if extra in names:
                sys.exit(f"{extra}: {missing.message} {missing.hint}")
        else:
            known[extra] = Ours(extra, with_dates)
    chosen = names or [name for name in known if name != "multilingual"]
    return {name: known[name] for name in chosen}


def main() -> None:
    parser = argparse.ArgumentParser(description="Recall quality on question sets.")
    parser.add_argument("--sets", default="", help="comma-separated; all of the folder by default")
    parser.add_argument("--systems", default="", help="substring, fts5-porter, lexical, default, onnx, multilingual")
    parser.add_argument("--no-dates", action="store_true", help="count every memory as written today")
    parser.add_argument("--json", type=Path, help="write the results here too")
    arguments = parser.parse_args()
    data = os.environ.get("RECALL_DATA")
    if not data:
        parser.error("set RECALL_DATA to the folder of the question sets")
    root = Path(data)
    names = arguments.sets.split(",") if arguments.sets else sorted(p.name for p in root.iterdir() if p.is_dir())
    results: list[Result] = []
    print(f"{'set':<13}{'system':<13}{'n':>6}{'R@5':>8}{'R@10':>8}{'nDCG@10':>9}{'MRR':>8}{'p50 ms':>8}{'p95 ms':>8}")
    for name in names:
        collections = load(root / name)
        for system, searcher in systems([s for s in arguments.systems.split(",") if s], not arguments.no_dates).items():
            result = measure(name, system, searcher, collections)
            results.append(result)
            print(
                f"{name:<13}{system:<13}{result.questions:>6}{result.recall_5:>8.4f}{result.recall_10:>8.4f}"
                f"{result.ndcg_10:>9.4f}{result.mrr:>8.4f}{result.p50_ms:>8.2f}{result.p95_ms:>8.2f}",
                flush=True,
            )
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(result) for result in results], indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
