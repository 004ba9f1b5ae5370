"""claude-mem's SQLite database, of any version: observations, session summaries, standing rules, and documents.

The database is opened for reading only. What was typed (prompts) is no memory and stays behind.
"""

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from memory_cache.clock import EPOCH
from memory_cache.document_file import TYPES, DocumentFile
from memory_cache.errors import InvalidInput
from memory_cache.importing.reading import moment, one_line, words
from memory_cache.importing.records import DocumentRecord, Item, Note, Skipped, id_of

KIND = "claude-mem"
FILE = "claude-mem.db"
HEADER = b"SQLite format 3\x00"
_TABLES = frozenset(
    ["observations", "session_summaries", "documents", "directives", "memories", "overviews", "user_prompts"]
)
_OWN = frozenset(["observations", "session_summaries", "sdk_sessions", "directives", "overviews"])
_CATEGORIES = {"decision": "decision", "bugfix": "learning", "discovery": "learning"}
_SECTIONS = ("investigated", "learned", "completed", "next_steps", "notes")

_Row = Mapping[str, Any]


def is_database(path: Path) -> bool:
    """Whether the file is a SQLite database with tables of claude-mem."""
    try:
        with _opened(path) as connection:
            return bool(_tables(connection) & _OWN)
    except (sqlite3.Error, OSError):
        return False


def read(path: Path, home: Path) -> Iterator[Item]:
    """Every row of the known tables. Raises: InvalidInput when it is no such database."""
    path = path / FILE if path.is_dir() else path
    try:
        with _opened(path) as connection:
            tables = _tables(connection)
            if not tables & _OWN:
                raise InvalidInput(f"{path.name} is a SQLite database, but not one of claude-mem.")
            for table in sorted(tables & _TABLES):
                yield from _read_table(connection, table)
    except (sqlite3.Error, OSError) as error:
        raise InvalidInput(f"{path.name} cannot be read as a SQLite database: {error}.") from None


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The database, read-only, without leaving a file beside it."""
    log, index = Path(f"{path}-wal"), Path(f"{path}-shm")
    if log.exists() and not index.exists():
        # What a crash left: SQLite would have to write here to read it.
        with tempfile.TemporaryDirectory(prefix="claude-memory-") as folder:
            copy = Path(folder, "copy")
            shutil.copyfile(path, copy)
            shutil.copyfile(log, f"{copy}-wal")
            with closing(_connected(copy, "mode=rw")) as connection:
                yield connection
        return
    # With a log, someone may be writing; without one, nobody has opened it in the mode that has one.
    with closing(_connected(path, "mode=ro" if log.exists() or not _keeps_log(path) else "immutable=1")) as connection:
        yield connection


def _keeps_log(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(20)[18:20] == b"\x02\x02"


def _connected(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=5)
    try:
        connection.row_factory = sqlite3.Row
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _tables(connection: sqlite3.Connection) -> set[str]:
    # Tables only: a view could be anything.
    return {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _read_table(connection: sqlite3.Connection, table: str) -> Iterator[Item]:
    if table == "user_prompts":
        count = connection.execute("SELECT count(*) FROM user_prompts").fetchone()[0]
        if count:
            yield Skipped(f"user_prompts, {count} rows", "What was typed is no memory.", expected=True)
        return
    read_row = {
        "observations": _observation, "memories": _observation, "session_summaries": _summary,
        "overviews": _overview, "directives": _directive, "documents": _document,
    }[table]  # fmt: skip
    rows = connection.execute(f'SELECT * FROM "{table}"')
    number = 0
    while True:
        number += 1
        try:
            row = rows.fetchone()
        except sqlite3.Error as error:
            yield Skipped(f"{table}, from row {number}", f"The database is damaged there: {error}.")
            return
        if row is None:
            return
        named = {key: row[key] for key in row.keys()}  # noqa: SIM118 - a Row iterates over its values
        yield read_row(named, f"{table} {named.get('id', number)}", table)


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _origin(row: _Row, table: str) -> str:
    """What makes a row the same one in every copy of the database, and no other in any other database."""
    sessions = (_text(row.get(key)) for key in ("memory_session_id", "sdk_session_id", "session_id"))
    session = next(filter(None, sessions), "")
    return f"{table}\n{session}\n{row.get('id')}\n{row.get('created_at_epoch') or row.get('created_at')}"


def _place(row: _Row, table: str) -> dict[str, Any]:
    created = moment(row.get("created_at_epoch")) or moment(row.get("created_at"))
    updated = moment(row.get("updated_at_epoch")) or moment(row.get("updated_at")) or created
    project = _text(row.get("merged_into_project")) or _text(row.get("project")) or None
    origin = _origin(row, table)
    return {
        "origin": origin, "id": id_of(KIND, origin), "created": created, "updated": updated,
        "project_id": project, "project_name": project,
    }  # fmt: skip


def _bullets(value: Any) -> str:
    if isinstance(value, str) and not value.lstrip().startswith("["):
        return value.strip()
    return "\n".join(f"- {item}" for item in words(value))


def _files(row: _Row, **names: str) -> str:
    named = {title: ", ".join(words(row.get(column))) for column, title in names.items()}
    return "\n".join(f"{title}: {listed}" for title, listed in named.items() if listed)


def _observation(row: _Row, where: str, table: str) -> Item:
    title = _text(row.get("title"))
    text = _text(row.get("narrative")) or _text(row.get("text"))
    parts = [
        _text(row.get("subtitle")), text, _bullets(row.get("facts")),
        _files(row, files_read="Files read", files_modified="Files modified", files_touched="Files"),
    ]  # fmt: skip
    kind = _text(row.get("type")).lower()
    category = _CATEGORIES.get(kind, "project" if kind in ("feature", "refactor", "change") else None)
    tags = (*words(row.get("concepts")), *words(row.get("keywords")), *([kind] if kind and kind != category else []))
    return Note(
        where=f"{where}: {one_line(title or text, 60)}",
        title=title or None,
        body="\n\n".join(filter(None, parts)),
        category=category,
        tags=tags,
        **_place(row, table),
    )


def _summary(row: _Row, where: str, table: str) -> Item:
    request = _text(row.get("request"))
    parts = [request] if len(request) > 100 or "\n" in request else []
    for name in _SECTIONS:
        text = _text(row.get(name))
        if text:
            parts.append(f"## {name.replace('_', ' ').capitalize()}\n\n{text}")
    parts.append(_files(row, files_read="Files read", files_edited="Files edited"))
    body = "\n\n".join(filter(None, parts))
    return Note(
        where=f"{where}: {one_line(request, 60)}",
        title=f"Session: {one_line(request)}" if request else "Session summary" if body else None,
        body=body,
        category="project",
        tags=("session-summary",),
        priority="low",
        **_place(row, table),
    )


def _overview(row: _Row, where: str, table: str) -> Item:
    content = _text(row.get("content"))
    return Note(
        where=f"{where}: {one_line(content, 60)}", body=content, category="project", tags=("session-summary",),
        priority="low", **_place(row, table),
    )  # fmt: skip


def _directive(row: _Row, where: str, table: str) -> Item:
    content = _text(row.get("content"))
    where = f"{where}: {one_line(content, 60)}"
    status = _text(row.get("status")) or "active"
    if status != "active":
        return Skipped(where, f"It is {status} there.", expected=True)
    place = _place(row, table)
    if _text(row.get("scope")) == "global":
        place |= {"project_id": None, "project_name": None}
    return Note(where=where, body=content, category="preference", priority="high", **place)


def _document(row: _Row, where: str, table: str) -> Item:
    content = row.get("content")
    title = _text(row.get("title"))
    where = f"{where}: {one_line(title, 60)}"
    if not isinstance(content, str) or not content.strip():
        return Skipped(where, "It has no content.")
    kind = _text(row.get("type")).lower()
    created = moment(row.get("created_at_epoch")) or moment(row.get("created_at")) or moment(row.get("created"))
    updated = moment(row.get("updated_at_epoch")) or moment(row.get("updated_at"))
    project = _text(row.get("project"))
    document = DocumentFile(
        title=title, content=content, type=kind if kind in TYPES else "custom", source=_text(row.get("source")),
        source_tool=_text(row.get("source_tool")), created=created or EPOCH, updated=updated or created or EPOCH,
        projects=(project,) if project else (), metadata=_metadata(row.get("metadata")),
        memory_session_id=_text(row.get("memory_session_id")) or None,
    )  # fmt: skip
    last = moment(row.get("last_accessed_epoch")) or moment(row.get("last_accessed"))
    count = row.get("access_count")
    return DocumentRecord(where, document, count if isinstance(count, int) else 0, last)


def _metadata(value: Any) -> Mapping[str, Any] | None:
    try:
        found = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
