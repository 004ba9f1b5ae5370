"""Keeps the search tables in step with the table `memories`: the one code path of writing and of rebuilding."""

import json
import sqlite3

from memory_cache.search import text

_GIST_WORDS = 60


def refresh(connection: sqlite3.Connection, file_id: int) -> None:
    """Index the memory of this file anew; its row in `memories` is written. Without such a row: `remove`."""
    row = connection.execute(
        "SELECT title, body, category, tags, project_name FROM memories WHERE file_id = ?", (file_id,)
    ).fetchone()
    remove(connection, file_id)
    if row is None:
        return
    title, body, category, tags, project_name = row
    connection.execute(
        "INSERT INTO search_text (rowid, title, tags, gist, body) VALUES (?, ?, ?, ?, ?)",
        (file_id, text.index_text(title), _labels(category, tags, project_name), *_body(body)),
    )


def remove(connection: sqlite3.Connection, file_id: int) -> None:
    """Take the memory of this file out of the search; nothing happens when it is not in it."""
    connection.execute("DELETE FROM search_text WHERE rowid = ?", (file_id,))


def _body(body: str) -> tuple[str, str]:
    words = text.index_text(body).split(" ")
    return " ".join(words[:_GIST_WORDS]), " ".join(words)


def _labels(category: str, tags_json: str, project_name: str | None) -> str:
    return text.index_text(" ".join((*json.loads(tags_json), category, project_name or "")))
