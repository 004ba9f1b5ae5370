"""What is asked, as an FTS5 expression that any text makes safely.

Every term holds letters, digits, marks and `_` only and stands in quotes; terms are joined by OR.
"""

import math
import sqlite3
from dataclasses import dataclass

from memory_cache.search import spelling, text
from memory_cache.search.features import prefix_of, term_hash
from memory_cache.search.stemming import stem
from memory_cache.search.stopwords import STOP_WORDS

# FTS5 needs about 2 µs per matched row. Terms beyond the cap find no candidates, but still count in ranking.
MATCHED_ROWS_CAP = 2000
_SAMPLED_ROWS = 200  # telling the rare terms of a whole text from its frequent ones needs no more
_MOST_TERMS = 32
_MOST_RESPELLED = 3
_PREFIX_SHARE = 0.6  # of a Cyrillic word's length: endings vary, beginnings do not
_ENOUGH = 100  # rows that hold all of several frequent terms
_READ_ROWS = 50_000  # of all of these terms together, the newest, to find those rows
_SCORED_ROWS = 100_000  # the same, all of them: BM25 counts them each time, 0.03 µs a row
_TOGETHER = 10  # words of one query stand together more often than chance would have it, at most about so much


@dataclass(frozen=True, slots=True)
class AskedTerm:
    """A term of the query and how it is sought.

    Attributes:
        plain: folded, not stemmed; of identifiers' wholes and unspaced scripts None: they have no word vector.
        documents: about how many memories hold it (exact up to `MATCHED_ROWS_CAP`).
        idf: BM25's inverse document frequency, > 0.
    """

    text: str
    prefix: bool
    plain: str | None
    documents: int = 0
    idf: float = 0.0

    @property
    def expression(self) -> str:
        return f'"{self.text}"*' if self.prefix else f'"{self.text}"'

    @property
    def hash(self) -> int:
        return term_hash(self.text, prefix=self.prefix)


@dataclass(frozen=True, slots=True)
class AskedQuery:
    """The analysed query.

    Attributes:
        terms: every term; one that no memory holds counts too: what was asked and is nowhere lowers every match.
        expression: what FTS5 is asked for; empty when no memory holds any term.
        oldest_row: only rows from here on are looked at, when even the rarest term is too frequent.
        memories: how many are indexed.
        mean_length: of a memory, in terms.
        mean_pieces: of a memory, in distinct word pieces.
        taken_as: words that no memory holds, and what was sought instead.
    """

    terms: tuple[AskedTerm, ...]
    expression: str
    oldest_row: int
    memories: int
    mean_length: float
    mean_pieces: float
    taken_as: tuple[tuple[str, str], ...] = ()


def wanted(query: str, most: int = _MOST_TERMS) -> list[AskedTerm]:
    """The first `most` distinct terms of a query, not counted yet; no stop words, unless there is nothing else."""
    found = list(text.terms(query))
    meaningful = [term for term in found if term.kind == "compound" or term.plain not in STOP_WORDS]
    chosen: dict[tuple[str, bool], AskedTerm] = {}
    for term in _without_paired_characters(meaningful or found):
        prefix = prefix_of(term.text, _PREFIX_SHARE) if term.kind == "word" else None
        plain = term.plain if term.kind in ("word", "part") else None
        key = (prefix or term.text, prefix is not None)
        chosen.setdefault(key, AskedTerm(*key, plain))
    return list(chosen.values())[:most]


def says_something(query: str) -> bool:
    """Whether the query has words beside stop words."""
    return any(term.plain not in STOP_WORDS for term in text.terms(query))


def wanted_terms(query: str) -> list[tuple[str, bool]]:
    """The distinct terms of a query and whether each is a prefix."""
    return [(term.text, term.prefix) for term in wanted(query)]


def _without_paired_characters(terms: list[text.Term]) -> list[text.Term]:
    """A character that stands in a pair adds rows and no knowledge; one that stands alone is sought."""
    paired = {character for term in terms if term.kind == "pair" for character in term.text}
    return [term for term in terms if term.kind != "character" or term.text not in paired]


def analyse(connection: sqlite3.Connection, query: str, *, rarest: int | None = None) -> AskedQuery:
    """Count the terms of the query in the index, and plan a search that stays fast at any size.

    Args:
        rarest: take the query for a whole text, and of its terms only so many, the rarest.
    """
    memories, length, pieces = connection.execute("SELECT memories, length, pieces FROM search_totals").fetchone()
    newest = connection.execute("SELECT max(file_id) FROM search_features").fetchone()[0] or 0
    asked = wanted(query, _MOST_TERMS if rarest is None else 2 * _MOST_TERMS)
    sample = MATCHED_ROWS_CAP if rarest is None else _SAMPLED_ROWS
    terms = tuple(_counted(connection, term, memories, newest, sample) for term in asked)
    taken_as: tuple[tuple[str, str], ...] = ()
    if rarest is None and not any(term.documents for term in terms):
        terms, taken_as = _respelled(connection, terms, memories, newest)
    if rarest is not None:
        known = [term for term in terms if term.documents]
        terms = tuple(sorted(known, key=lambda term: term.documents)[:rarest])
    expression, oldest = _plan(connection, [term for term in terms if term.documents], memories, newest)
    count = max(memories, 1)
    return AskedQuery(terms, expression, oldest, memories, length / count or 1.0, pieces / count or 1.0, taken_as)


def _respelled(
    connection: sqlite3.Connection, terms: tuple[AskedTerm, ...], memories: int, newest: int
) -> tuple[tuple[AskedTerm, ...], tuple[tuple[str, str], ...]]:
    """The terms with what may have been meant in place of words that no memory holds, and what was taken as what."""
    words = [term.plain for term in terms if term.plain and not term.prefix][:_MOST_RESPELLED]
    meant = {word: better for word in words if (better := spelling.meant(connection, word))}
    found = []
    for term in terms:
        word = meant.get(term.plain or "")
        if word is not None:
            term = _counted(connection, AskedTerm(stem(word), prefix=False, plain=word), memories, newest)
        found.append(term)
    return tuple(found), tuple(meant.items())


def _counted(
    connection: sqlite3.Connection, term: AskedTerm, memories: int, newest: int, sample: int = MATCHED_ROWS_CAP
) -> AskedTerm:
    count, oldest = _newest(connection, term.expression, sample)
    if count == sample:  # as dense as in the newest rows, so in all
        count = min(int(count * newest / (newest - oldest + 1)), memories)
    idf = math.log(1.0 + (memories - count + 0.5) / (count + 0.5))
    return AskedTerm(term.text, term.prefix, term.plain, count, idf)


def _newest(connection: sqlite3.Connection, expression: str, most: int, oldest: int = 0) -> tuple[int, int]:
    """Of the newest rows that match, `most` at most and none before `oldest`: how many, and the oldest of them."""
    count, first = connection.execute(
        "SELECT count(*), min(rowid) FROM"
        " (SELECT rowid FROM search_text WHERE search_text MATCH ? AND rowid >= ? ORDER BY rowid DESC LIMIT ?)",
        (expression, oldest, most),
    ).fetchone()
    return count, first or 0


def _plan(connection: sqlite3.Connection, terms: list[AskedTerm], memories: int, newest: int) -> tuple[str, int]:
    """The expression, and the oldest row that is worth a look."""
    terms = sorted(terms, key=lambda term: term.documents)
    chosen: list[AskedTerm] = []
    matched = 0
    for term in terms:
        if matched + term.documents > MATCHED_ROWS_CAP:
            break
        chosen.append(term)
        matched += term.documents
    if chosen or not terms:
        return " OR ".join(term.expression for term in chosen), 0
    return _plan_of_frequent(connection, terms, memories, newest)


def _plan_of_frequent(
    connection: sqlite3.Connection, terms: list[AskedTerm], memories: int, newest: int
) -> tuple[str, int]:
    """Every term is in thousands of memories: those are sought that hold as many of them together as possible."""
    for size in range(len(terms), 1, -1):
        rows = sum(term.documents for term in terms[:size])
        share = min(1.0, _READ_ROWS / rows)
        by_chance = math.prod(term.documents / memories for term in terms[:size]) * memories * share
        if rows > _SCORED_ROWS or by_chance * _TOGETHER < _ENOUGH:
            continue  # too dear, or not worth counting
        expression = " AND ".join(term.expression for term in terms[:size])
        matched, oldest = _newest(connection, expression, MATCHED_ROWS_CAP, newest - int(newest * share))
        if matched >= _ENOUGH:
            return expression, oldest
    return terms[0].expression, _newest(connection, terms[0].expression, MATCHED_ROWS_CAP)[1]
