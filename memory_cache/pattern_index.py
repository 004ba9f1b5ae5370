"""Rows of a skill pattern, derived from its file by one code path."""

import sqlite3

from memory_cache.clock import to_text
from memory_cache.pattern_file import decode
from memory_cache.project import key_of


def refresh(connection: sqlite3.Connection, file_id: int, path: str, content: bytes) -> None:
    """Derive the pattern of this file anew."""
    remove(connection, file_id)
    pattern = decode(content)
    connection.execute(
        "INSERT INTO patterns (file_id, id, description, category, project_id, project_key, created, updated, skill_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            file_id,
            pattern.id,
            pattern.description,
            pattern.category,
            pattern.project_id,
            key_of(pattern.project_id) if pattern.project_id else None,
            to_text(pattern.created),
            to_text(pattern.updated),
            to_text(pattern.skill_at) if pattern.skill_at else None,
        ),
    )
    connection.executemany(
        "INSERT OR IGNORE INTO pattern_occurrences (file_id, occurrence_id, at, device, example)"
        " VALUES (?, ?, ?, ?, ?)",
        [(file_id, seen.id, to_text(seen.at), seen.device, seen.example) for seen in pattern.occurrences],
    )


def remove(connection: sqlite3.Connection, file_id: int) -> None:
    """The pattern of this file is no more."""
    connection.execute("DELETE FROM patterns WHERE file_id = ?", (file_id,))
