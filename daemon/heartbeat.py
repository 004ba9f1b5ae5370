"""The note that each device leaves in the storage: `devices/<device id>.json`.

It lets every machine tell which one lags, and it is what tells an emptied storage from one whose last memory
was forgotten. Every write of it wakes all other devices, so it is rare: four times a day when nothing happens.
"""

import json
import sqlite3
from datetime import datetime, timedelta
from typing import Any

from daemon.round_context import Device
from memory_cache import conflicts, files
from memory_cache.clock import from_text, to_text
from memory_cache.revisions import Cause

WHILE_ACTIVE = timedelta(minutes=15)
WHILE_IDLE = timedelta(hours=6)


def beat(connection: sqlite3.Connection, device: Device, now: datetime, *, pending: int, active: bool) -> bool:
    """Write this device's note when one is due; an ordinary local change, to be uploaded. Returns whether it was.

    `pending`: files that the last round could not bring in step; `active`: this device took part in a change.
    """
    row = connection.execute(
        "SELECT file_id, content FROM files WHERE path = ? ORDER BY item_id IS NULL LIMIT 1", (device.path,)
    ).fetchone()
    note = {
        "id": device.id,
        "name": device.name,
        "version": device.version,
        "last_round": to_text(now),
        "pending": pending,
        "conflicts": conflicts.count(connection),
    }
    data = (json.dumps(note, indent=2, ensure_ascii=False) + "\n").encode()
    if row is None:
        files.add(connection, device.path, data)
        return True
    if not _due(_decoded(row["content"]), note, now, active=active):
        return False
    files.write(connection, row["file_id"], data, cause=Cause("heartbeat", now))
    return True


def _due(last: dict[str, Any], note: dict[str, Any], now: datetime, *, active: bool) -> bool:
    for field in ("id", "name", "version", "conflicts"):
        if last.get(field) != note[field]:
            return True
    if bool(last.get("pending")) != bool(note["pending"]):
        return True
    try:
        since = now - from_text(str(last["last_round"]))
    except (KeyError, ValueError, TypeError):
        return True
    # A clock that was ahead must not silence the note until it is reached again.
    return not -WHILE_IDLE < since < (WHILE_ACTIVE if active else WHILE_IDLE)


def _decoded(content: bytes | None) -> dict[str, Any]:
    try:
        note = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        return {}
    return note if isinstance(note, dict) else {}


def devices(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """The notes of all devices, by name; what no device wrote is left out."""
    rows = connection.execute("SELECT content FROM files WHERE kind = 'device' AND content IS NOT NULL")
    notes = [_decoded(row["content"]) for row in rows]
    return sorted((note for note in notes if note.get("id")), key=lambda note: (str(note.get("name")), str(note["id"])))
