"""A memory as the JSON object that `--json`, resources and exports show; field names as in the front matter."""

from typing import Any

from memory_cache.clock import to_text
from memory_cache.models import Memory


def as_json(memory: Memory) -> dict[str, Any]:
    """The fields of a memory; those that are not set are left out."""
    fields: dict[str, Any] = {
        "id": memory.id,
        "title": memory.title,
        "category": memory.category,
        "tags": list(memory.tags),
        "content": memory.content,
        "created": to_text(memory.created),
        "updated": to_text(memory.updated),
        "projectId": memory.project_id,
        "projectName": memory.project_name,
        "priority": memory.priority,
        "expiresAt": to_text(memory.expires_at) if memory.expires_at else None,
        "relatedTo": list(memory.related_to) or None,
    }
    return {name: value for name, value in fields.items() if value is not None}
