"""What is wrong with a file, for `doctor` and `status`; kept per file and code."""

import sqlite3
from enum import StrEnum

from memory_cache.models import Problem


class Code(StrEnum):
    """The codes that indexing sets anew with every write of a file. Other rooms use codes of their own."""

    READ_ONLY = "read-only"
    NO_ID = "no-id"
    DUPLICATE_ID = "duplicate-id"
    UNREADABLE = "unreadable"


def put(connection: sqlite3.Connection, file_id: int, code: str, message: str) -> None:
    """Note the problem; one with the same code is replaced."""
    connection.execute(
        "INSERT INTO problems (file_id, code, message) VALUES (?, ?, ?)"
        " ON CONFLICT (file_id, code) DO UPDATE SET message = excluded.message",
        (file_id, code, message),
    )


def clear(connection: sqlite3.Connection, file_id: int, *codes: str) -> None:
    """The file no longer has these problems."""
    marks = ", ".join("?" * len(codes))
    # The plus: one look for the file's few problems, not one for each code.
    connection.execute(f"DELETE FROM problems WHERE file_id = ? AND +code IN ({marks})", (file_id, *codes))


def listed(connection: sqlite3.Connection) -> list[Problem]:
    """All open problems, by path. That a file waits for its id is work in progress, and the last to be told."""
    rows = connection.execute(
        "SELECT f.path, p.code, p.message FROM problems p JOIN files f USING (file_id)"
        " ORDER BY p.code = 'no-id', f.path, p.code"
    )
    return [Problem(path=row["path"], code=row["code"], message=row["message"]) for row in rows]


def count(connection: sqlite3.Connection) -> int:
    """How many there are, without files that only wait for their id."""
    return int(connection.execute("SELECT count(*) FROM problems WHERE code <> 'no-id'").fetchone()[0])
