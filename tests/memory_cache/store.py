"""What several tests of the store need: a database in memory's place, and files as people and tools write them."""

import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from memory_cache import database, text_format

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def new_connection() -> sqlite3.Connection:
    """A migrated cache that lives in memory only."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.deserialize(_migrated())
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


@cache
def _migrated() -> bytes:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    database.migrate(connection)
    image = connection.serialize()
    connection.close()
    return image


def memory_file(memory_id: str, body: str = "Text", **fields: Any) -> bytes:
    """The bytes of a memory's file."""
    values: Mapping[str, Any] = {
        "category": "learning",
        "tags": [],
        "created": NOW,
        "updated": NOW,
        **fields,
    }
    return text_format.render(id=memory_id, body=body, **values)


_DERIVED = {
    "memories": "file_id",
    "memory_tags": "file_id, tag_key",
    "memory_links": "file_id, target_id",
    "conflicts": "file_id",
    "problems": "file_id, code",
    "search_text": "rowid",
}


def derived(connection: sqlite3.Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Everything that follows from the bytes of the files."""
    return {
        table: [tuple(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY {order}")]
        for table, order in _DERIVED.items()
    }


class Clock:
    """A clock that a test sets; each look moves it on a little, as a real one would."""

    def __init__(self) -> None:
        self.time = NOW

    def __call__(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time

    def forward(self, **parts: float) -> None:
        self.time += timedelta(**parts)
