"""The embedder that ships with this package: a table of word-piece vectors, numpy alone (see data/NOTICE.md).

It knows English, and with it most identifiers. Texts in other scripts get no vector rather than a misleading one.
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from itertools import chain
from typing import TYPE_CHECKING

from memory_cache.search import wordpiece
from memory_cache.search.stopwords import STOP_WORDS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

NAME = "static-fit256"
DIMENSIONS = 256
_WORD_DIMENSIONS = 128  # principal components; the other half costs as much and adds nothing to single words
_LONGEST_TEXT = 60_000  # characters
_MOST_PIECES = 400  # distinct; the match by words looks at no more of a long memory


@dataclass(frozen=True, slots=True)
class Table:
    """The vectors of the word pieces. `rows` is memory-mapped: only the pages in use take memory."""

    rows: "npt.NDArray[np.int8]"
    scale: "Floats"
    unit: "Floats"  # per row: 1 / norm of the dimensions that words are compared by

    def embed(self, pieces: list[int]) -> "Floats | None":
        """The vector of length 1 of a text given as pieces; None for no pieces."""
        import numpy as np

        if not pieces:
            return None
        vector: Floats = np.asarray(self.scale[pieces] @ self.rows[pieces].astype(np.float32), dtype=np.float32)
        norm = float(np.linalg.norm(vector))
        return vector / np.float32(norm) if norm else None

    def similarities(self, words: list[str], pieces: "npt.NDArray[np.intp]") -> "Floats":
        """Cosine of each word (row) with each piece (column), at least 0."""
        import numpy as np

        vectors = np.zeros((len(words), _WORD_DIMENSIONS), np.float32)
        for index, word in enumerate(words):
            vector = self.embed([piece for part in wordpiece.words(word, split_identifiers=False)
                                 for piece in wordpiece.pieces(part)])  # fmt: skip
            if vector is not None:
                part = vector[:_WORD_DIMENSIONS]
                vectors[index] = part / (np.linalg.norm(part) or 1.0)
        rows = self.rows[pieces, :_WORD_DIMENSIONS].astype(np.float32)
        similar: Floats = np.maximum(rows @ vectors.T, 0.0).T * self.unit[pieces]
        return similar


@cache
def table() -> Table:
    """The table, loaded once per process at first use."""
    import numpy as np

    folder = resources.files("memory_cache.search") / "data"
    with resources.as_file(folder / "static_fit256.npy") as path:
        rows = np.asarray(np.load(path, mmap_mode="r"))
    with resources.as_file(folder / "static_fit256_scale.npy") as path:
        scale = np.load(path)
    unit = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), 4096):
        block = rows[start : start + 4096, :_WORD_DIMENSIONS].astype(np.float32)
        unit[start : start + 4096] = 1.0 / np.maximum(np.sqrt(np.einsum("ij,ij->i", block, block)), 1e-6)
    return Table(rows, scale, unit)


def covers(text: str) -> bool:
    """Whether the table knows the script: at least half of the letters are Latin; so is a text without letters."""
    if text.isascii():
        return True
    letters = [character for character in text[:4000] if character.isalpha()]
    latin = sum(character < "\u0250" for character in letters)
    return latin * 2 >= len(letters)


def is_fluent(words: list[str]) -> bool:
    """Whether the table knows at least half of these words whole, as it does in English."""
    known = sum(len(wordpiece.pieces(word)) == 1 for word in words)
    return known * 2 >= len(words)


def pieces(text: str) -> list[int]:
    """All pieces of a text in order: what `Table.embed` takes. Empty when the script is not covered."""
    if not covers(text):
        return []
    return list(chain.from_iterable(map(wordpiece.pieces, _words(text[:_LONGEST_TEXT]))))


def meaningful_pieces(text: str) -> list[int]:
    """The distinct pieces of the words that are no stop words, in order of appearance, at most `_MOST_PIECES`."""
    if not covers(text):
        return []
    found = dict.fromkeys(chain.from_iterable(map(_meaningful, dict.fromkeys(_words(text[:_LONGEST_TEXT])))))
    found.pop(wordpiece.UNKNOWN, None)
    return list(found)[:_MOST_PIECES]


@lru_cache(maxsize=1)
def _words(text: str) -> tuple[str, ...]:
    # A memory that is written asks twice, for its words and for its vector.
    return tuple(wordpiece.words(text, split_identifiers=True))


@lru_cache(maxsize=32768)
def _meaningful(word: str) -> tuple[int, ...]:
    return () if word in STOP_WORDS or not word.isalnum() else wordpiece.pieces(word)
