"""The cache of documents that tools fetched: stored once per content, searched together, capped in size.

A document belongs to the projects it was fetched in; fetched again, it only gains a project or a fresher date.
Whether documents are synced like memories or stay on this device is a setting (`documents.sync`).
"""

import json
import sqlite3
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from pydantic import Field

from memory_cache import document_index, files
from memory_cache.clock import from_text, to_text
from memory_cache.document_file import TYPES, DocumentFile, decode, encode, merge, normal, united
from memory_cache.errors import AmbiguousId, InvalidInput, UnknownMemory
from memory_cache.models import Record
from memory_cache.private import strip_private
from memory_cache.search import text
from memory_cache.search.filters import beginning_with
from memory_cache.search.query import wanted_terms

MAX_DOCUMENT_BYTES = 1_000_000
"""One document holds no more; the rest of a longer text is cut off, and the cut is marked."""

SHORTEST_PREFIX = 4
_REFRESH_AFTER = timedelta(days=1)  # fetched again within a day says nothing new, and every change is synced
_SNIPPET = 500
_WEIGHTS = (3.0, 2.0, 1.0)  # title, source, body in BM25
_OWN_PROJECT_LIFT = 1.25


class Document(Record):
    """One cached document. `file` tells whether it is synced; `score` and `snippet` are set by a search."""

    id: str
    title: str
    type: str
    source: str
    source_tool: str
    content: str = ""
    content_hash: str
    bytes: int
    created: datetime
    updated: datetime
    projects: tuple[str, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)
    memory_session_id: str | None = None
    memory_id: str | None = None
    access_count: int = 0
    last_accessed: datetime | None = None
    synced: bool = True
    snippet: str = ""
    score: float = 0.0


class Caps(Record):
    """How much may be kept; what was read or refreshed longest ago goes first. 0 lifts a cap."""

    max_bytes: int = 0
    max_count: int = 0
    max_age_days: float = 0


_COLUMNS = """d.document_id, d.file_id, d.id, d.title, d.type, d.source, d.source_tool, d.content_hash, d.bytes,
    d.created, d.updated, d.metadata, d.memory_session_id, d.memory_id,
    coalesce(a.access_count, 0) AS access_count, a.last_accessed,
    (SELECT group_concat(p.project_id, char(10)) FROM document_projects p WHERE p.document_id = d.document_id)
        AS projects"""
_FROM = "FROM documents d LEFT JOIN document_access a ON a.id = d.id"


def store(
    connection: sqlite3.Connection, document: DocumentFile, *, synced: bool, caps: Caps, now: datetime
) -> tuple[str, bool]:
    """Keep a document, or note that it was fetched again. Returns its id and whether its content is new.

    Text inside `<private>` is left out. Raises: InvalidInput for an empty content or an unknown type.
    """
    document = _checked(document, now)
    row = connection.execute(
        "SELECT document_id, file_id FROM documents WHERE id = ? ORDER BY file_id IS NULL, file_id LIMIT 1",
        (document.id,),
    ).fetchone()
    if row is None:
        _add(connection, document, synced)
        prune(connection, caps, now, keep=document.id)
    else:
        _refresh(connection, row["document_id"], row["file_id"], document, synced)
    return document.id, row is None


def _checked(document: DocumentFile, now: datetime) -> DocumentFile:
    content = normal(strip_private(document.content))
    if not content.strip():
        raise InvalidInput("A document without content is not kept.")
    if document.type not in TYPES:
        raise InvalidInput(f"{document.type!r} is no type of document.", f"Types: {', '.join(TYPES)}.")
    encoded = content.encode("utf-8", "replace")
    if len(encoded) > MAX_DOCUMENT_BYTES:
        content = encoded[:MAX_DOCUMENT_BYTES].decode("utf-8", "ignore") + "\n\n[cut: the document goes on]"
    metadata = {key: _public(value) for key, value in (document.metadata or {}).items()}
    title = " ".join(strip_private(document.title).split())[:200] or text_title(content)
    return replace(
        document, content=content, title=title, metadata=metadata or None, created=now, updated=now,
        source=strip_private(document.source)[:2000], projects=united(document.projects),
    )  # fmt: skip


def text_title(content: str) -> str:
    """The first line that says something."""
    lines = (line.strip().lstrip("#").strip() for line in content.splitlines())
    return next((line for line in lines if line), "Untitled")[:100]


def _public(value: Any) -> Any:
    return strip_private(value) if isinstance(value, str) else value


def _add(connection: sqlite3.Connection, document: DocumentFile, synced: bool) -> None:
    if not synced:
        document_index.insert(connection, document, None)
        return
    data = encode(document)
    known = connection.execute(
        "SELECT file_id FROM files WHERE path = ? ORDER BY content IS NULL LIMIT 1", (document.path,)
    ).fetchone()
    if known is None:
        files.add(connection, document.path, data)
    else:  # it was pruned here before, and the storage may not have followed yet
        files.write(connection, known["file_id"], data)


def _refresh(
    connection: sqlite3.Connection, document_id: int, file_id: int | None, seen: DocumentFile, synced: bool
) -> None:
    if file_id is None:
        old = _local(connection, document_id)
        joined = decode(merge(encode(old), encode(seen)))
        if synced:
            document_index.drop(connection, document_id)
            _add(connection, joined, synced=True)
        elif _says_more(old, joined):
            document_index.drop(connection, document_id)
            document_index.insert(connection, joined, None)
        return
    record = files.get(connection, file_id)
    if record is None or record.content is None:
        return
    data = merge(record.content, encode(seen))
    if _says_more(decode(record.content), decode(data)):
        files.write(connection, file_id, data)


def _says_more(old: DocumentFile, new: DocumentFile) -> bool:
    return old.projects != new.projects or new.updated - old.updated >= _REFRESH_AFTER


def _local(connection: sqlite3.Connection, document_id: int) -> DocumentFile:
    row = connection.execute(f"SELECT {_COLUMNS}, d.content {_FROM} WHERE d.document_id = ?", (document_id,)).fetchone()
    document = _document(row)
    return DocumentFile(
        title=document.title, content=row["content"], type=document.type, source=document.source,
        source_tool=document.source_tool, created=document.created, updated=document.updated,
        projects=document.projects, metadata=document.metadata or None,
        memory_session_id=document.memory_session_id, memory_id=document.memory_id,
    )  # fmt: skip


def prune(connection: sqlite3.Connection, caps: Caps, now: datetime, *, keep: str | None = None) -> int:
    """Remove what is too old, and what was not used for longest until the caps hold. Returns how many went."""
    rows = connection.execute(
        f"SELECT d.document_id, d.file_id, d.id, d.bytes, max(d.updated, coalesce(a.last_accessed, '')) AS used {_FROM}"
        " ORDER BY used DESC"
    ).fetchall()
    oldest = to_text(now - timedelta(days=caps.max_age_days)) if caps.max_age_days else ""
    most_count, most_bytes = caps.max_count or len(rows), caps.max_bytes or sum(row["bytes"] for row in rows)
    gone = count = size = 0
    for row in rows:
        fits = count < most_count and size + row["bytes"] <= most_bytes and row["used"] >= oldest
        if fits or row["id"] == keep:
            count += 1
            size += row["bytes"]
        else:
            _remove(connection, row["document_id"], row["file_id"])
            gone += 1
    return gone


def _remove(connection: sqlite3.Connection, document_id: int, file_id: int | None) -> None:
    if file_id is None:
        document_index.drop(connection, document_id)
    else:
        files.delete(connection, file_id)


def search(
    connection: sqlite3.Connection,
    query: str,
    *,
    limit: int,
    project_key: str | None = None,
    own_project: str | None = None,
    now: datetime,
) -> tuple[list[Document], int]:
    """The documents that fit best, and how many more match. Any text is a safe query.

    Args:
        project_key: only documents of this project. `own_project` only lifts its documents.

    The documents come with a snippet instead of their content, and each one counts as accessed.
    """
    wanted = wanted_terms(query)
    if not wanted:
        return [], 0
    expression = " OR ".join(f'"{term}"*' if prefix else f'"{term}"' for term, prefix in wanted)
    belongs = "EXISTS (SELECT 1 FROM document_projects p WHERE p.document_id = d.document_id AND p.project_key = ?)"
    condition, values = (belongs, [project_key]) if project_key is not None else ("1", [])
    rows = connection.execute(
        f"SELECT {_COLUMNS}, -bm25(document_text, {', '.join(map(str, _WEIGHTS))}) *"
        f" CASE WHEN {belongs} THEN {_OWN_PROJECT_LIFT} ELSE 1 END AS score"
        " FROM document_text t JOIN documents d ON d.document_id = t.rowid LEFT JOIN document_access a ON a.id = d.id"
        f" WHERE document_text MATCH ? AND {condition} ORDER BY score DESC, d.updated DESC, d.document_id",
        (own_project, expression, *values),
    ).fetchall()
    found = _once_per_content(rows)
    hits = []
    for row in found[:limit]:
        snippet = _snippet(_content(connection, row), [term for term, _ in wanted])
        hits.append(_document(row, score=row["score"], snippet=snippet))
    return touch(connection, hits, now), len(found) - len(hits)


def _once_per_content(rows: list[sqlite3.Row]) -> list[sqlite3.Row]:
    seen: dict[str, sqlite3.Row] = {}
    for row in rows:
        seen.setdefault(row["id"], row)
    return list(seen.values())


def get(connection: sqlite3.Connection, text_id: str, now: datetime) -> Document:
    """The document with this id or the only one that begins so, whole; counts as accessed.

    Raises: InvalidInput, UnknownMemory, AmbiguousId.
    """
    row = _named(connection, text_id)
    return touch(connection, [_document(row, content=_content(connection, row))], now)[0]


def forget(connection: sqlite3.Connection, text_id: str) -> Document:
    """Remove a document, on all devices where it is synced; returns it without its content. Raises: as `get`."""
    document = _document(_named(connection, text_id))
    rows = connection.execute("SELECT document_id, file_id FROM documents WHERE id = ?", (document.id,)).fetchall()
    for row in rows:
        _remove(connection, row["document_id"], row["file_id"])
    return document


def _named(connection: sqlite3.Connection, text_id: str) -> sqlite3.Row:
    wanted = text_id.strip().lower()
    if len(wanted) < SHORTEST_PREFIX:
        raise InvalidInput(
            f"{text_id.strip()!r} is too short for the id of a document.",
            f"Give at least {SHORTEST_PREFIX} characters of it; search_documents shows ids.",
        )
    pattern = beginning_with(wanted)
    rows = connection.execute(
        f"SELECT {_COLUMNS} {_FROM} WHERE d.id LIKE ? ESCAPE '\\' ORDER BY d.id, d.file_id LIMIT 20", (pattern,)
    ).fetchall()
    found = _once_per_content(rows)
    if not found:
        raise UnknownMemory(f"No document has the id {wanted!r}.", "search_documents finds documents and their ids.")
    if len(found) > 1:
        named = "; ".join(f"{row['id']} ({row['title']})" for row in found[:10])
        raise AmbiguousId(f"Several documents have an id that begins with {wanted}: {named}.", "Give more of the id.")
    return found[0]


def touch(connection: sqlite3.Connection, documents: list[Document], now: datetime) -> list[Document]:
    """Count one access of each; the documents come back with the new counts."""
    connection.executemany(
        "INSERT INTO document_access (id, access_count, last_accessed) VALUES (?, 1, ?) ON CONFLICT (id) DO UPDATE"
        " SET access_count = access_count + 1, last_accessed = excluded.last_accessed",
        [(document.id, to_text(now)) for document in documents],
    )
    return [
        document.model_copy(update={"access_count": document.access_count + 1, "last_accessed": now})
        for document in documents
    ]


def usage(connection: sqlite3.Connection) -> tuple[int, int]:
    """How many documents there are, and their bytes."""
    count, size = connection.execute("SELECT count(*), coalesce(sum(bytes), 0) FROM documents").fetchone()
    return int(count), int(size)


def recent(connection: sqlite3.Connection, limit: int) -> list[Document]:
    """The documents fetched last, without content."""
    rows = connection.execute(f"SELECT {_COLUMNS} {_FROM} ORDER BY d.updated DESC, d.document_id LIMIT ?", (limit,))
    return [_document(row) for row in rows]


def _content(connection: sqlite3.Connection, row: sqlite3.Row) -> str:
    if row["file_id"] is None:
        found = connection.execute(
            "SELECT content FROM documents WHERE document_id = ?", (row["document_id"],)
        ).fetchone()
        return str(found[0])
    data = connection.execute("SELECT content FROM files WHERE file_id = ?", (row["file_id"],)).fetchone()[0]
    return normal(decode(bytes(data)).content)


def _document(row: sqlite3.Row, *, content: str = "", snippet: str = "", score: float = 0.0) -> Document:
    return Document(
        id=row["id"], title=row["title"], type=row["type"], source=row["source"], source_tool=row["source_tool"],
        content=content, content_hash=row["content_hash"], bytes=row["bytes"], created=from_text(row["created"]),
        updated=from_text(row["updated"]), projects=tuple(row["projects"].split("\n")) if row["projects"] else (),
        metadata=json.loads(row["metadata"]), memory_session_id=row["memory_session_id"], memory_id=row["memory_id"],
        access_count=row["access_count"],
        last_accessed=from_text(row["last_accessed"]) if row["last_accessed"] else None,
        synced=row["file_id"] is not None, snippet=snippet, score=score,
    )  # fmt: skip


def _snippet(content: str, wanted: list[str]) -> str:
    """The stretch of about 500 characters that holds most of the wanted terms; words are compared folded."""
    lines = content.splitlines()
    folded = [text.fold(line) for line in lines]
    held = [{term for term in wanted if term in line} for line in folded]
    best, best_start = -1, 0
    for start, terms in enumerate(held):
        if not terms and best >= 0:
            continue
        seen: set[str] = set()
        length = 0
        for line, here in zip(lines[start:], held[start:], strict=False):
            if length and length + len(line) > _SNIPPET:
                break
            seen |= here
            length += len(line) + 1
        if len(seen) > best:
            best, best_start = len(seen), start
    shown: list[str] = []
    length = 0
    for line in lines[best_start:]:
        if shown and length + len(line) > _SNIPPET:
            break
        shown.append(line[: _SNIPPET * 2])
        length += len(line) + 1
    return "\n".join(shown).strip()
