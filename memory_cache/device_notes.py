"""The notes that devices leave in the storage (`devices/<device id>.json`), as far as they can be read."""

import json
import sqlite3
from datetime import datetime

from memory_cache.clock import EPOCH, from_text
from memory_cache.models import Record


class DeviceNote(Record):
    """What a device last told of itself. `last_round`: the epoch when it did not say."""

    id: str
    name: str
    version: str
    last_round: datetime
    pending: int
    conflicts: int


def listed(connection: sqlite3.Connection) -> list[DeviceNote]:
    """All devices, the one that synced last first."""
    rows = connection.execute("SELECT path, content FROM files WHERE kind = 'device' AND content IS NOT NULL")
    notes = [note for row in rows if (note := _note(row["path"], bytes(row["content"]))) is not None]
    return sorted(notes, key=lambda note: (note.last_round, note.id), reverse=True)


def _note(path: str, content: bytes) -> DeviceNote | None:
    try:
        fields = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    return DeviceNote(
        id=str(fields.get("id") or path.rsplit("/", 1)[-1].removesuffix(".json")),
        name=str(fields.get("name") or ""),
        version=str(fields.get("version") or ""),
        last_round=_moment(fields.get("last_round")),
        pending=_count(fields.get("pending")),
        conflicts=_count(fields.get("conflicts")),
    )


def _moment(value: object) -> datetime:
    try:
        moment = from_text(str(value))
    except ValueError:
        return EPOCH
    return moment if moment.tzinfo else EPOCH


def _count(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0
