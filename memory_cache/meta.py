"""Small values of this device, by key."""

import sqlite3


def get(connection: sqlite3.Connection, key: str) -> str | None:
    """The value, or None."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def put(connection: sqlite3.Connection, key: str, value: str) -> None:
    """Set the value."""
    connection.execute(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, value),
    )


def delete(connection: sqlite3.Connection, key: str) -> None:
    """Remove the value, if there is one."""
    connection.execute("DELETE FROM meta WHERE key = ?", (key,))
