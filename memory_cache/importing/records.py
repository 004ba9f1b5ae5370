"""What readers give and the writer takes: plain data.

A `Note` is something that becomes a memory; a `MemoryFile` is a memory already, in our own format, and is kept
byte for byte. What a reader leaves out is `Skipped`, with the reason; what it takes in part is a `Remark`.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memory_cache.document_file import DocumentFile
from memory_cache.pattern_file import PatternFile
from memory_cache.text_format import Source

_NAMESPACE = uuid.UUID("0c6f8f38-5e0c-4f0b-9a39-8f4f6a4c2f57")

Extra = str | Source


def id_of(kind: str, origin: str) -> str:
    """The id of what has no id of its own: the same at every import."""
    return str(uuid.uuid5(_NAMESPACE, f"{kind}\n{origin}"))


@dataclass(frozen=True, slots=True)
class Note:
    """Something that becomes a memory.

    Attributes:
        origin: what the id is derived from; stable from import to import, unique within the kind of source.
        where: file, line or row, for people.
        title: put above the text when the text does not begin with it.
        category: None for the usual one (`learning`).
        project_id: as the source says it: an id, a URL or a plain name. None for a global memory.
        linked: origins of other notes of the same source; `related_to`: ids of memories.
        id: the source's own id, where it has one that can be kept.
        extra: further front matter entries, in their order.
        remarks: what was not taken over of it, each a sentence.
    """

    origin: str
    where: str
    body: str
    title: str | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()
    created: datetime | None = None
    updated: datetime | None = None
    project_id: str | None = None
    project_name: str | None = None
    priority: str = "normal"
    expires_at: datetime | None = None
    linked: tuple[str, ...] = ()
    related_to: tuple[str, ...] = ()
    id: str | None = None
    extra: Mapping[str, Extra] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A memory's own file, its id in it. `path`: where it was kept, kept again where that is free."""

    where: str
    data: bytes
    path: str | None = None
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A cached document, and how often it was read."""

    where: str
    document: DocumentFile
    access_count: int = 0
    last_accessed: datetime | None = None


@dataclass(frozen=True, slots=True)
class PatternRecord:
    """A skill pattern with its occurrences."""

    where: str
    pattern: PatternFile


@dataclass(frozen=True, slots=True)
class ConflictFile:
    """An open conflict of another copy of the store, as its file."""

    where: str
    path: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that is not taken in, and why. `expected`: that it stays behind is as it should be, no failure."""

    where: str
    reason: str
    expected: bool = False


Item = Note | MemoryFile | DocumentRecord | PatternRecord | ConflictFile | Skipped
