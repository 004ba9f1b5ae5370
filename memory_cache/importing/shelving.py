"""Documents and patterns of other systems, stored inside the caller's transaction."""

import sqlite3
from dataclasses import replace
from datetime import datetime, timedelta

from memory_cache import document_file, documents, files, pattern_file
from memory_cache.clock import to_text
from memory_cache.documents import Caps
from memory_cache.errors import InvalidInput
from memory_cache.importing.placement import filed
from memory_cache.importing.records import DocumentRecord, PatternRecord
from memory_cache.importing.report import Done
from memory_cache.importing.storing import Importing
from memory_cache.private import strip_private


def take_document(
    connection: sqlite3.Connection, importing: Importing, record: DocumentRecord, *, synced: bool, caps: Caps,
    now: datetime,
) -> None:  # fmt: skip
    """Keep a document with its dates and the number of times that it was read."""
    content = document_file.normal(strip_private(record.document.content))
    size = len(content.encode("utf-8", "replace"))
    if size > documents.MAX_DOCUMENT_BYTES:
        raise InvalidInput(f"It has {size:,} bytes; a document holds at most {documents.MAX_DOCUMENT_BYTES:,}.")
    document = replace(record.document, content=content, projects=_projects(importing, record))
    used = max(filter(None, (document.updated, record.last_accessed)))
    if caps.max_age_days and used < now - timedelta(days=caps.max_age_days):
        reason = f"It was last used on {used:%Y-%m-%d}; documents are kept {caps.max_age_days:g} days."
        importing.skip(record.where, f"{reason} The setting is documents.max_age_days.", expected=True)
        return
    before = _document(connection, document.id)
    if importing.cause is None:
        after = before
    else:
        for moment in sorted({document.created, document.updated}):
            document_id, _ = documents.store(connection, document, synced=synced, caps=caps, now=moment)
        _count(connection, document_id, record)
        after = _document(connection, document_id)
    if before is not None and before == after:
        importing.report.unchanged += 1
    else:
        done = Done("document", document.id, document.title or documents.text_title(document.content), record.where)
        (importing.report.imported if before is None else importing.report.updated).append(done)


def _projects(importing: Importing, record: DocumentRecord) -> tuple[str, ...]:
    named = record.document.projects or ((None,) if importing.placement.project else ())
    found = [filed(importing.placement, importing.known, project, None)[0][0] for project in named]
    return tuple(project for project in found if project)


def _document(connection: sqlite3.Connection, document_id: str) -> tuple[object, ...] | None:
    row = connection.execute(
        "SELECT d.updated, a.access_count, (SELECT group_concat(p.project_key) FROM document_projects p"
        " WHERE p.document_id = d.document_id) FROM documents d LEFT JOIN document_access a ON a.id = d.id"
        " WHERE d.id = ? LIMIT 1",
        (document_id,),
    ).fetchone()
    return None if row is None else tuple(row)


def _count(connection: sqlite3.Connection, document_id: str, record: DocumentRecord) -> None:
    if record.access_count > 0:
        last = to_text(record.last_accessed or record.document.updated)
        connection.execute(
            "INSERT INTO document_access (id, access_count, last_accessed) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE"
            " SET access_count = max(access_count, excluded.access_count),"
            " last_accessed = max(last_accessed, excluded.last_accessed)",
            (document_id, record.access_count, last),
        )


def take_pattern(connection: sqlite3.Connection, importing: Importing, record: PatternRecord) -> None:
    """Keep a pattern: its occurrences join those that are here. Raises: InvalidInput when nothing is left of it."""
    pattern = record.pattern
    text = strip_private(pattern.description).strip()
    if not text:
        raise InvalidInput("Nothing is left of it once its private parts are taken out.")
    seen = tuple(replace(entry, example=strip_private(entry.example).strip()) for entry in pattern.occurrences)
    project, plain = filed(importing.placement, importing.known, pattern.project_id, pattern.project_name)
    if plain is not None:
        importing.report.plain_names[plain] += 1
    pattern = replace(pattern, description=text, occurrences=seen)
    if project[0] != pattern.project_id:
        anew = pattern_file.new_id(text, pattern.category, project[0])
        pattern = replace(pattern, id=anew, project_id=project[0], project_name=project[1])
    done = Done("pattern", pattern.id, text, record.where)
    row = connection.execute(
        "SELECT f.file_id, f.content FROM patterns p JOIN files f USING (file_id) WHERE p.id = ?", (pattern.id,)
    ).fetchone()
    if row is None:
        if importing.cause is not None:
            _place(connection, pattern.path, pattern_file.encode(pattern))
        importing.report.imported.append(done)
        return
    merged = pattern_file.merge(bytes(row["content"]), pattern_file.encode(pattern))
    if _occurrences(merged) == _occurrences(bytes(row["content"])):
        importing.report.unchanged += 1
        return
    if importing.cause is not None:
        files.write(connection, row["file_id"], merged, cause=importing.cause)
    importing.report.updated.append(done)


def _occurrences(data: bytes) -> tuple[object, ...]:
    pattern = pattern_file.decode(data)
    return (frozenset(entry.id for entry in pattern.occurrences), pattern.skill_at)


def _place(connection: sqlite3.Connection, path: str, data: bytes) -> None:
    # Deleted here before, the path may still have a row whose delete the storage has not followed.
    row = connection.execute(
        "SELECT file_id FROM files WHERE path = ? ORDER BY content IS NULL LIMIT 1", (path,)
    ).fetchone()
    if row is None:
        files.add(connection, path, data)
    else:
        files.write(connection, row["file_id"], data)
