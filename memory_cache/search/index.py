"""Keeps the search tables in step with the table `memories`: the one code path of writing and of rebuilding."""

import json
import sqlite3

from memory_cache.search import embedding, features


def refresh(connection: sqlite3.Connection, file_id: int) -> None:
    """Index the memory of this file anew; its row in `memories` is written. Without such a row: `remove`."""
    row = connection.execute(
        "SELECT title, body, category, tags, project_name FROM memories WHERE file_id = ?", (file_id,)
    ).fetchone()
    features.remove(connection, file_id)
    if row is None:
        embedding.forget(connection, file_id)
        return
    title, body, category, tags, project_name = row
    labels = (*json.loads(tags), category, project_name or "")
    features.store(connection, file_id, features.of_memory(title, body, labels))
    embedding.embed_at_write(connection, file_id, body)


def remove(connection: sqlite3.Connection, file_id: int) -> None:
    """Take the memory of this file out of the search; nothing happens when it is not in it."""
    features.remove(connection, file_id)
    embedding.forget(connection, file_id)


def remove_many(connection: sqlite3.Connection, file_ids: str) -> None:
    """As `remove` for each of these (a JSON array)."""
    features.remove_many(connection, file_ids)
    embedding.forget_many(connection, file_ids)
