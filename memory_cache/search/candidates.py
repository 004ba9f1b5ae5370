"""Which memories are looked at closely: by words, by meaning, and what stands beside them in time or by a link."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memory_cache.models import Filter
from memory_cache.search import filters
from memory_cache.search.features import COLUMN_WEIGHTS
from memory_cache.search.query import AskedQuery

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from memory_cache.search.vectors import VectorIndex

    Floats = npt.NDArray[np.float32]

BY_WORDS = 80
BY_MEANING = 60
WIDENED = 15  # the best whose neighbours and linked memories are looked at too
FRAGMENT_LENGTH = 160  # terms in all columns; a longer memory needs no surroundings to be understood


@dataclass(frozen=True, slots=True)
class Conditions:
    """A filter as SQL over `memories AS m`.

    Attributes:
        open: it leaves out nothing but expired memories.
        hidden: the same the other way round, where it is `open`: SQL that selects the ids of what is left out.
        note: what an explanation says of it.
    """

    sql: str
    values: tuple[filters.Parameter, ...]
    open: bool
    hidden: tuple[str, tuple[filters.Parameter, ...]] | None = None
    note: str = ""

    @classmethod
    def of(cls, filter_: Filter, now: datetime) -> "Conditions":
        sql, values = filters.conditions(filter_, now)
        is_open = filters.is_open(filter_)
        return cls(sql, tuple(values), is_open, filters.hidden(filter_, now) if is_open else None)


def by_words(connection: sqlite3.Connection, asked: AskedQuery, conditions: Conditions, limit: int) -> list[int]:
    """The best by BM25."""
    if not asked.expression:
        return []
    # Reading the row of every memory that holds a term costs as much as scoring it. Few memories ever expire.
    condition, values = conditions.sql, conditions.values
    source = "search_text f JOIN memories m ON m.file_id = f.rowid"
    if conditions.hidden is not None:
        condition, values = f"f.rowid NOT IN ({conditions.hidden[0]})", conditions.hidden[1]
        source = "search_text f"
    cursor = connection.execute(
        f"SELECT f.rowid FROM {source} WHERE f.search_text MATCH ? AND f.rowid >= ? AND {condition}"
        f" ORDER BY bm25(search_text, {', '.join(map(str, COLUMN_WEIGHTS))}), f.rowid LIMIT ?",
        (asked.expression, asked.oldest_row, *values, limit),
    )
    return [row[0] for row in cursor]


def by_meaning(
    connection: sqlite3.Connection, vectors: "VectorIndex", vector: "Floats", conditions: Conditions
) -> list[int]:
    """The nearest by vector that meet the conditions.

    The vectors know nothing of conditions. So the nearest are taken and checked; when too few of them hold, few
    memories hold at all, and those are compared one by one.
    """
    import numpy as np

    ids, _ = vectors.nearest(connection, vector, BY_MEANING + 20 if conditions.open else BY_MEANING * 4)
    held = passing(connection, ids.tolist(), conditions)
    if len(held) >= BY_MEANING // 2 or conditions.open:
        return held[:BY_MEANING]
    cursor = connection.execute(f"SELECT m.file_id FROM memories m WHERE {conditions.sql}", conditions.values)
    every = np.fromiter((row[0] for row in cursor), np.int64)
    similar = vectors.cosines(connection, vector, every)
    best: list[int] = every[np.argsort(-similar, kind="stable")[:BY_MEANING]].tolist()
    return best


def passing(connection: sqlite3.Connection, file_ids: Iterable[int], conditions: Conditions) -> list[int]:
    """Those that meet the conditions, in the given order."""
    wanted = list(file_ids)
    if conditions.hidden is not None:
        left_out = {row[0] for row in connection.execute(*conditions.hidden)}
        return [file_id for file_id in wanted if file_id not in left_out]
    cursor = connection.execute(
        f"SELECT m.file_id FROM memories m WHERE m.file_id IN (SELECT value FROM json_each(?)) AND {conditions.sql}",
        (json.dumps(wanted), *conditions.values),
    )
    held = {row[0] for row in cursor}
    return [file_id for file_id in wanted if file_id in held]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What stands beside a memory: (file id, how near: 1.0 the next one, less for the one after it)."""

    of: dict[int, list[tuple[int, float]]]

    def ids(self) -> set[int]:
        return {other for others in self.of.values() for other, _ in others}


_NEARNESS = (1.0, 0.7)  # of the next one, of the one after it
_LINK_NEARNESS = 1.0
_EARLIER = """(SELECT b.file_id FROM memories b WHERE b.project_key IS m.project_key
    AND (b.created, b.file_id) < (m.created, m.file_id)
    AND b.created >= coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', m.created, '-1 hour'), m.created)
    ORDER BY b.created DESC, b.file_id DESC LIMIT 1 OFFSET {})"""
_LATER = """(SELECT b.file_id FROM memories b WHERE b.project_key IS m.project_key
    AND (b.created, b.file_id) > (m.created, m.file_id)
    AND b.created <= coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', m.created, '+1 hour'), m.created)
    ORDER BY b.created, b.file_id LIMIT 1 OFFSET {})"""
_BESIDE = ", ".join(side.format(step) for side in (_EARLIER, _LATER) for step in range(len(_NEARNESS)))


def surroundings(connection: sqlite3.Connection, file_ids: Sequence[int], conditions: Conditions) -> Surroundings:
    """Of the short ones among these memories: neighbours in time within the same project, and linked memories.

    Neighbours are of one occasion: written at most an hour apart. Only what meets the conditions itself counts.
    """
    rows = connection.execute(
        f"SELECT m.file_id, {_BESIDE} FROM search_features s JOIN memories m USING (file_id)"
        " WHERE s.file_id IN (SELECT value FROM json_each(?)) AND s.length < ?",
        (json.dumps(list(file_ids)), FRAGMENT_LENGTH),
    )
    beside = {
        row[0]: [(other, near) for other, near in zip(row[1:], _NEARNESS * 2, strict=True) if other is not None]
        for row in rows
    }
    for file_id, other in _linked(connection, list(beside)):
        beside[file_id].append((other, _LINK_NEARNESS))
    return _only_passing(connection, Surroundings(beside), conditions)


def _only_passing(connection: sqlite3.Connection, found: Surroundings, conditions: Conditions) -> Surroundings:
    held = set(passing(connection, found.ids(), conditions))
    return Surroundings(
        {file_id: [(other, near) for other, near in others if other in held] for file_id, others in found.of.items()}
    )


def _linked(connection: sqlite3.Connection, file_ids: Sequence[int]) -> list[tuple[int, int]]:
    """Links count in both directions."""
    wanted = json.dumps(list(file_ids))
    return [
        (row[0], row[1])
        for row in connection.execute(
            "SELECT l.file_id, t.file_id FROM memory_links l JOIN memories t ON t.id = l.target_id"
            " WHERE l.file_id IN (SELECT value FROM json_each(?))"
            " UNION SELECT m.file_id, l.file_id FROM memories m JOIN memory_links l ON l.target_id = m.id"
            " WHERE m.file_id IN (SELECT value FROM json_each(?))",
            (wanted, wanted),
        )
    ]
