"""What ranking needs of a memory, computed when it is written: hashed terms with weights, length, word pieces.

Read back as arrays for hundreds of candidates at once, so that a query costs no pass over their texts.
"""

import sqlite3
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from memory_cache.search import static_table, text

GIST_WORDS = 60

# Weights of title, tags, gist and body; the title and the gist stand in the body too.
COLUMN_WEIGHTS = (2, 2, 1, 1)

# Cyrillic endings vary: a word is also known by its beginnings of these lengths (see `query`).
PREFIX_LENGTHS = (3, 4, 6)
_UINT32 = "I" if array("I").itemsize == 4 else "L"


@dataclass(frozen=True, slots=True)
class Features:
    """The searchable form of one memory.

    Attributes:
        columns: the terms of title, tags, gist and body, each as one string.
        length: terms in all columns.
        terms: hashes of the distinct terms (and of the prefixes of Cyrillic ones), with `weights`.
        pieces: distinct word pieces of its meaningful words.
    """

    columns: tuple[str, str, str, str]
    length: int
    terms: "array[int]"
    weights: bytes
    pieces: "array[int]"


def term_hash(term: str, *, prefix: bool = False) -> int:
    """32 bits that stand for a term, or for all terms that begin so."""
    return zlib.crc32(f"{term}*".encode() if prefix else term.encode())


def prefix_of(term: str, share: float) -> str | None:
    """The beginning by which a Cyrillic term is sought: about `share` of it. None: the term is sought whole."""
    if not "\u0400" <= term[0] <= "\u052f" or len(term) <= PREFIX_LENGTHS[0]:
        return None
    wanted = -int(-len(term) * share // 1)
    return term[: max((length for length in PREFIX_LENGTHS if length <= wanted), default=PREFIX_LENGTHS[0])]


def of_memory(title: str, body: str, labels: Iterable[str]) -> Features:
    """The features of a memory. `labels`: tags, category, project name."""
    words, unspaced = text.texts(body)
    # In scripts without spaces weighing the beginning did not help.
    gist = words[:GIST_WORDS] if unspaced * 2 <= len(words) else []
    columns = (
        text.texts(title)[0] if _is_heading(title, body) else [],
        text.texts(" \n ".join(labels))[0],
        gist,
        words,
    )
    weights = _weights(columns)
    return Features(
        columns=(" ".join(columns[0]), " ".join(columns[1]), " ".join(columns[2]), " ".join(columns[3])),
        length=sum(map(len, columns)),
        terms=array(_UINT32, weights),
        weights=bytes([weight if weight < 255 else 255 for weight in weights.values()]),
        pieces=array("H", static_table.meaningful_pieces(body)),
    )


def _is_heading(title: str, body: str) -> bool:
    """A first line that stands above a text is a heading; the only line, or the start of a long one, is none."""
    head, _, rest = body.strip().partition("\n")
    return bool(rest.strip()) and len(head.lstrip("# ").strip()) <= len(title)


def _weights(columns: Sequence[Sequence[str]]) -> dict[int, int]:
    counted: Counter[str] = Counter()
    for weight, terms in zip(COLUMN_WEIGHTS, columns, strict=True):
        for _ in range(weight):
            counted.update(terms)
    weights: dict[int, int] = {}
    for term, weight in counted.items():
        for key in _keys(term):
            weights[key] = weights.get(key, 0) + weight
    return weights


@lru_cache(maxsize=32768)
def _keys(term: str) -> tuple[int, ...]:
    if not "\u0400" <= term[0] <= "\u052f":
        return (term_hash(term),)
    lengths = [length for length in PREFIX_LENGTHS if len(term) >= length]
    return (term_hash(term), *(term_hash(term[:length], prefix=True) for length in lengths))


def store(connection: sqlite3.Connection, file_id: int, features: Features) -> None:
    """Write the rows of `search_text` and `search_features`; there are none of this file."""
    connection.execute(
        "INSERT INTO search_text (rowid, title, tags, gist, body) VALUES (?, ?, ?, ?, ?)",
        (file_id, *features.columns),
    )
    connection.execute(
        "INSERT INTO search_features (file_id, length, terms, weights, pieces, piece_count) VALUES (?, ?, ?, ?, ?, ?)",
        (
            file_id,
            features.length,
            features.terms.tobytes(),
            features.weights,
            features.pieces.tobytes(),
            len(features.pieces),
        ),
    )


def remove(connection: sqlite3.Connection, file_id: int) -> None:
    """Delete the rows of `search_text` and `search_features`."""
    connection.execute("DELETE FROM search_text WHERE rowid = ?", (file_id,))
    connection.execute("DELETE FROM search_features WHERE file_id = ?", (file_id,))


def remove_many(connection: sqlite3.Connection, file_ids: str) -> None:
    """As `remove` for each of these (a JSON array)."""
    connection.execute("DELETE FROM search_text WHERE rowid IN (SELECT value FROM json_each(?))", (file_ids,))
    connection.execute("DELETE FROM search_features WHERE file_id IN (SELECT value FROM json_each(?))", (file_ids,))
