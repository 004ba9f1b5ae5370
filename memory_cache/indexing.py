"""What is derived from the bytes of a file: memories with tags, links and search terms, conflicts, problems.

One code path for every write and for a rebuild, inside the caller's transaction: `rebuild` on a cache
in good order changes nothing.

Two files with one id are both memories. Which of them keeps the id depends on their paths alone, never on which came
first, so that all devices agree; the other one gets an id derived from its path (`memory_cache.paths.derived_id`).
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime

from memory_cache import conflicts, document_index, paths, pattern_index, problems, project, text_format
from memory_cache.clock import EPOCH, to_text
from memory_cache.models import FileKind
from memory_cache.problems import Code
from memory_cache.search import index as search_index
from memory_cache.search.filters import tag_key

_postponed: ContextVar[bool] = ContextVar("search_postponed", default=False)


@dataclass(frozen=True, slots=True)
class Indexer:
    """How files of one kind are read into tables of their own.

    Attributes:
        refresh: (connection, file id, path, bytes): derive anew. Must take any bytes.
        remove: (connection, file id): nothing of this file is left.
    """

    refresh: Callable[[sqlite3.Connection, int, str, bytes], None]
    remove: Callable[[sqlite3.Connection, int], None]


def refresh(
    connection: sqlite3.Connection, file_id: int, path: str, kind: FileKind, content: bytes | None, *, new: bool = False
) -> None:
    """Derive anew what follows from these bytes; from None follows nothing. `new`: nothing was derived before."""
    if not new:
        for other, indexer in INDEXERS.items():
            if other != kind or content is None:
                indexer.remove(connection, file_id)
        problems.clear(connection, file_id, *Code)
    if content is not None and kind in INDEXERS:
        INDEXERS[kind].refresh(connection, file_id, path, content)


def retag(connection: sqlite3.Connection, changes: Sequence[tuple[int, Sequence[str], datetime]]) -> None:
    """Follow changes of nothing but tags and `updated` (file id, tags, updated). `catch_up` sees to the search."""
    ids = [(file_id,) for file_id, _, _ in changes]
    connection.executemany(
        "UPDATE memories SET tags = ?, updated = ? WHERE file_id = ?",
        [(_json(tags), to_text(updated), file_id) for file_id, tags, updated in changes],
    )
    connection.executemany("DELETE FROM memory_tags WHERE file_id = ?", ids)
    _insert_tags(connection, [(file_id, tag) for file_id, tags, _ in changes for tag in tags])
    connection.executemany("INSERT OR IGNORE INTO search_later (file_id) VALUES (?)", ids)


@contextmanager
def search_postponed() -> Iterator[None]:
    """Within this block search terms are left to `catch_up`; for writes of very many memories in one transaction.

    Until then a search may miss what was written. What is removed leaves the search at once, here too.
    """
    token = _postponed.set(True)
    try:
        yield
    finally:
        _postponed.reset(token)


def catch_up(connection: sqlite3.Connection, limit: int) -> bool:
    """Refresh the search terms of at most `limit` memories that wait for it; whether more wait."""
    waiting = connection.execute("SELECT file_id FROM search_later LIMIT ?", (limit + 1,)).fetchall()
    for (file_id,) in waiting[:limit]:
        search_index.refresh(connection, file_id)
        connection.execute("DELETE FROM search_later WHERE file_id = ?", (file_id,))
    return len(waiting) > limit


def behind(connection: sqlite3.Connection) -> bool:
    """Whether search terms wait to be refreshed."""
    return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM search_later)").fetchone()[0])


def remove(connection: sqlite3.Connection, file_id: int, kind: FileKind) -> None:
    """Take away all that was derived from this file."""
    problems.clear(connection, file_id, *Code)
    if kind in INDEXERS:
        INDEXERS[kind].remove(connection, file_id)


def remove_memories(connection: sqlite3.Connection, file_ids: str) -> None:
    """As `remove` for each of these memories (a JSON array), none of which shares its id with another file."""
    chosen = "file_id IN (SELECT value FROM json_each(?))"
    codes = ", ".join(f"'{code}'" for code in Code)
    connection.execute(f"DELETE FROM problems WHERE {chosen} AND code IN ({codes})", (file_ids,))
    search_index.remove_many(connection, file_ids)
    connection.execute(f"DELETE FROM memories WHERE {chosen}", (file_ids,))


def rebuild(connection: sqlite3.Connection) -> None:
    """Derive everything anew from the bytes, in this one transaction."""
    position: int | None = 0
    while position is not None:
        position = rebuild_some(connection, position, 1000)


def rebuild_some(connection: sqlite3.Connection, after: int, limit: int) -> int | None:
    """Derive anew what follows from the next files behind file id `after`; where to go on, or None at the end."""
    rows = connection.execute(
        "SELECT file_id, path, kind, content FROM files WHERE file_id > ? ORDER BY file_id LIMIT ?", (after, limit)
    ).fetchall()
    for row in rows:
        refresh(connection, row["file_id"], row["path"], FileKind(row["kind"]), row["content"])
    return rows[-1]["file_id"] if len(rows) == limit else None


def _refresh_memory(connection: sqlite3.Connection, file_id: int, path: str, content: bytes) -> None:
    _remove_memory(connection, file_id)
    parsed = text_format.read(content)
    if parsed.adoptable:
        problems.put(connection, file_id, Code.NO_ID, "This file has no id yet; it gets one when it is taken in.")
        return
    if parsed.problem is not None:
        problems.put(connection, file_id, Code.READ_ONLY, parsed.problem)
    _insert_memory(connection, file_id, path, parsed)
    if parsed.id is not None:
        _settle_id(connection, parsed.id)
    if _postponed.get():
        connection.execute("INSERT OR IGNORE INTO search_later (file_id) VALUES (?)", (file_id,))
    else:
        search_index.refresh(connection, file_id)


def _insert_memory(connection: sqlite3.Connection, file_id: int, path: str, parsed: text_format.ParsedFile) -> None:
    created = parsed.created or parsed.updated or paths.date_of(path) or EPOCH
    connection.execute(
        "INSERT INTO memories (file_id, id, written_id, category, title, body, created, updated, project_id,"
        " project_key, project_name, priority, expires_at, related_to, tags, read_only)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            file_id,
            _free_id(connection, parsed.id or "", path),
            parsed.id,
            parsed.category or paths.category_of(path),
            parsed.title,
            parsed.body,
            to_text(created),
            to_text(parsed.updated or created),
            parsed.project_id,
            project.key_of(parsed.project_id) if parsed.project_id else None,
            parsed.project_name,
            parsed.priority or "normal",
            to_text(parsed.expires_at) if parsed.expires_at else None,
            _json(parsed.related_to),
            _json(parsed.tags),
            parsed.problem,
        ),
    )
    _insert_tags(connection, [(file_id, tag) for tag in parsed.tags])
    connection.executemany(
        "INSERT OR IGNORE INTO memory_links (file_id, target_id) VALUES (?, ?)",
        [(file_id, target) for target in parsed.related_to if target != parsed.id],
    )


def _insert_tags(connection: sqlite3.Connection, tags: Sequence[tuple[int, str]]) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO memory_tags (file_id, tag_key) VALUES (?, ?)",
        [(file_id, tag_key(tag)) for file_id, tag in tags],
    )


def _json(values: Sequence[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False)


def _remove_memory(connection: sqlite3.Connection, file_id: int) -> None:
    row = connection.execute("SELECT written_id FROM memories WHERE file_id = ?", (file_id,)).fetchone()
    if row is None:
        return
    search_index.remove(connection, file_id)
    connection.execute("DELETE FROM memories WHERE file_id = ?", (file_id,))
    if row["written_id"] is not None:
        _settle_id(connection, row["written_id"])


def _settle_id(connection: sqlite3.Connection, written_id: str) -> None:
    """Let the right one of all files that carry this id have it, and derive the ids of the others."""
    rows = connection.execute(
        "SELECT m.file_id, m.id, f.path FROM memories m JOIN files f USING (file_id) WHERE m.written_id = ?",
        (written_id,),
    ).fetchall()
    if not rows or (len(rows) == 1 and rows[0]["id"] == written_id):
        return
    keeper, *others = sorted(rows, key=lambda row: (*_claim(written_id, row["path"]), row["file_id"]))
    for row in others:  # nobody's id stands in the way of anybody else's
        _set_id(connection, row["file_id"], f"\n{row['file_id']}")
    _set_id(connection, keeper["file_id"], written_id)
    problems.clear(connection, keeper["file_id"], Code.DUPLICATE_ID)
    for row in others:
        _set_id(connection, row["file_id"], _free_id(connection, written_id, row["path"]))
        message = f"Two files carry the id {written_id}; the other one is {keeper['path']}."
        problems.put(connection, row["file_id"], Code.DUPLICATE_ID, message)


def _claim(written_id: str, path: str) -> tuple[bool, int, str]:
    # Our own file names hold the id; sync clients and people make copies by lengthening a name.
    named_for_it = written_id[:8].lower() in path.rsplit("/", 1)[-1].lower()
    return (not named_for_it, len(path), path)


def _free_id(connection: sqlite3.Connection, written_id: str, path: str) -> str:
    derived = written_id
    while not derived or connection.execute("SELECT 1 FROM memories WHERE id = ?", (derived,)).fetchone():
        derived = paths.derived_id(derived, path)
    return derived


def _set_id(connection: sqlite3.Connection, file_id: int, memory_id: str) -> None:
    # What a file says beats what was derived for another one, however unlikely that they meet.
    holder = connection.execute(
        "SELECT m.file_id, f.path FROM memories m JOIN files f USING (file_id) WHERE m.id = ? AND m.file_id <> ?",
        (memory_id, file_id),
    ).fetchone()
    if holder is not None:
        _set_id(connection, holder["file_id"], _free_id(connection, memory_id, holder["path"]))
    connection.execute("UPDATE memories SET id = ? WHERE file_id = ?", (memory_id, file_id))


# Kinds without an entry are kept as bytes only. A kind that gets tables of its own adds its line here.
INDEXERS: dict[FileKind, Indexer] = {
    FileKind.MEMORY: Indexer(_refresh_memory, _remove_memory),
    FileKind.CONFLICT: Indexer(conflicts.refresh, conflicts.remove),
    FileKind.DOCUMENT: Indexer(document_index.refresh, document_index.remove),
    FileKind.PATTERN: Indexer(pattern_index.refresh, pattern_index.remove),
}
