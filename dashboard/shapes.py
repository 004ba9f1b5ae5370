"""The JSON that the pages are given; names as everywhere else, in the front matter and in `--json`."""

import re
from typing import Any

from dashboard.editing import version_of_conflict
from memory_cache.clock import to_text
from memory_cache.documents import Document
from memory_cache.exporting import as_json
from memory_cache.models import Conflict, Memory, Revision, TrashEntry
from memory_cache.patterns import Pattern

_EXCERPT = 240
_MARKS = re.compile(r"\*\*|`+|(?<!\S)#{1,6} ")


def whole(memory: Memory) -> dict[str, Any]:
    """A memory with its text."""
    shown = {**as_json(memory), "path": memory.path}
    return {**shown, "readOnly": memory.read_only} if memory.read_only else shown


def brief(memory: Memory, passage: str = "") -> dict[str, Any]:
    """A memory in a list: some of its text instead of all."""
    shown = as_json(memory)
    del shown["content"]
    return {**shown, "excerpt": excerpt(passage or memory.content, memory.title)}


def excerpt(text: str, title: str) -> str:
    """The beginning of a text on one line, without its title and the marks of markdown."""
    flat = " ".join(text[: 4 * _EXCERPT].split())
    for start in (f"# {title}", title):
        flat = flat.removeprefix(start)
    return _MARKS.sub("", flat).strip()[:_EXCERPT]


def trashed(entry: TrashEntry) -> dict[str, Any]:
    """A memory in the trash."""
    return {
        "id": entry.id,
        "title": entry.title,
        "category": entry.category,
        "content": entry.content,
        "deletedAt": to_text(entry.deleted_at),
        "reason": entry.reason,
    }


def revision(found: Revision) -> dict[str, Any]:
    """An earlier text."""
    return {
        "revision": found.revision,
        "title": found.title,
        "content": found.content,
        "replacedAt": to_text(found.replaced_at),
        "reason": found.reason,
    }


def conflict(found: Conflict) -> dict[str, Any]:
    """Both versions of a memory, and where they come from."""
    return {
        "id": found.id,
        "memoryId": found.memory_id,
        "title": found.title,
        "mine": found.mine,
        "theirs": found.theirs,
        "base": found.base,
        "device": found.device,
        "at": to_text(found.at),
        "version": version_of_conflict(found),
    }


def document(found: Document, *, with_content: bool = False) -> dict[str, Any]:
    """A document that a tool fetched."""
    shown = {
        "id": found.id,
        "title": found.title,
        "type": found.type,
        "source": found.source,
        "sourceTool": found.source_tool,
        "projects": list(found.projects),
        "created": to_text(found.created),
        "updated": to_text(found.updated),
        "bytes": found.bytes,
        "accessCount": found.access_count,
        "synced": found.synced,
        "snippet": found.snippet,
    }
    return {**shown, "content": found.content} if with_content else shown


def pattern(found: Pattern) -> dict[str, Any]:
    """A way of working that was seen again."""
    return {
        "id": found.id,
        "description": found.description,
        "category": found.category,
        "projectId": found.project_id,
        "count": found.count,
        "devices": found.devices,
        "created": to_text(found.created),
        "lastSeen": to_text(found.last_seen),
        "examples": list(found.examples),
        "mature": found.mature,
        "skillAt": to_text(found.skill_at) if found.skill_at else None,
    }
