"""A cached document as a file: `documents/<slug>-<hash8>.md`, front matter and the content verbatim.

The id follows from the content alone, so that all devices and tools that fetch one text have one document.
What differs between copies (projects, dates, source) is merged without a conflict: see `merge`.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memory_cache import paths, text_format
from memory_cache.clock import EPOCH
from memory_cache.hashing import content_hash
from memory_cache.project import key_of

TYPES = ("library-docs", "web-content", "api-reference", "code-example", "tutorial", "custom")


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """What a document's file says.

    Attributes:
        source: library id or URL; `source_tool`: context7, webfetch, …
        projects: ids of the projects it belongs to; without any it belongs to all.
        metadata: whatever the source tool told, JSON values.
    """

    title: str
    content: str
    type: str
    source: str
    source_tool: str
    created: datetime
    updated: datetime
    projects: tuple[str, ...] = ()
    metadata: Mapping[str, Any] | None = None
    memory_session_id: str | None = None
    memory_id: str | None = None

    @property
    def id(self) -> str:
        """32 hex digits of the content's hash."""
        return id_of(self.content)

    @property
    def path(self) -> str:
        """Where the document is kept."""
        return f"documents/{paths.slug(self.title)}-{self.id[:8]}.md"


def normal(content: str) -> str:
    """The content as it is kept: LF line ends, no line end at the end."""
    return content.replace("\r\n", "\n").replace("\r", "\n").strip("\n\ufeff")


def id_of(content: str) -> str:
    """The id of a content."""
    return content_hash(normal(content).encode("utf-8", "replace"))[:32]


def encode(document: DocumentFile, onto: bytes | None = None) -> bytes:
    """The bytes of the file; the same document always gives the same bytes.

    Written `onto` an earlier version, its content and what it holds beside (comments, unknown keys) stay.
    """
    metadata = json.dumps(document.metadata, ensure_ascii=False, sort_keys=True) if document.metadata else None
    fields: dict[str, text_format.Value | text_format.Source | None] = {
        "title": document.title or None,
        "source": document.source or None,
        "sourceTool": document.source_tool or None,
        "projects": sorted(document.projects) or None,
        "metadata": metadata,
        "memorySessionId": document.memory_session_id,
        "memoryId": document.memory_id,
    }
    if onto is not None and text_format.read(onto).problem is None:
        times: dict[str, text_format.Value | text_format.Source | None] = {
            "id": document.id, "created": document.created, "updated": document.updated,
        }  # fmt: skip
        return text_format.rewrite(onto, set={**times, **fields})
    data = text_format.render(
        id=document.id,
        category=document.type,
        tags=(),
        created=document.created,
        updated=document.updated,
        body=normal(document.content),
    )
    return text_format.rewrite(data, set={key: value for key, value in fields.items() if value is not None})


def decode(data: bytes) -> DocumentFile:
    """Understand a file as far as possible; any bytes are safe. Without front matter all is content."""
    parsed = text_format.read(data)
    unknown = parsed.unknown
    created = parsed.created or parsed.updated or EPOCH
    return DocumentFile(
        title=_text(unknown.get("title")) or parsed.title,
        content=parsed.body,
        type=parsed.category or "custom",
        source=_text(unknown.get("source")),
        source_tool=_text(unknown.get("sourceTool")),
        created=created,
        updated=parsed.updated or created,
        projects=united(_texts(unknown.get("projects"))),
        metadata=_object(unknown.get("metadata")),
        memory_session_id=_text(unknown.get("memorySessionId")) or None,
        memory_id=_text(unknown.get("memoryId")) or None,
    )


def united(*groups: Iterable[str]) -> tuple[str, ...]:
    """Project ids without repeats; two spellings of one repository are one (the first in order stays)."""
    chosen: dict[str, str] = {}
    for project_id in sorted({project_id for group in groups for project_id in group}):
        chosen.setdefault(key_of(project_id), project_id)
    return tuple(sorted(chosen.values()))


def merge(a: bytes, b: bytes) -> bytes:
    """What two versions of one document's file become, whatever they had in common: the same from both sides.

    Projects are united, the first sight and the last refresh are kept, the rest is what the later version says.
    Should the contents differ (someone edited the file), the later version stands whole.
    """
    earlier, later = sorted((a, b), key=lambda data: (decode(data).updated, content_hash(data)))
    old, new = decode(earlier), decode(later)
    if old.id != new.id:
        return later
    joined = replace(
        new,
        created=min(old.created, new.created),
        projects=united(old.projects, new.projects),
        metadata={**(old.metadata or {}), **(new.metadata or {})} or None,
        source=new.source or old.source,
        source_tool=new.source_tool or old.source_tool,
        memory_session_id=new.memory_session_id or old.memory_session_id,
        memory_id=new.memory_id or old.memory_id,
    )
    if joined == new:
        return later
    return earlier if joined == old else encode(joined, later)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    return tuple(text for text in values if isinstance(text, str) and text)


def _object(value: object) -> Mapping[str, Any] | None:
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return None
    return found if isinstance(found, dict) and found else None
