"""Rows and search terms of a document: one code path for files (synced) and for what stays on this device."""

import json
import sqlite3

from memory_cache.clock import to_text
from memory_cache.document_file import DocumentFile, decode, normal
from memory_cache.hashing import content_hash
from memory_cache.project import key_of
from memory_cache.search import text


def refresh(connection: sqlite3.Connection, file_id: int, path: str, content: bytes) -> None:
    """Derive the document of this file anew."""
    remove(connection, file_id)
    insert(connection, decode(content), file_id)


def remove(connection: sqlite3.Connection, file_id: int) -> None:
    """The document of this file is no more."""
    row = connection.execute("SELECT document_id FROM documents WHERE file_id = ?", (file_id,)).fetchone()
    if row is not None:
        drop(connection, row[0])


def drop(connection: sqlite3.Connection, document_id: int) -> None:
    """Remove a document's row and terms."""
    connection.execute("DELETE FROM document_text WHERE rowid = ?", (document_id,))
    connection.execute("DELETE FROM documents WHERE document_id = ?", (document_id,))


def insert(connection: sqlite3.Connection, document: DocumentFile, file_id: int | None) -> int:
    """Add the document; without a file its content is kept in the row. Returns the row's number."""
    content = normal(document.content)
    encoded = content.encode("utf-8", "replace")
    cursor = connection.execute(
        "INSERT INTO documents (file_id, id, title, type, source, source_tool, content, content_hash, bytes, created,"
        " updated, metadata, memory_session_id, memory_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            file_id,
            document.id,
            document.title,
            document.type,
            document.source,
            document.source_tool,
            content if file_id is None else None,
            content_hash(encoded),
            len(encoded),
            to_text(document.created),
            to_text(document.updated),
            json.dumps(dict(document.metadata or {}), ensure_ascii=False),
            document.memory_session_id,
            document.memory_id,
        ),
    )
    document_id = int(cursor.lastrowid or 0)
    set_projects(connection, document_id, document.projects)
    connection.execute(
        "INSERT INTO document_text (rowid, title, source, body) VALUES (?, ?, ?, ?)",
        (document_id, text.index_text(document.title), text.index_text(_origin(document)), text.index_text(content)),
    )
    return document_id


def _origin(document: DocumentFile) -> str:
    """The source, and what was asked for: an answer of WebFetch is found by the question it answers."""
    told = [value for value in (document.metadata or {}).values() if isinstance(value, str)]
    return " ".join((document.source, document.source_tool, *told))


def set_projects(connection: sqlite3.Connection, document_id: int, projects: tuple[str, ...]) -> None:
    """The projects a document belongs to."""
    connection.execute("DELETE FROM document_projects WHERE document_id = ?", (document_id,))
    connection.executemany(
        "INSERT OR IGNORE INTO document_projects (document_id, project_key, project_id) VALUES (?, ?, ?)",
        [(document_id, key_of(project_id), project_id) for project_id in projects],
    )
