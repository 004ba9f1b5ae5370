"""The older server's `index.json`: kept current where one is found, never made, never trusted over the files.

It is derived from the memories alone, in the order of their paths, so that all devices that hold the same
memories write the same bytes. Should they differ all the same (two versions of this program), they do not
answer each other: what a device has written once it writes again only when its memories change, or hours later.
"""

import json
import sqlite3
from datetime import datetime, timedelta
from typing import Any

from memory_cache import files, memories, meta, remote_tree
from memory_cache.clock import from_text, to_text
from memory_cache.hashing import content_hash
from memory_cache.models import Memory
from memory_cache.revisions import Cause

# Twenty memories in a row are one rewrite of the index, not twenty.
QUIET = timedelta(seconds=30)
# How long another writer's different view of the same memories is left alone.
PATIENCE = timedelta(hours=6)
_SNIPPET = 150
_WRITTEN = "index_json.written"


def refresh(connection: sqlite3.Connection, now: datetime) -> float | None:
    """Rewrite the index when it does not say what the memories say and was not written just now.

    Returns the seconds until it may be written, 0 when it was, None when there is nothing to do.
    """
    row = connection.execute(
        "SELECT file_id, item_id, content FROM files WHERE kind = 'index' AND content IS NOT NULL"
        " AND (base_hash IS NULL OR base_hash = content_hash) ORDER BY path LIMIT 1"
    ).fetchone()
    if row is None:
        return None
    # A file that names no id has one on this device alone; it is left out.
    rows = connection.execute("SELECT id FROM memories WHERE id = written_id")
    named = {entry["id"] for entry in rows}
    entries = [_entry(memory) for memory in memories.all_of(connection) if memory.id in named]
    entries.sort(key=lambda entry: str(entry["path"]))
    listed = _listed(row["content"])
    data = json.dumps({"version": 1, "memories": entries}, indent=2, ensure_ascii=False).encode()
    if listed == entries or (listed is not None and _written_lately(connection, data, now)):
        return None
    item = remote_tree.divergence(connection, row["file_id"], row["item_id"]).remote
    age = now.timestamp() - item.modified if item is not None and item.modified is not None else None
    if age is not None and 0 <= age < QUIET.total_seconds():
        return QUIET.total_seconds() - age
    meta.put(connection, _WRITTEN, f"{content_hash(data)} {to_text(now)}")
    files.write(connection, row["file_id"], data, cause=Cause("index", now))
    return 0.0


def _written_lately(connection: sqlite3.Connection, data: bytes, now: datetime) -> bool:
    digest, _, at = (meta.get(connection, _WRITTEN) or "").partition(" ")
    return digest == content_hash(data) and timedelta() <= now - from_text(at) < PATIENCE


def _entry(memory: Memory) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": memory.id,
        "category": memory.category,
        "tags": list(memory.tags),
        "title": memory.title,
        "path": memory.path,
        "created": to_text(memory.created),
        "updated": to_text(memory.updated),
        "snippet": _snippet(memory.content),
        "projectId": memory.project_id,
        "projectName": memory.project_name,
        "priority": memory.priority if memory.priority != "normal" else None,
        "expiresAt": to_text(memory.expires_at) if memory.expires_at else None,
        "relatedTo": list(memory.related_to) or None,
    }
    return {key: value for key, value in entry.items() if value is not None}


def _snippet(body: str) -> str:
    lines = body.split("\n")
    text = " ".join(lines[1:] if lines[0].startswith("#") else lines).strip()
    return text[:_SNIPPET] + ("..." if len(text) > _SNIPPET else "")


def _listed(content: bytes) -> list[Any] | None:
    """The entries of an index, in the order of their paths; None when it is no index."""
    try:
        found = json.loads(content.decode("utf-8-sig"))
        return sorted(found["memories"], key=lambda entry: str(entry["path"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
