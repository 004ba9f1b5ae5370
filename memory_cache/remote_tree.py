"""The storage as last observed: items, cursor, enumeration. Observations, not queued work.

What a page of changes brought and the cursor behind it are stored in one transaction, so a killed
daemon goes on where it was. What has to be done follows from comparing this tree with `files`.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memory_cache import files, meta
from memory_cache.files import FileRecord


class RemoteState(StrEnum):
    """`absent`: a complete enumeration did not name the item, to be confirmed; `removed`: the storage said so."""

    PRESENT = "present"
    ABSENT = "absent"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class RemoteItem:
    """One observed item; the fields are those of `storage_backends.base.Item`, and its state."""

    item_id: str
    path: str
    version: str
    size: int
    modified: float | None
    state: RemoteState = RemoteState.PRESENT


@dataclass(frozen=True, slots=True)
class Divergence:
    """A file and an item that are not in step; one of the two may be missing."""

    file: FileRecord | None
    remote: RemoteItem | None


@dataclass(frozen=True, slots=True)
class Position:
    """Where the stream of changes stands.

    `enumerated`: at least one enumeration of this scope is complete. Before that nothing may be
    uploaded, and absence means nothing.
    """

    scope: str | None
    cursor: str | None
    generation: int
    enumerating: bool
    enumerated: bool


_SCOPE, _CURSOR, _GENERATION = "remote.scope", "remote.cursor", "remote.generation"
_ENUMERATING, _ENUMERATED = "remote.enumerating", "remote.enumerated"


def position(connection: sqlite3.Connection) -> Position:
    """Where the stream of changes stands."""
    return Position(
        scope=meta.get(connection, _SCOPE),
        cursor=meta.get(connection, _CURSOR),
        generation=int(meta.get(connection, _GENERATION) or 0),
        enumerating=meta.get(connection, _ENUMERATING) == "1",
        enumerated=meta.get(connection, _ENUMERATED) == "1",
    )


def enter_scope(connection: sqlite3.Connection, scope: str) -> bool:
    """Whether `scope` is another store than before; if so all knowledge of the old one is dropped,
    and every local file counts as new. Deletes no local file."""
    known = meta.get(connection, _SCOPE)
    if known == scope:
        return False
    connection.execute("DELETE FROM remote_items")
    for key in (_CURSOR, _ENUMERATING, _ENUMERATED):
        meta.delete(connection, key)
    if known is not None:
        files.clear_every_base(connection)
    meta.put(connection, _SCOPE, scope)
    return True


def begin_enumeration(connection: sqlite3.Connection) -> None:
    """Start over from the first page; what is known stays until the enumeration is complete."""
    meta.delete(connection, _CURSOR)
    meta.put(connection, _ENUMERATING, "1")
    meta.put(connection, _GENERATION, str(position(connection).generation + 1))


def observe(
    connection: sqlite3.Connection, items: Iterable[RemoteItem], removed: Sequence[str], cursor: str, *, more: bool
) -> None:
    """Store one page and its cursor. With the last page of an enumeration, items that no page named turn `absent`."""
    where = position(connection)
    connection.executemany(_STORE, [_values(item, where.generation) for item in items])
    connection.executemany(
        "UPDATE remote_items SET state = 'removed' WHERE item_id = ?", [(item_id,) for item_id in removed]
    )
    meta.put(connection, _CURSOR, cursor)
    if where.enumerating and not more:
        connection.execute(
            "UPDATE remote_items SET state = 'absent' WHERE generation < ? AND state = 'present'", (where.generation,)
        )
        meta.delete(connection, _ENUMERATING)
        meta.put(connection, _ENUMERATED, "1")


def store(connection: sqlite3.Connection, item: RemoteItem) -> None:
    """Record one item as observed just now (a stat, the answer to our own write)."""
    connection.execute(_STORE, _values(item, position(connection).generation))


_STORE = (
    "INSERT INTO remote_items (item_id, path, version, size, modified, generation, state)"
    " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (item_id) DO UPDATE SET path = excluded.path,"
    " version = excluded.version, size = excluded.size, modified = excluded.modified,"
    " generation = excluded.generation, state = excluded.state"
)


def _values(item: RemoteItem, generation: int) -> tuple[object, ...]:
    return (item.item_id, item.path, item.version, item.size, item.modified, generation, item.state)


def forget(connection: sqlite3.Connection, item_id: str) -> None:
    """The item is gone and dealt with."""
    connection.execute("DELETE FROM remote_items WHERE item_id = ?", (item_id,))


def count_present(connection: sqlite3.Connection) -> int:
    """How many items the storage was last seen to hold."""
    return int(connection.execute("SELECT count(*) FROM remote_items WHERE state = 'present'").fetchone()[0])


_DIVERGENT = """
SELECT f.file_id, r.item_id AS r_item_id FROM files f LEFT JOIN remote_items r ON r.item_id = f.item_id
WHERE f.item_id IS NULL OR r.item_id IS NULL OR r.state <> 'present' OR r.version <> f.base_version
   OR r.path <> f.path OR f.content_hash IS NOT f.base_hash
UNION ALL
SELECT NULL, r.item_id FROM remote_items r LEFT JOIN files f ON f.item_id = r.item_id WHERE f.file_id IS NULL
"""


def divergent(connection: sqlite3.Connection) -> list[tuple[int | None, str | None]]:
    """(file id, item id) of every pair that is not in step; nothing else is looked at in a round."""
    return [(row[0], row[1]) for row in connection.execute(_DIVERGENT)]


def divergence(connection: sqlite3.Connection, file_id: int | None, item_id: str | None) -> Divergence:
    """Both sides of one pair as they stand now."""
    file = files.get(connection, file_id) if file_id is not None else None
    if file is None and item_id is not None:
        file = files.by_item(connection, item_id)
    row = connection.execute("SELECT * FROM remote_items WHERE item_id = ?", (item_id,)).fetchone()
    remote = (
        RemoteItem(
            item_id=row["item_id"],
            path=row["path"],
            version=row["version"],
            size=row["size"],
            modified=row["modified"],
            state=RemoteState(row["state"]),
        )
        if row
        else None
    )
    return Divergence(file, remote)
