"""How relevant each candidate is, from the features of all of them at once.

Three parts, each between 0 and about 1 (docs/recall.md tells how they were measured):

- words: BM25 of the query's terms over the score of an ideal memory that holds them all;
- likeness: how like each word of the query is to the likest word of the memory (cosine to the power of 1.5; 1 when it
  is the same);
- meaning: cosine of the two texts' vectors.

A short memory is often a fragment of an occasion. A term that it lacks and its neighbour in time has counts in part.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_cache.search import static_table
from memory_cache.search.candidates import FRAGMENT_LENGTH, Surroundings
from memory_cache.search.query import AskedQuery, AskedTerm

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

_K1, _B = 1.2, 0.75  # BM25
_LIKENESS_B = 0.05  # long memories hold something like everything
_SAME = 0.9  # of the terms of both
_DIFFERING = (1 - _SAME) / (1 + _SAME) + 1e-6  # the same as a share of both sizes
_BUCKETS = 1024
_CONTEXT = 0.6
_CONTEXT_WHOLE, _CONTEXT_NONE = 60, FRAGMENT_LENGTH  # terms: up to here a neighbour counts fully, from here not


@dataclass(frozen=True, slots=True)
class Pool:
    """The features of the candidates as flat arrays; `starts` say where each one's part begins."""

    file_ids: "npt.NDArray[np.int64]"
    lengths: "Floats"
    terms: "npt.NDArray[np.uint32]"
    weights: "npt.NDArray[np.uint8]"
    term_starts: "npt.NDArray[np.int64]"
    pieces: "npt.NDArray[np.uint16]"
    piece_starts: "npt.NDArray[np.int64]"

    @classmethod
    def load(cls, connection: sqlite3.Connection, file_ids: Sequence[int]) -> "Pool":
        """Read the features of these memories; those without are left out."""
        import numpy as np

        rows = connection.execute(
            "SELECT file_id, length, terms, weights, pieces FROM search_features"
            " WHERE file_id IN (SELECT value FROM json_each(?)) ORDER BY file_id",
            (json.dumps(list(file_ids)),),
        ).fetchall()
        file_ids_, lengths, terms, weights, pieces = zip(*rows, strict=True) if rows else ((),) * 5
        return cls(
            file_ids=np.array(file_ids_, np.int64),
            lengths=np.array(lengths, np.float32),
            terms=np.frombuffer(b"".join(terms), np.uint32),
            weights=np.frombuffer(b"".join(weights), np.uint8),
            term_starts=_starts([len(blob) for blob in weights]),
            pieces=np.frombuffer(b"".join(pieces), np.uint16),
            piece_starts=_starts([len(blob) // 2 for blob in pieces]),
        )

    def __len__(self) -> int:
        return len(self.file_ids)

    def twins(self, file_ids: Sequence[int]) -> "npt.NDArray[np.bool_]":
        """Which of these candidates (row) hold nearly the same terms as which others (column)."""
        import numpy as np

        columns = self.file_ids.searchsorted(file_ids)
        parts = [self.terms[self.term_starts[column] : self.term_starts[column + 1]] for column in columns]
        # Counted in buckets first: where terms are the same, so are their buckets, and two sets that share so much
        # differ in few. What is left is compared term by term.
        sizes = np.array([len(part) for part in parts], np.float32)
        held = np.zeros((len(parts), _BUCKETS), np.float32)
        for row, part in zip(held, parts, strict=True):
            row[part % _BUCKETS] = 1.0
        filled = held.sum(axis=1)
        differing = filled[:, None] + filled - 2 * (held @ held.T)
        same: npt.NDArray[np.bool_] = differing <= _DIFFERING * (sizes[:, None] + sizes)
        np.fill_diagonal(same, val=False)
        for one, other in np.argwhere(same):
            if one < other:
                common = len(np.intersect1d(parts[one], parts[other], assume_unique=True))
                together = len(parts[one]) + len(parts[other]) - common
                same[one, other] = same[other, one] = 0 < common >= _SAME * together
        return same


def _starts(sizes: list[int]) -> "npt.NDArray[np.int64]":
    import numpy as np

    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))


@dataclass(frozen=True, slots=True)
class Parts:
    """Per candidate: the parts of relevance, and how many of the query's terms it holds itself."""

    words: "Floats"
    likeness: "Floats"
    own_terms: "npt.NDArray[np.int64]"


def measure(pool: Pool, asked: AskedQuery, surroundings: Surroundings | None, *, with_likeness: bool) -> Parts:
    """The parts of relevance that come from words.

    Args:
        surroundings: what stands beside the candidates; None measures each on its own.
        with_likeness: False for scripts that the static table does not know.
    """
    import numpy as np

    idf = np.array([term.idf for term in asked.terms], np.float32)
    counts = _term_counts(pool, asked.terms)
    saturation = _K1 * (1 - _B + _B * pool.lengths / np.float32(asked.mean_length))
    matches: Floats = np.asarray(counts * (_K1 + 1) / (counts + saturation), dtype=np.float32)
    own_terms = (counts > 0).sum(axis=0)
    spoken = [index for index, term in enumerate(asked.terms) if _has_word_vector(term)] if with_likeness else []
    likeness = _likeness(pool, asked, spoken, counts)
    if surroundings is not None:
        links = _Links.of(pool, surroundings)
        matches, likeness = links.widen(matches), links.widen(likeness)
    return Parts(
        words=_weighted(matches, idf),
        likeness=_weighted(likeness, idf[spoken]),
        own_terms=own_terms,
    )


def _has_word_vector(term: AskedTerm) -> bool:
    return term.plain is not None and static_table.covers(term.plain)


def _weighted(matches: "Floats", idf: "Floats") -> "Floats":
    """Mean over the terms (rows), weighted by IDF."""
    import numpy as np

    total = float(idf.sum())
    return np.asarray(idf @ matches / total if total else np.zeros(matches.shape[1]), dtype=np.float32)


def _term_counts(pool: Pool, terms: Sequence[AskedTerm]) -> "Floats":
    """How often each term (row) stands in each candidate (column), weighted by column."""
    import numpy as np

    counts = np.zeros((len(terms), len(pool)), np.float32)
    for index, term in enumerate(terms):
        places = np.flatnonzero(pool.terms == np.uint32(term.hash))
        owners = np.searchsorted(pool.term_starts, places, side="right") - 1
        counts[index, owners] = pool.weights[places]
    return counts


def _likeness(pool: Pool, asked: AskedQuery, spoken: list[int], counts: "Floats") -> "Floats":
    import numpy as np

    likeness = np.zeros((len(spoken), len(pool)), np.float32)
    if not spoken or not len(pool):
        return likeness
    sizes = np.diff(pool.piece_starts)
    filled = np.flatnonzero(sizes)
    if len(filled):
        distinct, places = _distinct(pool.pieces)
        words = [asked.terms[index].plain or "" for index in spoken]
        similar = static_table.table().similarities(words, distinct)
        similar *= np.sqrt(similar)
        of_each = similar.take(places, axis=1)
        likeness[:, filled] = np.maximum.reduceat(of_each, pool.piece_starts[:-1][filled], axis=1)
    likeness = np.maximum(likeness, counts[spoken] > 0)
    return np.asarray(
        likeness / (1 - _LIKENESS_B + _LIKENESS_B * sizes / np.float32(asked.mean_pieces)), dtype=np.float32
    )


def _distinct(pieces: "npt.NDArray[np.uint16]") -> "tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]":
    """The distinct pieces, and for each piece its place among them; without sorting."""
    import numpy as np

    seen = np.zeros(1 << 16, bool)
    seen[pieces] = True
    distinct = np.flatnonzero(seen)
    place = np.empty(1 << 16, np.intp)
    place[distinct] = np.arange(len(distinct))
    return distinct, place[pieces]


@dataclass(frozen=True, slots=True)
class _Links:
    """Pairs of columns (memory, what stands beside it) with how much of the other's match counts."""

    to: "npt.NDArray[np.int64]"
    source: "npt.NDArray[np.int64]"
    share: "Floats"

    @classmethod
    def of(cls, pool: Pool, surroundings: Surroundings) -> "_Links":
        import numpy as np

        column = {file_id: index for index, file_id in enumerate(pool.file_ids.tolist())}
        length = pool.lengths.tolist()
        found: list[tuple[int, int, float]] = []
        for file_id, others in surroundings.of.items():
            to = column.get(file_id)
            if to is None:
                continue
            share = _CONTEXT * min(1.0, max(0.0, (_CONTEXT_NONE - length[to]) / (_CONTEXT_NONE - _CONTEXT_WHOLE)))
            found.extend((to, column[other], share * near) for other, near in others if share and other in column)
        return cls(
            np.array([to for to, _, _ in found], np.int64),
            np.array([source for _, source, _ in found], np.int64),
            np.array([share for _, _, share in found], np.float32),
        )

    def widen(self, matches: "Floats") -> "Floats":
        """Per term, the memory's own match or a share of its surroundings', whichever is more."""
        import numpy as np

        widened = matches.copy()
        shared = matches[:, self.source] * self.share
        for row, of_term in zip(widened, shared, strict=True):
            np.maximum.at(row, self.to, of_term)
        return widened
