"""All vectors of a cache in memory, kept in step with the table `search_vectors` by following its changes.

Small caches are searched exactly. From `EXACT_LIMIT` on, candidates come from one-bit codes (the signs of
the components) by Hamming distance, and the nearest are scored again exactly.
"""

import sqlite3
import threading
from typing import TYPE_CHECKING, Any

from memory_cache.search.embedder import Embedder, EmbedderMissing
from memory_cache.search.embedding import DEFAULT, load_embedder

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Ids = npt.NDArray[np.int64]

EXACT_LIMIT = 4_000
_RESCORED = 600
_BLOCK = 4096
_SAMPLED = 16  # one of so many


class VectorIndex:
    """Nearest memories by meaning. One per process and cache; may be shared by threads.

    Feed it committed states only (a reading connection): it trusts what it has followed.

    Args:
        choice: the setting `recall.embedder`. The model is loaded at the first search, or by `warm`.
    """

    def __init__(self, choice: str = DEFAULT) -> None:
        self._choice = choice
        self._lock = threading.Lock()
        self._change = 0
        self._table: _Table | None = None

    def warm(self) -> None:
        """Load the model now; call it off the event loop. A missing model is no error: search goes by words."""
        self.embedder()

    def embedder(self) -> Embedder | None:
        """The embedder, or None when searching by words alone is chosen or the only way."""
        try:
            return load_embedder(self._choice)
        except EmbedderMissing:
            return None

    def query(self, text: str) -> "Floats | None":
        """The vector of a query; None when there is no model, or it does not know the script."""
        embedder = self.embedder()
        if embedder is None or not embedder.covers(text):
            return None
        return embedder.embed_query(text)

    def nearest(self, connection: sqlite3.Connection, vector: "Floats", limit: int) -> "tuple[Ids, Floats]":
        """File ids and cosines of the memories nearest to a query's vector, nearest first."""
        with self._lock:
            return self._follow(connection, len(vector)).nearest(vector, limit)

    def cosines(self, connection: sqlite3.Connection, vector: "Floats", file_ids: "Ids") -> "Floats":
        """Cosine of each of these memories with a query's vector; 0 where a memory has no vector."""
        with self._lock:
            return self._follow(connection, len(vector)).cosines_of(vector, file_ids)

    def _follow(self, connection: sqlite3.Connection, dimensions: int) -> "_Table":
        """Take over what changed in `search_vectors` since the last search."""
        newest = connection.execute("SELECT max(change) FROM search_vectors").fetchone()[0] or 0
        if self._table is None or newest < self._change:  # first use, or the cache was made anew
            count = connection.execute("SELECT count(*) FROM search_vectors").fetchone()[0]
            self._table, self._change = _Table(dimensions, count), 0
        embedder = self.embedder()
        if newest > self._change and embedder is not None:
            # The first time it is every row: in their order, not by the index of changes, which costs twice as much.
            cursor = connection.execute(
                "SELECT file_id, CASE WHEN model = ? THEN vector END FROM search_vectors"
                f" WHERE {'change' if self._change else '+change'} > ?",
                (embedder.name, self._change),
            )
            while batch := cursor.fetchmany(512):
                self._table.take(batch)
            self._change = newest
        return self._table


class _Table:
    """The vectors as arrays; rows in no order, without gaps."""

    def __init__(self, dimensions: int, size: int) -> None:
        import numpy as np

        self.count = 0
        self._ids = np.zeros(size, np.int64)
        self._matrix = np.zeros((size, dimensions), np.int8)
        self._scale = np.zeros(size, np.float32)  # 1 / norm
        self._codes = np.zeros((dimensions // 64, size), np.uint64)  # one column each, to be read in one go
        self._row_of = np.full(size + 1, -1, np.int32)  # by file id

    def nearest(self, vector: "Floats", limit: int) -> "tuple[Ids, Floats]":
        import numpy as np

        if self.count > EXACT_LIMIT:
            code = np.packbits(vector > 0).view(np.uint64)
            rows = _lowest(_distances(self._codes[:, : self.count], code), max(limit, _RESCORED))
        else:
            rows = np.arange(self.count)
        similar = self._cosines(rows, vector)
        best = _highest(similar, limit)
        return self._ids[rows[best]], similar[best]

    def cosines_of(self, vector: "Floats", file_ids: "Ids") -> "Floats":
        import numpy as np

        rows = np.full(len(file_ids), -1, np.int64)
        inside = file_ids < len(self._row_of)
        rows[inside] = self._row_of[file_ids[inside]]
        similar = np.zeros(len(file_ids), np.float32)
        known = rows >= 0
        similar[known] = self._cosines(rows[known], vector)
        return similar

    def _cosines(self, rows: "npt.NDArray[np.intp]", vector: "Floats") -> "Floats":
        import numpy as np

        similar = np.empty(len(rows), np.float32)
        for start in range(0, len(rows), _BLOCK):
            part = rows[start : start + _BLOCK]
            similar[start : start + _BLOCK] = self._matrix[part].astype(np.float32) @ vector
        return np.asarray(similar * self._scale[rows], dtype=np.float32)

    def take(self, changed: list[tuple[int, bytes | None]]) -> None:
        """Put in, replace or (None) take out vectors by file id."""
        import numpy as np

        self._reserve(self.count + len(changed), max(file_id for file_id, _ in changed))
        for file_id, vector in changed:
            if vector is None:
                self._drop(file_id)
        present = [(file_id, vector) for file_id, vector in changed if vector is not None]
        if not present:
            return
        ids = np.array([file_id for file_id, _ in present], np.int64)
        new = ids[self._row_of[ids] < 0]
        self._row_of[new] = np.arange(self.count, self.count + len(new))
        self._ids[self.count : self.count + len(new)] = new
        self.count += len(new)
        rows = self._row_of[ids]
        matrix = np.frombuffer(b"".join(vector for _, vector in present), np.int8).reshape(len(present), -1)
        self._matrix[rows] = matrix
        floats = matrix.astype(np.float32)
        self._scale[rows] = 1.0 / np.maximum(np.sqrt(np.einsum("ij,ij->i", floats, floats)), 1.0)
        self._codes[:, rows] = np.packbits(matrix > 0, axis=1).view(np.uint64).T

    def _drop(self, file_id: int) -> None:
        """The last row takes the place of the one that goes."""
        row = int(self._row_of[file_id])
        if row < 0:
            return
        self._row_of[file_id] = -1
        self.count -= 1
        if row != self.count:
            for array in (self._ids, self._matrix, self._scale, self._codes.T):
                array[row] = array[self.count]
            self._row_of[self._ids[row]] = row

    def _reserve(self, count: int, highest_id: int) -> None:
        import numpy as np

        if count > len(self._ids):
            size = count + count // 4 + 64
            self._ids = _grown(self._ids, size)
            self._matrix = _grown(self._matrix, size)
            self._scale = _grown(self._scale, size)
            self._codes = np.ascontiguousarray(_grown(self._codes.T, size).T)
        if highest_id >= len(self._row_of):
            more = np.full(highest_id + highest_id // 4 + 64 - len(self._row_of), -1, np.int32)
            self._row_of = np.concatenate((self._row_of, more))


def _grown(array: "npt.NDArray[Any]", size: int) -> "npt.NDArray[Any]":
    import numpy as np

    grown = np.zeros((size, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown


def _highest(values: "Floats", limit: int) -> "npt.NDArray[np.intp]":
    import numpy as np

    if len(values) > limit:
        best = np.argpartition(-values, limit)[:limit]
        return best[np.argsort(-values[best], kind="stable")]
    return np.argsort(-values, kind="stable")


def _lowest(counts: "npt.NDArray[np.uint16]", wanted: int) -> "npt.NDArray[np.intp]":
    """At least `wanted` places of the lowest counts, ties included. Counts are small numbers: a sample says about
    where the border lies, and a few comparisons find it."""
    import numpy as np

    if len(counts) <= wanted:
        return np.arange(len(counts))
    border = int(np.searchsorted(np.cumsum(np.bincount(counts[::_SAMPLED])) * _SAMPLED, wanted))
    while np.count_nonzero(counts <= border) < wanted:
        border += 1
    while np.count_nonzero(counts < border) >= wanted:
        border -= 1
    return np.flatnonzero(counts <= border)


def _distances(codes: "npt.NDArray[np.uint64]", code: "npt.NDArray[np.uint64]") -> "npt.NDArray[np.uint16]":
    """Per code (a column of `codes`), how many bits differ from the one code."""
    import numpy as np

    counts = np.zeros(codes.shape[1], np.uint16)
    for row, ours in zip(codes, code, strict=True):
        counts += _bit_counts(row ^ ours)
    return counts


def _bit_counts(values: "npt.NDArray[np.uint64]") -> "npt.NDArray[np.uint8]":
    """Set bits per value."""
    import numpy as np

    if hasattr(np, "bitwise_count"):
        return np.asarray(np.bitwise_count(values), dtype=np.uint8)
    per_byte = np.array([bin(byte).count("1") for byte in range(256)], np.uint8)  # numpy 1
    counted: npt.NDArray[np.uint8] = per_byte[values.view(np.uint8)].reshape(-1, 8).sum(axis=1, dtype=np.uint8)
    return counted
