"""Any bytes at all: a reader gives records or a reason, never another error, and takes no long time for it."""

import json
import random
import sqlite3
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_cache.errors import MemoryCacheError
from memory_cache.importing import sources

KINDS = tuple(sources.SOURCES)
MEGABYTE = 1_000_000
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(["id", "content", "tags", "created", "created_at", "type", "name", "from", "to", "observations",
                         "entities", "relations", "description", "examples", "count", "relatedTo", "expires_at", "x"])
        | st.text(max_size=5), inner, max_size=8),
    max_leaves=20,
)  # fmt: skip


def drain(kind: str, path: Path) -> int:
    """Read all that a reader gives; how many items, 0 when it refuses."""
    try:
        return sum(1 for _ in sources.SOURCES[kind].read(path, Path("/nowhere")))
    except MemoryCacheError:
        return 0


def try_all(data: bytes, suffix: str = ".md") -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"file{suffix}")
        path.write_bytes(data)
        for kind in KINDS:
            drain(kind, path)
        with suppress(MemoryCacheError):
            sources.detect(path)


@given(st.binary(max_size=600))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_any_bytes(data: bytes) -> None:
    try_all(data)


@given(JSON, st.booleans())
@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])
def test_any_json(value: object, lines: bool) -> None:
    text = "\n".join(json.dumps(item) for item in value) if lines and isinstance(value, list) else json.dumps(value)
    try_all(text.encode(), ".json")


FRONT = st.lists(st.sampled_from(["---", "id: a", "id:", "tags: [a", "title: x: y", "metadata:", "  type: user", "# H",
                                  "[[a]]", "[x](../../y.md)", "# Memories", "## T", "- id: x", "```markdown", "```", "",
                                  "permalink: a", "created: 99999-01-01", "!!python/object:os.system", "&a *a", "\t"]),
                 max_size=12).map("\n".join)  # fmt: skip


@given(FRONT)
@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
def test_any_markdown(text: str) -> None:
    try_all(text.encode())


def big(shape: str) -> bytes:
    rng = random.Random(7)
    shapes = {
        "noise": lambda: rng.randbytes(MEGABYTE),
        "brackets": lambda: b"[" * MEGABYTE,
        "braces": lambda: b'{"a":' * (MEGABYTE // 5),
        "one line": lambda: b"a" * MEGABYTE,
        "quotes": lambda: b'"' * MEGABYTE,
        "dashes": lambda: b"---\n" * (MEGABYTE // 4),
        "headings": lambda: b"## a\n\n- b\n" * (MEGABYTE // 10),
        "fences": lambda: b"# Memories\n\n" + b"## a\n\n- id: b\n\n```markdown\n" * (MEGABYTE // 27),
        "links": lambda: b"[[a]] [x](y.md) @a.b " * (MEGABYTE // 21),
        "open links": lambda: b"[[" * (MEGABYTE // 2),
        "private": lambda: b"<private>" * (MEGABYTE // 9),
        "blank": lambda: b"\n" * MEGABYTE,
        "spaces": lambda: b" " * MEGABYTE,
        "commas": lambda: b"content," + b",".join([b"a"] * (MEGABYTE // 2)),
        "index": lambda: b"- [a](b.md " * (MEGABYTE // 11),
        "sqlite": lambda: b"SQLite format 3\x00" + rng.randbytes(MEGABYTE),
        "anchors": lambda: b"---\na: &a [x]\n" + b"b: *a\n" * 9000 + b"---\n" + b"x" * 900_000,
    }
    return shapes[shape]()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "shape",
    ["noise", "brackets", "braces", "one line", "quotes", "dashes", "headings", "fences", "links", "open links",
     "private", "blank", "spaces", "commas", "index", "sqlite", "anchors"],
)  # fmt: skip
def test_a_megabyte_of_nonsense_is_read_in_a_second(tmp_path: Path, kind: str, shape: str) -> None:
    path = tmp_path / "file.md"
    path.write_bytes(big(shape))
    begun = time.process_time()  # this process's own time: other work on the machine does not count
    drain(kind, path)
    assert time.process_time() - begun < 1


def test_a_database_of_odd_values(tmp_path: Path) -> None:
    path = tmp_path / "claude-mem.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(
            "CREATE TABLE observations (id, memory_session_id, project, type, title, narrative, facts, concepts,"
            " created_at, created_at_epoch);"
            "CREATE TABLE session_summaries (id, request); CREATE TABLE directives (content, status);"
            "CREATE TABLE documents (id, content, metadata, access_count, created_at);"
            "CREATE VIEW memories AS SELECT 1; CREATE TABLE overviews (content);"
        )
        values = [None, 5, 1e300, -1, b"\xff\x00", "", "x", '{"a"', "[1, [2], {}]", "9" * 400, "\ud7ff", float("inf")]
        for value in values:
            connection.execute(f"INSERT INTO observations VALUES ({','.join('?' * 10)})", [value] * 10)
            connection.execute("INSERT INTO session_summaries VALUES (?, ?)", [value] * 2)
            connection.execute("INSERT INTO directives VALUES (?, ?)", [value] * 2)
            connection.execute("INSERT INTO documents VALUES (?, ?, ?, ?, ?)", [value] * 5)
            connection.execute("INSERT INTO overviews VALUES (?)", [value])
    assert drain("claude-mem", path) == len(values) * 5
