"""Deleting many memories at once leaves exactly what deleting them one by one leaves."""

import sqlite3
from typing import Any

from memory_cache import conflicts, files, trash
from memory_cache.conflicts import ConflictRecord
from memory_cache.revisions import Cause

from .store import NOW, derived, memory_file, new_connection

_IDS = [f"{number:08d}-0000-4000-8000-000000000000" for number in range(8)]
_BROKEN = b"---\nid: 00000007-0000-4000-8000-000000000000\ntags: [\n---\n# Broken\n"


def furnished() -> sqlite3.Connection:
    """Files never sent, in step, edited, sent and unanswered, linked, disputed, broken, two with one id."""
    connection = new_connection()

    def path(number: int) -> str:
        return f"memories/learning/2026-03-01-note-{number:08d}.md"

    for number in range(7):
        data = memory_file(_IDS[number], f"# Note {number}\n\nwords of {number}", tags=["a", f"t{number}"])
        if number % 2:
            files.take_remote(connection, item_id=f"i{number}", path=path(number), version="1", data=data, file_id=None)
        else:
            files.add(connection, path(number), data)
    rows = {row["path"]: row["file_id"] for row in connection.execute("SELECT path, file_id FROM files")}
    edited = memory_file(_IDS[1], "# Edited", tags=["b"], related_to=[_IDS[2], _IDS[3]])
    files.write(connection, rows[path(1)], edited)
    files.remember_sent(connection, rows[path(2)], b"on its way")
    files.add(connection, "memories/learning/copy.md", memory_file(_IDS[3], "# Note 3\n\nwords of its copy"))
    files.add(connection, path(7), _BROKEN)
    record = ConflictRecord(_IDS[4], path(4), "laptop", NOW, None, b"# Theirs\n")
    files.add(connection, conflicts.path_of(record), conflicts.encode(record))
    trash.keep(connection, rows[path(5)], Cause("earlier", NOW))
    return connection


def everything(connection: sqlite3.Connection) -> dict[str, Any]:
    """All that a deletion can touch; but not in which order things went."""
    found: dict[str, Any] = derived(connection)
    for table, columns in {
        "files": "file_id, path, kind, content, content_hash, local_version, item_id, base_content, sent_hash",
        "trash": "memory_id, path, title, category, content, content_hash, deleted_at, reason, change_id",
        "revisions": "memory_id, content, replaced_by, reason",
        "search_vectors": "file_id, model, vector",
        "search_features": "file_id, terms",
        "search_totals": "memories, length, pieces",
    }.items():
        found[table] = sorted(map(repr, map(tuple, connection.execute(f"SELECT {columns} FROM {table}"))))
    return found


def test_many_deleted_at_once_leave_what_one_by_one_leaves() -> None:
    one_by_one, at_once = furnished(), furnished()
    chosen = [row[0] for row in at_once.execute("SELECT file_id FROM memories ORDER BY updated, file_id DESC")]
    assert len(chosen) == 9
    chosen.pop(3)
    cause = Cause("batch_delete", NOW, 5)
    for file_id in chosen:
        trash.move_in(one_by_one, file_id, cause)
    trash.move_in_many(at_once, chosen, cause)
    assert everything(at_once) == everything(one_by_one)
    changes = [row[0] for row in at_once.execute("SELECT change FROM search_vectors")]
    assert len(set(changes)) == len(changes)


def test_those_deleted_first_lie_lowest_in_the_trash() -> None:
    connection = furnished()
    ids = dict(
        connection.execute("SELECT file_id, id FROM memories WHERE id IN (?, ?, ?)", (_IDS[6], _IDS[0], _IDS[5]))
    )
    chosen = sorted(ids, key=lambda file_id: ids[file_id], reverse=True)
    trash.move_in_many(connection, chosen, Cause("batch_delete", NOW, 5))
    kept = connection.execute("SELECT memory_id FROM trash WHERE change_id = 5 ORDER BY trash_id")
    assert [row[0] for row in kept] == [_IDS[6], _IDS[5], _IDS[0]]
