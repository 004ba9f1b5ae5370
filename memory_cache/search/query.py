"""What is asked, as an FTS5 expression that any text makes safely.

Every term holds letters, digits, marks and `_` only and stands in quotes; terms are joined by OR.
"""

import math
import sqlite3
from dataclasses import dataclass

from memory_cache.search import text
from memory_cache.search.stopwords import STOP_WORDS

# FTS5 needs about 2 µs per matched row: 4,000 rows cost about 8 ms. Below 2,000, quality was seen to suffer.
MATCHED_ROWS_CAP = 4000
_MOST_TERMS = 32
_PREFIX_SHARE = 0.7  # of a Cyrillic word's length: endings vary, beginnings do not
_SHORTEST_PREFIXED = 4


@dataclass(frozen=True, slots=True)
class AskedTerm:
    """A term of the query and how it is sought.

    Attributes:
        documents: about how many memories hold it (exact up to the limit of counting).
        idf: BM25's inverse document frequency, ≥ 0.
    """

    text: str
    prefix: bool
    documents: int
    idf: float

    @property
    def expression(self) -> str:
        return f'"{self.text}"*' if self.prefix else f'"{self.text}"'


@dataclass(frozen=True, slots=True)
class AskedQuery:
    """The analysed query.

    Attributes:
        searched: the terms that FTS5 is asked for; too frequent ones are left out at size.
        left_out: terms left out as too frequent.
        ideal: the score of a memory that holds every term: the sum of all terms' IDF.
        oldest_row: when even the rarest term is too frequent, only rows from here on are looked at.
    """

    searched: tuple[AskedTerm, ...]
    left_out: tuple[AskedTerm, ...]
    ideal: float
    oldest_row: int

    @property
    def expression(self) -> str:
        return " OR ".join(term.expression for term in self.searched)


def wanted_terms(query: str) -> list[tuple[str, bool]]:
    """The distinct terms of a query and whether each is a prefix; no stop words, unless there is nothing else."""
    found = list(text.terms(query))
    meaningful = [term for term in found if term.kind == "compound" or term.plain not in STOP_WORDS]
    chosen: dict[str, bool] = {}
    for term in _without_single_characters(meaningful or found):
        chosen.setdefault(*_sought(term))
    return list(chosen.items())[:_MOST_TERMS]


def _without_single_characters(terms: list[text.Term]) -> list[text.Term]:
    """A character that stands in a pair adds rows and no knowledge; one that stands alone is sought."""
    paired = {character for term in terms if term.kind == "pair" for character in term.text}
    return [term for term in terms if term.kind != "character" or term.text not in paired]


def _sought(term: text.Term) -> tuple[str, bool]:
    word = term.text
    if term.kind != "word" or not ("\u0400" <= word[0] <= "\u052f") or len(word) < _SHORTEST_PREFIXED:
        return word, False
    return word[: math.ceil(len(word) * _PREFIX_SHARE)], True


def analyse(connection: sqlite3.Connection, query: str) -> AskedQuery:
    """Count the terms of the query in the index, and leave out what would make it slow."""
    size = Size.of(connection)
    asked = [_counted(connection, word, prefix, size) for word, prefix in wanted_terms(query)]
    ideal = sum(term.idf for term in asked)
    searched, left_out = _prune([term for term in asked if term.documents])
    oldest_row = 0
    matched = sum(term.documents for term in searched)
    if matched > MATCHED_ROWS_CAP:
        oldest_row = size.newest_row - int(size.newest_row * MATCHED_ROWS_CAP / matched)
    return AskedQuery(tuple(searched), tuple(left_out), ideal, oldest_row)


@dataclass(frozen=True, slots=True)
class Size:
    """How many memories are indexed, and the highest row id."""

    rows: int
    newest_row: int

    @classmethod
    def of(cls, connection: sqlite3.Connection) -> "Size":
        newest = connection.execute("SELECT max(rowid) FROM search_text").fetchone()[0] or 0
        # The docsize table has one row per document; counting its b-tree reads no text.
        rows = connection.execute("SELECT count(*) FROM search_text_docsize").fetchone()[0]
        return cls(int(rows), int(newest))


def _counted(connection: sqlite3.Connection, word: str, prefix: bool, size: Size) -> AskedTerm:
    term = AskedTerm(word, prefix, 0, 0.0)
    count, last = connection.execute(
        "SELECT count(*), max(rowid) FROM (SELECT rowid FROM search_text WHERE search_text MATCH ? LIMIT ?)",
        (term.expression, MATCHED_ROWS_CAP),
    ).fetchone()
    if count == MATCHED_ROWS_CAP:
        count = max(count, int(count * size.newest_row / max(last, 1)))
    count = min(count, size.rows)
    # A term that no memory holds counts with the largest IDF: what was asked and is nowhere lowers every match.
    idf = math.log((size.rows - count + 0.5) / (count + 0.5)) if size.rows else 0.0
    return AskedTerm(word, prefix, count, max(idf, 1e-6))


def _prune(terms: list[AskedTerm]) -> tuple[list[AskedTerm], list[AskedTerm]]:
    kept: list[AskedTerm] = []
    left_out: list[AskedTerm] = []
    matched = 0
    for term in sorted(terms, key=lambda term: term.documents):
        if kept and matched + term.documents > MATCHED_ROWS_CAP:
            left_out.append(term)
        else:
            kept.append(term)
            matched += term.documents
    return kept, left_out
