"""The cache of documents: once per content, found whatever its source, capped, counted."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from memory_cache import document_file, documents, files, indexing
from memory_cache.document_file import DocumentFile
from memory_cache.documents import Caps
from memory_cache.errors import AmbiguousId, InvalidInput, UnknownMemory
from tests.memory_cache.store import NOW, new_connection

NO_CAPS = Caps()
WIDGET, GADGET = "github.com/acme/widget", "github.com/acme/gadget"


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(new_connection()) as opened:
        yield opened


def fetched(content: str, **fields: Any) -> DocumentFile:
    values: dict[str, Any] = {
        "title": content.splitlines()[0] if content else "", "type": "library-docs", "source": "/vercel/next.js",
        "source_tool": "context7", "created": NOW, "updated": NOW, **fields,
    }  # fmt: skip
    return DocumentFile(content=content, **values)


def keep(connection: sqlite3.Connection, content: str, *, synced: bool = True, days: float = 0, **fields: Any) -> str:
    moment = NOW + timedelta(days=days)
    caps = fields.pop("caps", NO_CAPS)
    return documents.store(connection, fetched(content, **fields), synced=synced, caps=caps, now=moment)[0]


def found(connection: sqlite3.Connection, query: str, **more: Any) -> list[str]:
    hits, _ = documents.search(connection, query, limit=10, now=NOW, **more)
    return [hit.id for hit in hits]


@pytest.mark.parametrize("synced", [True, False])
def test_one_content_from_two_projects_and_tools_is_stored_once_and_belongs_to_both(
    connection: sqlite3.Connection, synced: bool
) -> None:
    first = keep(connection, "# Routing\n\nUse the app router.", projects=(WIDGET,), synced=synced)
    second = keep(
        connection, "# Routing\r\n\r\nUse the app router.\n", projects=(GADGET,), source_tool="webfetch", synced=synced
    )
    assert first == second
    assert documents.usage(connection)[0] == 1
    for project in (WIDGET, GADGET):
        assert found(connection, "router", project_key=project) == [first]
    document = documents.get(connection, first, NOW)
    assert document.projects == (GADGET, WIDGET)
    assert document.synced is synced
    assert len(connection.execute("SELECT 1 FROM files").fetchall()) == (1 if synced else 0)


def test_documents_of_every_source_are_searched_together_and_each_hit_counts_as_read(
    connection: sqlite3.Connection,
) -> None:
    one = keep(connection, "# Hooks\n\nuseEffect runs after render.", source="/facebook/react")
    page = "# Effects on the web\n\nuseEffect explained."
    two = keep(
        connection, page, source="https://example.org/e", type="web-content", source_tool="webfetch", synced=False
    )
    assert set(found(connection, "useEffect")) == {one, two}
    hits, more = documents.search(connection, "useEffect", limit=1, now=NOW)
    assert more == 1
    assert hits[0].access_count == 2
    assert hits[0].last_accessed == NOW
    assert documents.get(connection, hits[0].id[:8], NOW).access_count == 3


@pytest.mark.parametrize(
    "query", ["next.js", "what's new", "C#", "a,b", "react AND", "NOT", '"', "*", "", "  ", "日本", "\0"]
)
def test_any_text_is_a_safe_query(connection: sqlite3.Connection, query: str) -> None:
    keep(connection, "What's new in next.js with C# and a,b: react AND NOT 日本語")
    documents.search(connection, query, limit=5, now=NOW)


def test_words_with_signs_and_scripts_without_spaces_are_found(connection: sqlite3.Connection) -> None:
    document = keep(connection, "# 配置\n\nnext.js のルーティング設定 in C# too")
    for query in ("next.js", "ルーティング", "設定", "C#"):
        assert found(connection, query) == [document], query


def test_the_snippet_shows_where_the_words_are(connection: sqlite3.Connection) -> None:
    filler = "\n".join(f"Line {n} about nothing in particular." for n in range(400))
    keep(connection, f"# Long\n\n{filler}\n\nThe revalidate option sets seconds.\n\n{filler}x")
    hits, _ = documents.search(connection, "revalidate seconds", limit=1, now=NOW)
    assert "revalidate option sets seconds" in hits[0].snippet
    assert len(hits[0].snippet) <= 600


def test_private_text_is_stored_nowhere(connection: sqlite3.Connection) -> None:
    keep(connection, "Public. <private>my password is hunter2</private> End.", title="t <private>hunter2</private>",
         metadata={"prompt": "ask <PRIVATE>hunter2"}, source="https://x/<private>hunter2</private>")  # fmt: skip
    keep(connection, "Kept here. <private>hunter2", synced=False)
    dump = "\n".join(str(line) for line in connection.iterdump())
    assert "hunter2" not in dump
    for (content,) in connection.execute("SELECT content FROM files"):
        assert b"hunter2" not in content
    with pytest.raises(InvalidInput):
        keep(connection, "<private>all of it</private>")


def test_caps_drop_what_was_not_used_for_longest_and_never_the_newest(connection: sqlite3.Connection) -> None:
    first = keep(connection, "alpha text")
    second = keep(connection, "beta text", days=1)
    documents.get(connection, first, NOW + timedelta(days=2))
    third = keep(connection, "gamma text", days=3, caps=Caps(max_count=2))
    with pytest.raises(UnknownMemory):
        documents.get(connection, second, NOW)
    fourth = keep(connection, "delta " + "x" * 500, days=4, caps=Caps(max_bytes=100))
    assert [row["id"] for row in connection.execute("SELECT id FROM documents")] == [fourth]
    assert third != fourth
    fifth = keep(connection, "epsilon", days=200, caps=Caps(max_age_days=90))
    assert [row["id"] for row in connection.execute("SELECT id FROM documents")] == [fifth]


def test_a_pruned_document_that_is_fetched_again_comes_back(connection: sqlite3.Connection) -> None:
    first = keep(connection, "alpha text")
    row = connection.execute("SELECT file_id, path FROM files").fetchone()
    files.record_base(connection, row["file_id"], item_id="1", path=row["path"], version="1", data=b"x")
    keep(connection, "beta text", days=1, caps=Caps(max_count=1))
    assert files.get(connection, row["file_id"]).content is None
    assert keep(connection, "alpha text", days=2) == first
    assert found(connection, "alpha") == [first]
    assert connection.execute("SELECT count(*) FROM files WHERE path = ?", (row["path"],)).fetchone()[0] == 1


def test_fetched_again_within_a_day_nothing_is_written_and_later_it_is_fresh(connection: sqlite3.Connection) -> None:
    document = keep(connection, "alpha text", projects=(WIDGET,))
    version = connection.execute("SELECT local_version FROM files").fetchone()[0]
    keep(connection, "alpha text", projects=(WIDGET,), days=0.5)
    assert connection.execute("SELECT local_version FROM files").fetchone()[0] == version
    keep(connection, "alpha text", projects=(WIDGET,), days=3)
    assert documents.get(connection, document, NOW).updated == NOW + timedelta(days=3)
    assert documents.get(connection, document, NOW).created == NOW


def test_turned_on_later_syncing_takes_along_what_is_fetched_again(connection: sqlite3.Connection) -> None:
    document = keep(connection, "alpha text", projects=(WIDGET,), synced=False)
    keep(connection, "alpha text", projects=(GADGET,), synced=True)
    assert documents.get(connection, document, NOW).projects == (GADGET, WIDGET)
    assert documents.usage(connection)[0] == 1
    assert connection.execute("SELECT count(*) FROM files").fetchone()[0] == 1


def test_a_very_long_document_is_cut_and_says_so(connection: sqlite3.Connection) -> None:
    document = keep(connection, "word " * 300_000)
    content = documents.get(connection, document, NOW).content
    assert len(content) < documents.MAX_DOCUMENT_BYTES + 100
    assert content.endswith("[cut: the document goes on]")


def test_ids_by_prefix_and_their_errors(connection: sqlite3.Connection) -> None:
    for number in range(40):
        keep(connection, f"text {number}")
    with pytest.raises(InvalidInput, match="too short"):
        documents.get(connection, "ab", NOW)
    with pytest.raises(UnknownMemory, match="No document"):
        documents.get(connection, "zzzz", NOW)
    with pytest.raises(UnknownMemory):
        documents.get(connection, "%%%%", NOW)
    one = connection.execute("SELECT id FROM documents LIMIT 1").fetchone()[0]
    connection.execute("UPDATE documents SET id = ? WHERE id = (SELECT max(id) FROM documents WHERE id <> ?)",
                       (one[:8] + "f" * 24, one))  # fmt: skip
    with pytest.raises(AmbiguousId, match=one):
        documents.get(connection, one[:8], NOW)


def test_a_rebuild_derives_the_same_and_keeps_the_counts(connection: sqlite3.Connection) -> None:
    document = keep(connection, "alpha text", projects=(WIDGET,), metadata={"topic": "x"})
    documents.get(connection, document, NOW)
    before = [tuple(row)[1:] for row in connection.execute("SELECT * FROM documents")]
    indexing.rebuild(connection)
    assert [tuple(row)[1:] for row in connection.execute("SELECT * FROM documents")] == before
    assert documents.get(connection, document, NOW).access_count == 2
    assert found(connection, "alpha", project_key=WIDGET) == [document]


def test_a_file_of_another_device_is_a_document_here(connection: sqlite3.Connection) -> None:
    data = document_file.encode(fetched("# Caching\n\nfetch is cached", projects=(WIDGET,)))
    record = files.take_remote(
        connection, item_id="1", path="documents/caching-1.md", version="1", data=data, file_id=None
    )
    assert len(found(connection, "caching", project_key=WIDGET)) == 1
    files.delete(connection, record.file_id)
    assert found(connection, "caching") == []
