"""The embedders that there are, and the vectors that they make, stored per memory.

`static` ships with this package and embeds at write. `onnx` and `multilingual` are extras: heavier, so that
their vectors are filled in the background. `none` searches by words alone. Without a usable embedder
search answers by words, and `status` says why.
"""

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory_cache import meta
from memory_cache.search import static_table
from memory_cache.search.embedder import Embedder, EmbedderMissing, Weights

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from memory_cache.database import Database
    from memory_cache.search.multilingual import E5Embedder
    from memory_cache.search.onnx import MiniLMEmbedder

    Floats = npt.NDArray[np.float32]

DEFAULT = "static"
CHOICES = ("static", "onnx", "multilingual", "none")
_CHOICE_KEY = "search_embedder"
_PENDING = ""


class StaticEmbedder:
    """The table of this package."""

    name = static_table.NAME
    dimensions = static_table.DIMENSIONS
    weights = Weights(words=0.2, meaning=0.45, likeness=0.35, least_meaning=0.3)
    foreign_weights = Weights(words=0.4, meaning=0.4, likeness=0.2, least_meaning=0.4)
    at_write = True

    @classmethod
    def check(cls) -> None:
        """It is there always."""

    def covers(self, text: str) -> bool:
        return static_table.covers(text)

    def embed_documents(self, texts: Sequence[str]) -> "list[Floats | None]":
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> "Floats | None":
        return static_table.table().embed(static_table.pieces(text))


_loaded: dict[str, Embedder] = {}


def load_embedder(choice: str) -> Embedder | None:
    """The embedder of a setting, loaded once per process; None for `none`. May take seconds: not on the event loop.

    Raises: EmbedderMissing when its extra is not installed.
    """
    if choice == "none":
        return None
    if choice not in _loaded:
        _loaded[choice] = _factory(choice)()
    return _loaded[choice]


def _factory(choice: str) -> type[StaticEmbedder] | type["MiniLMEmbedder"] | type["E5Embedder"]:
    if choice == "onnx":
        from memory_cache.search.onnx import MiniLMEmbedder

        return MiniLMEmbedder
    if choice == "multilingual":
        from memory_cache.search.multilingual import E5Embedder

        return E5Embedder
    if choice != DEFAULT:
        raise EmbedderMissing(f"There is no embedder {choice!r}.", f"Choose one of: {', '.join(CHOICES)}.")
    return StaticEmbedder


def choose(connection: sqlite3.Connection, choice: str) -> None:
    """Note which embedder this cache uses from now on. Vectors of another one are replaced by `fill_vectors`."""
    if chosen(connection) != choice:
        meta.put(connection, _CHOICE_KEY, choice)


def chosen(connection: sqlite3.Connection) -> str:
    """The embedder of this cache."""
    return meta.get(connection, _CHOICE_KEY) or DEFAULT


def embed_at_write(connection: sqlite3.Connection, file_id: int, text: str) -> None:
    """Store the vector of a memory, or note that it is to be made in the background."""
    embedder = StaticEmbedder() if chosen(connection) == DEFAULT else None
    if embedder is None:
        _put(connection, file_id, _PENDING, None)
    else:
        _put(connection, file_id, embedder.name, embedder.embed_query(text))


def forget(connection: sqlite3.Connection, file_id: int) -> None:
    """The memory of this file is gone; readers that follow the changes learn of it."""
    row = connection.execute("SELECT vector IS NULL FROM search_vectors WHERE file_id = ?", (file_id,)).fetchone()
    if row is not None and not row[0]:
        _put(connection, file_id, _PENDING, None)


def forget_many(connection: sqlite3.Connection, file_ids: str) -> None:
    """As `forget` for each of these (a JSON array)."""
    connection.execute(
        "INSERT OR REPLACE INTO search_vectors (file_id, change, model, vector)"
        " SELECT file_id, (SELECT max(change) FROM search_vectors) + row_number() OVER (ORDER BY file_id), ?2, NULL"
        " FROM search_vectors WHERE vector IS NOT NULL AND file_id IN (SELECT value FROM json_each(?1))",
        (file_ids, _PENDING),
    )


def _put(connection: sqlite3.Connection, file_id: int, model: str, vector: "Floats | None") -> None:
    connection.execute(
        "INSERT OR REPLACE INTO search_vectors (file_id, change, model, vector)"
        " VALUES (?, (SELECT coalesce(max(change), 0) + 1 FROM search_vectors), ?, ?)",
        (file_id, model, None if vector is None else compact(vector)),
    )


def compact(vector: "Floats") -> bytes:
    """A vector as int8, its largest component ±127: its direction is kept to about 0.5 %."""
    import numpy as np

    largest = float(np.abs(vector).max()) or 1.0
    data: bytes = np.rint(vector * (127.0 / largest)).astype(np.int8).tobytes()
    return data


def waiting(connection: sqlite3.Connection, model: str) -> int:
    """How many memories have no vector of this model yet."""
    row = connection.execute(
        "SELECT count(*) FROM memories m LEFT JOIN search_vectors v USING (file_id) WHERE v.model IS NOT ?", (model,)
    ).fetchone()
    return int(row[0])


def status(connection: sqlite3.Connection) -> str:
    """One sentence for `status`: what searches by meaning here, how far it is, or why it does not. Loads no model."""
    choice = chosen(connection)
    if choice == "none":
        return "By words only, as set (recall.embedder = none)."
    try:
        kind = _factory(choice)
        kind.check()
    except EmbedderMissing as missing:
        return f"By words only. {missing.message} {missing.hint}".strip()
    left = waiting(connection, kind.name)
    return f"By words and meaning ({choice})." + (f" {left} memories still without a vector." if left else "")


async def fill_vectors(database: "Database", embedder: Embedder, *, batch: int = 16) -> int:
    """Make the vectors that are missing or of another model, a batch per transaction; returns how many.

    The model runs in a worker thread, outside of any transaction; a memory that changed meanwhile is taken again.
    """
    from anyio import to_thread

    made = 0
    while True:
        rows = await database.read(lambda connection: _next_batch(connection, embedder.name, batch))
        if not rows:
            return made
        vectors = await to_thread.run_sync(embedder.embed_documents, [body for _, _, body in rows])
        found = list(zip(rows, vectors, strict=True))
        made += await database.write(lambda connection, found=found: _store_batch(connection, embedder.name, found))  # type: ignore[misc]


def fill_some(connection: sqlite3.Connection, embedder: Embedder, batch: int) -> int:
    """Make up to `batch` missing vectors here and now; returns how many. For tools without an event loop."""
    rows = _next_batch(connection, embedder.name, batch)
    vectors = embedder.embed_documents([body for _, _, body in rows])
    return _store_batch(connection, embedder.name, list(zip(rows, vectors, strict=True)))


def _next_batch(connection: sqlite3.Connection, model: str, batch: int) -> list[tuple[int, int | None, str]]:
    return [
        (row[0], row[1], row[2])
        for row in connection.execute(
            "SELECT m.file_id, v.change, m.body FROM memories m LEFT JOIN search_vectors v USING (file_id)"
            " WHERE v.model IS NOT ? LIMIT ?",
            (model, batch),
        )
    ]


def _store_batch(
    connection: sqlite3.Connection,
    model: str,
    found: "list[tuple[tuple[int, int | None, str], Floats | None]]",
) -> int:
    stored = 0
    for (file_id, change, _), vector in found:
        row = connection.execute("SELECT change FROM search_vectors WHERE file_id = ?", (file_id,)).fetchone()
        if (row[0] if row else None) == change:
            _put(connection, file_id, model, vector)
            stored += 1
    return stored
