"""What an embedder is: the small interface behind which models differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from memory_cache.errors import MemoryCacheError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]


class EmbedderMissing(MemoryCacheError):
    """The chosen embedder is an extra that is not installed, or cannot run here."""

    title = "Embedder not available"


@dataclass(frozen=True, slots=True)
class Weights:
    """How the parts of relevance are weighed; measured per model (docs/recall.md).

    Attributes:
        words: BM25 over its ideal.
        meaning: cosine of query and memory.
        likeness: best likeness of each word of the query to a word of the memory.
        least_meaning: a memory that shares no word with the query is a match from this cosine on.
    """

    words: float
    meaning: float
    likeness: float
    least_meaning: float


class Embedder(Protocol):
    """Texts to vectors, of length 1 for documents. Used from one thread at a time."""

    @property
    def name(self) -> str:
        """Model and revision; vectors of other names are made anew."""

    @property
    def dimensions(self) -> int: ...

    @property
    def weights(self) -> Weights: ...

    @property
    def foreign_weights(self) -> Weights:
        """For queries whose words the static table does not know: their likeness tells little."""

    @property
    def at_write(self) -> bool:
        """Fast enough (a few ms) to run inside the transaction that writes a memory."""

    def covers(self, text: str) -> bool:
        """Whether the model knows the script of this text; where not, the text gets no vector."""

    def embed_documents(self, texts: Sequence[str]) -> "list[Floats | None]":
        """One vector per text, None where the text gives none."""

    def embed_query(self, text: str) -> "Floats | None":
        """The vector of a question; its length may differ from 1 where a model's cosines need spreading."""
