"""What programs are given of a memory and what belongs to it, as JSON: by `--json` and by the dashboard.

The names are stable: as in the front matter, a field that is not set is absent, and more fields may come.
"""

from typing import TYPE_CHECKING, Any

from memory_cache.clock import to_text
from memory_cache.exporting import as_json
from memory_cache.models import Conflict, Memory, Revision, TrashEntry

if TYPE_CHECKING:
    from memory_cache.documents import Document
    from memory_cache.patterns import Pattern


def memory_json(memory: Memory) -> dict[str, Any]:
    """A memory with its text; `readOnly` says why a file is never rewritten."""
    shown = as_json(memory)
    return {**shown, "readOnly": memory.read_only} if memory.read_only else shown


def revision_json(revision: Revision) -> dict[str, Any]:
    """An earlier text of a memory."""
    return {
        "revision": revision.revision,
        "memory_id": revision.memory_id,
        "title": revision.title,
        "content": revision.content,
        "replacedAt": to_text(revision.replaced_at),
        "reason": revision.reason,
    }


def trash_json(entry: TrashEntry) -> dict[str, Any]:
    """A memory in the trash."""
    return {
        "id": entry.id,
        "title": entry.title,
        "category": entry.category,
        "content": entry.content,
        "deletedAt": to_text(entry.deleted_at),
        "reason": entry.reason,
    }


def conflict_json(conflict: Conflict) -> dict[str, Any]:
    """An open conflict with both versions."""
    return {
        "id": conflict.id,
        "memory_id": conflict.memory_id,
        "title": conflict.title,
        "mine": conflict.mine,
        "theirs": conflict.theirs,
        "base": conflict.base,
        "device": conflict.device,
        "at": to_text(conflict.at),
    }


def document_json(document: "Document") -> dict[str, Any]:
    """A document that a tool fetched, without its content."""
    shown = {
        "id": document.id,
        "title": document.title,
        "type": document.type,
        "source": document.source,
        "sourceTool": document.source_tool,
        "projects": list(document.projects),
        "created": to_text(document.created),
        "updated": to_text(document.updated),
        "bytes": document.bytes,
        "accessCount": document.access_count,
        "lastAccessed": to_text(document.last_accessed) if document.last_accessed else None,
        "metadata": document.metadata or None,
        "synced": document.synced,
    }
    return {name: value for name, value in shown.items() if value is not None}


def pattern_json(pattern: "Pattern") -> dict[str, Any]:
    """A way of working that was seen again."""
    shown = {
        "id": pattern.id,
        "description": pattern.description,
        "category": pattern.category,
        "projectId": pattern.project_id,
        "count": pattern.count,
        "devices": pattern.devices,
        "created": to_text(pattern.created),
        "lastSeen": to_text(pattern.last_seen),
        "examples": list(pattern.examples),
        "mature": pattern.mature,
        "skillAt": to_text(pattern.skill_at) if pattern.skill_at else None,
    }
    return {name: value for name, value in shown.items() if value is not None}
