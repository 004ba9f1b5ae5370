"""Answers a query: candidates by words and by meaning, filtered in SQL, measured, ranked, each with its passage."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from memory_cache.models import Filter
from memory_cache.search import candidates, dates, passage, ranking, relevance, static_table
from memory_cache.search import query as queries
from memory_cache.search.candidates import Conditions
from memory_cache.search.embedder import Weights
from memory_cache.search.filters import timestamp
from memory_cache.search.ranking import Facts, Measured

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from memory_cache.search.vectors import VectorIndex

    Floats = npt.NDArray[np.float32]


_LOOKED_AT, _LOOKED_AT_WITH_DATES = 10, 300


@dataclass(frozen=True, slots=True)
class Scored:
    """One memory found. `why` is empty unless an explanation was asked for."""

    file_id: int
    score: float
    passage: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The best hits, best first, and how many more of the memories looked at closely matched."""

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
    vectors: "VectorIndex | None" = None,
    explain: bool = False,
) -> SearchResult:
    """The memories that fit the query best. Any text is a safe query; an empty one finds nothing.

    Args:
        connection: a reading connection: it must see committed memories only.
        filter_: conditions that hold for every hit, applied before any limit.
        now: memories past their expiry at this time are left out; `last week` in the query is told from it.
        project_key: the project of the asker; its memories are lifted a little.
        vectors: meaning beside words; None searches words alone.
        explain: fill `Scored.why`.
    """
    conditions = Conditions.of(filter_, now)
    span = dates.span(query, now)
    if span is not None:
        # What the span says is not sought as words too. Where nothing was written then, it was meant otherwise.
        rest = dates.without(query, span.words)
        if not queries.says_something(rest.replace(span.words, "")):
            return _latest(connection, _within(conditions, span), limit, explain)
        asker = _Asker.of(connection, rest, _within(conditions, span), limit, vectors)
        found = _answer(asker, now, project_key, explain)
        if found.hits:
            return found
    return _answer(_Asker.of(connection, query, conditions, limit, vectors), now, project_key, explain)


def _latest(connection: sqlite3.Connection, conditions: Conditions, limit: int, explain: bool) -> SearchResult:
    """All that was written in a span, when nothing else is asked; the latest first."""
    rows = connection.execute(
        f"SELECT m.file_id, m.body FROM memories m WHERE {conditions.sql} ORDER BY m.updated DESC, m.file_id LIMIT ?",
        (*conditions.values, limit + 300),
    ).fetchall()
    why = conditions.note if explain else ""
    return SearchResult([Scored(row[0], 1.0, passage.best(row[1], ()), why) for row in rows[:limit]], len(rows[limit:]))


def _within(conditions: Conditions, span: dates.Span) -> Conditions:
    start, end = timestamp(span.start), timestamp(span.end)
    return replace(
        conditions,
        sql=f"{conditions.sql} AND ((m.created >= ? AND m.created < ?) OR (m.updated >= ? AND m.updated < ?))",
        values=(*conditions.values, start, end, start, end),
        open=False,
        hidden=None,
        note=f"written {span.start:%Y-%m-%d} to {span.end:%Y-%m-%d}",
    )


@dataclass(frozen=True, slots=True)
class _Asker:
    """One search. `vector` is None where meaning has no say."""

    connection: sqlite3.Connection
    query: str
    asked: queries.AskedQuery
    conditions: Conditions
    limit: int
    vectors: "VectorIndex | None"
    vector: "Floats | None"
    weights: Weights

    @classmethod
    def of(
        cls,
        connection: sqlite3.Connection,
        query: str,
        conditions: Conditions,
        limit: int,
        vectors: "VectorIndex | None",
    ) -> "_Asker":
        asked = queries.analyse(connection, query)
        vector = vectors.query(query) if vectors is not None else None
        embedder = vectors.embedder() if vectors is not None else None
        if vector is not None and embedder is not None:
            spoken = [term.plain for term in asked.terms if term.plain]
            weights = embedder.weights if static_table.is_fluent(spoken) else embedder.foreign_weights
        elif vectors is not None and static_table.covers(query):
            weights = ranking.WITHOUT_MEANING
        else:
            weights = ranking.WORDS_ALONE
        return cls(connection, query, asked, conditions, limit, vectors, vector, weights)

    def note(self) -> str:
        """What holds for all hits."""
        taken = [f"{word} taken as {other}" for word, other in self.asked.taken_as]
        return "; ".join(filter(None, (self.conditions.note, *taken)))


def _answer(asker: _Asker, now: datetime, project_key: str | None, explain: bool) -> SearchResult:
    named = dates.named(asker.query)
    # A named date may lift a memory from far below; priority and the like lift by a few places at most.
    closely = 2 * asker.limit + (_LOOKED_AT_WITH_DATES if named else _LOOKED_AT)
    measured, matching, twins = _measured(asker, closely)
    ranked = ranking.rank(measured, now=now, project_key=project_key, dates=named)
    chosen = ranking.spread(ranked, asker.limit, twins)
    bodies = _bodies(asker.connection, [each.file_id for each in chosen])
    hits = [
        Scored(
            each.file_id,
            round(each.score, 4),
            passage.best(bodies[each.file_id], asker.asked.terms),
            each.why(asker.weights, asker.note()) if explain else "",
        )
        for each in chosen
    ]
    return SearchResult(hits, max(matching, len(ranked)) - len(hits))


def _measured(
    asker: _Asker, closely: int
) -> "tuple[list[Measured], int, Callable[[Sequence[int]], npt.NDArray[np.bool_]]]":
    """The `closely` most relevant matches, how many match in all, and which of them say nearly the same."""
    import numpy as np

    connection, conditions = asker.connection, asker.conditions
    by_words = candidates.by_words(connection, asker.asked, conditions, max(candidates.BY_WORDS, asker.limit + 50))
    by_meaning: list[int] = []
    if asker.vectors is not None and asker.vector is not None:
        by_meaning = candidates.by_meaning(connection, asker.vectors, asker.vector, conditions)
    if not by_words and not by_meaning:
        return [], 0, lambda _: np.zeros((0, 0), bool)
    best = dict.fromkeys((*by_words[: candidates.WIDENED], *by_meaning[: candidates.WIDENED]))
    beside = candidates.surroundings(connection, list(best), conditions)
    pool = relevance.Pool.load(connection, list({*by_words, *by_meaning, *beside.ids()}))
    parts = relevance.measure(pool, asker.asked, beside, with_likeness=asker.weights.likeness > 0)
    meaning = np.zeros(len(pool), np.float32)
    if asker.vectors is not None and asker.vector is not None:
        meaning = np.maximum(asker.vectors.cosines(connection, asker.vector, pool.file_ids), 0.0)
    total = ranking.relevance(parts.words, meaning, parts.likeness, asker.weights)
    matches = np.flatnonzero(ranking.is_match(parts.words, meaning, parts.own_terms, asker.weights))
    order = matches[np.argsort(-total[matches], kind="stable")[:closely]]
    facts = _facts(connection, pool.file_ids[order].tolist())
    measured = [
        Measured(
            facts[int(pool.file_ids[place])],
            float(parts.words[place]),
            float(meaning[place]),
            float(parts.likeness[place]),
            float(total[place]),
        )
        for place in order
        if int(pool.file_ids[place]) in facts  # what is indexed without being there is never worth an error
    ]
    return measured, len(matches), pool.twins


def _facts(connection: sqlite3.Connection, file_ids: Sequence[int]) -> dict[int, Facts]:
    cursor = connection.execute(
        "SELECT file_id, created, updated, priority, project_key FROM memories"
        " WHERE file_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(file_ids)),),
    )
    return {
        row[0]: Facts(row[0], datetime.fromisoformat(row[1]), datetime.fromisoformat(row[2]), row[3], row[4])
        for row in cursor
    }


def _bodies(connection: sqlite3.Connection, file_ids: Sequence[int]) -> dict[int, str]:
    cursor = connection.execute(
        "SELECT file_id, body FROM memories WHERE file_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(file_ids)),),
    )
    return {row[0]: row[1] for row in cursor}
