"""Answers a query: candidates from the full-text index, filtered in SQL, ranked, with the passage that fits best."""

import sqlite3
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from memory_cache.models import Filter
from memory_cache.search import filters
from memory_cache.search import query as queries

CANDIDATES = 300

# Weights of title, tags, gist and body in BM25.
_WEIGHTS = (3.0, 2.0, 1.5, 1.0)


class VectorIndex(Protocol):
    """Vectors of all memories (see `memory_cache.search.vectors`)."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One memory found. `why` is empty unless an explanation was asked for."""

    file_id: int
    score: float
    passage: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The best hits, best first, and how many more memories matched (counted up to `CANDIDATES`)."""

    hits: list[Scored] = field(default_factory=list)
    more: int = 0


def search(
    connection: sqlite3.Connection,
    query: str,
    filter_: Filter,
    *,
    limit: int,
    now: datetime,
    project_key: str | None = None,
    vectors: VectorIndex | None = None,
    explain: bool = False,
) -> SearchResult:
    """The memories that fit the query best. Any text is a safe query; an empty one finds nothing.

    Args:
        filter_: conditions that hold for every hit, applied before any limit.
        now: memories past their expiry at this time are left out.
        project_key: the project of the asker; its memories are lifted a little.
        vectors: meaning beside words; None searches words alone.
        explain: fill `Scored.why`.
    """
    asked = queries.analyse(connection, query)
    if not asked.searched:
        return SearchResult()
    rows = _lexical(connection, asked, filter_, now)
    hits = [Scored(row["file_id"], score, _passage(row["body"])) for row, score in rows[:limit]]
    return SearchResult(hits, max(0, len(rows) - limit))


def _lexical(
    connection: sqlite3.Connection, asked: queries.AskedQuery, filter_: Filter, now: datetime
) -> list[tuple[sqlite3.Row, float]]:
    condition, values = filters.conditions(filter_, now)
    cursor = connection.execute(
        f"SELECT m.file_id, m.body, -bm25(search_text, {', '.join(map(str, _WEIGHTS))}) AS score"
        " FROM search_text f JOIN memories m ON m.file_id = f.rowid"
        f" WHERE f.search_text MATCH ? AND f.rowid >= ? AND {condition}"
        " ORDER BY score DESC, m.file_id LIMIT ?",
        (asked.expression, asked.oldest_row, *values, CANDIDATES),
    )
    return [(row, row["score"] / asked.ideal) for row in cursor]


def _passage(body: str) -> str:
    return body[:400]
