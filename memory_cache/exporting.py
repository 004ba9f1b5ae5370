"""A memory as the JSON object that `--json`, resources and exports show; field names as in the front matter.

An export is whole: `frontMatter` carries the entries of a file's front matter that are not ours, as it spells
them. Both forms, JSON and markdown, can be imported again (`memory_cache.importing.own_export`).
"""

import re
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from memory_cache import memories, text_format
from memory_cache.clock import to_text
from memory_cache.models import Memory
from memory_cache.text_format_values import TIMES, spell

HEADING = "# Memories"
OTHER_ENTRIES = "frontMatter"

_KEY = re.compile(rb"^[ \t]*+([^\s#\-][^:\n]*+):", re.MULTILINE)
_OURS = frozenset(key.encode() for key in text_format.KEYS)


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


def whole(connection: sqlite3.Connection, category: str | None = None) -> list[dict[str, Any]]:
    """Every memory, or every one of a category, in the order of their creation, with all that its file says."""
    rows = connection.execute(
        f"SELECT {memories.COLUMNS}, f.content FROM memories m JOIN files f ON f.file_id = m.file_id"
        " WHERE m.category = coalesce(?, m.category) ORDER BY m.created, m.id",
        (category,),
    )
    exported = []
    for row in rows:
        fields = as_json(memories.memory_of(row))
        others = other_entries(row["content"])
        exported.append({**fields, OTHER_ENTRIES: others} if others else fields)
    return exported


def other_entries(content: bytes) -> str:
    """The front matter entries of a file that are not ours, line by line as it has them; usually empty."""
    block = content[: max(content.find(b"\n---", 3), 0)]
    if all(match[1].strip() in _OURS for match in _KEY.finditer(block)):
        return ""  # reading YAML takes a millisecond that few files need
    return "".join(source for key, source in text_format.sources(content).items() if key not in text_format.KEYS)


def as_markdown(exported: Iterable[Mapping[str, Any]]) -> str:
    """Memories as one document: each under its title, its facts as a list, its text in a fence that it cannot close."""
    return "\n\n".join([HEADING, *map(_section, exported)]) + "\n"


def _section(memory: Mapping[str, Any]) -> str:
    content = memory["content"]
    longest = max((len(run) for run in re.findall(r"`{3,}", content)), default=2)
    fence = "`" * (longest + 1)
    facts = [f"- {key}: {_spelled(key, memory[key])}" for key in text_format.KEYS if key in memory]
    others = memory.get(OTHER_ENTRIES, "")
    # Two characters before every line: what is behind them is the front matter again.
    facts += [
        f"- {line}" if line[:1].strip() else f"  {line}" for line in others.removesuffix("\n").split("\n") if others
    ]
    title = "".join(character if character.isprintable() else " " for character in memory["title"])
    return "\n".join([f"## {title}", "", *facts, "", f"{fence}markdown", content, fence])


def _spelled(key: str, value: Any) -> str:
    return str(value) if key in TIMES else spell(value)
