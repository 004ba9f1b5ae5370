"""The JSON that the pages are given beyond what `memory_cache.json_shapes` gives every program."""

import re
from typing import Any

from dashboard.editing import version_of_conflict
from memory_cache.documents import Document
from memory_cache.exporting import as_json
from memory_cache.json_shapes import conflict_json, document_json
from memory_cache.models import Conflict, Memory

_EXCERPT = 240
_MARKS = re.compile(r"\*\*|`+|(?<!\S)#{1,6} ")


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


def conflict(found: Conflict) -> dict[str, Any]:
    """Both versions of a memory, and the mark by which a settlement shows that it knows them."""
    return {**conflict_json(found), "version": version_of_conflict(found)}


def document(found: Document) -> dict[str, Any]:
    """A document in a list."""
    return {**document_json(found), "snippet": found.snippet}
