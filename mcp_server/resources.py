"""Memories and documents by address, for clients that attach or read them.

    memory://list                 JSON: all memories, the latest first
    memory://{id}                 markdown: one memory, whole
    memory://project/{id}         JSON: the memories of a project (its id percent-encoded)
    memory://category/{category}  JSON: the memories of a category
    document://{id}               markdown: one fetched document, whole

A long JSON list is cut at what clients take; `_meta` then says how many are left out and where they go on.
"""

import functools
import hashlib
import json
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp_types import Resource, ResourceTemplate

from mcp_server.budget import HARD_CHARACTERS
from mcp_server.session import Session
from mcp_server.text import facts, inline
from memory_cache import documents
from memory_cache.models import Filter, Memory, Page, Scope
from memory_cache.project import key_of

LIST_URI = "memory://list"
_JSON, _MARKDOWN = "application/json", "text/markdown"
_LISTED = 50
_PAGE = 200
_SNIPPET = 150
_KNOWN = "memory://list, memory://{id}, memory://project/{id}, memory://category/{category}, document://{id}"


@functools.cache
def templates() -> list[ResourceTemplate]:
    """How things are addressed."""
    described = (
        ("memory://{id}", "memory", "A memory", "One memory, whole, by its id", _MARKDOWN),
        ("memory://project/{id}", "project", "Memories of a project", "By project id, percent-encoded", _JSON),
        ("memory://category/{category}", "category", "Memories of a category", "By category", _JSON),
        ("document://{id}", "document", "A fetched document", "Full text, by its id", _MARKDOWN),
    )
    return [
        ResourceTemplate(uri_template=uri, name=name, title=title, description=description, mime_type=mime)
        for uri, name, title, description, mime in described
    ]


async def listed(session: Session) -> list[Resource]:
    """The index, and the memories that were changed last."""
    page = await _latest(session)
    index = Resource(
        uri=LIST_URI, name="list", title="All memories", description="Every memory with its id", mime_type=_JSON
    )
    return [index, *map(_resource, page.memories)]


def _resource(memory: Memory) -> Resource:
    project = f", {memory.project_name or memory.project_id}" if memory.project_id else ", global"
    return Resource(
        uri=f"memory://{memory.id}",
        name=memory.id[:8],
        title=inline(memory.title),
        description=inline(f"{memory.category}{project}"),
        mime_type=_MARKDOWN,
    )


async def fingerprint(session: Session) -> dict[str, str]:
    """What the listing stands for, by address: compared to tell whether clients have to be told."""
    page = await _latest(session)
    return {
        f"memory://{memory.id}": hashlib.sha256(
            repr((memory.updated, memory.title, memory.category, memory.tags, memory.content)).encode(
                "utf-8", "replace"
            )
        ).hexdigest()
        for memory in page.memories
    }


async def _latest(session: Session) -> Page:
    return await session.cache.list(Filter(), limit=_LISTED)


async def read(session: Session, uri: str) -> ReadResourceContents:
    """What an address stands for. Raises: ResourceNotFoundError, MemoryCacheError."""
    parts = urlsplit(uri)
    segments = [unquote(segment) for segment in (parts.netloc, *parts.path.strip("/").split("/")) if segment]
    segments = segments if parts.netloc else []
    cursor = parse_qs(parts.query).get("cursor", [None])[0]
    match (parts.scheme, segments):
        case ("memory", ["list"]):
            return await _json_list(session, Filter(), LIST_URI, cursor)
        case ("memory", ["project", *rest]) if rest:
            return await _project(session, "/".join(rest), cursor)
        case ("memory", ["category", category]):
            conditions = Filter(category=category)
            return await _json_list(session, conditions, f"memory://category/{quote(category, safe='')}", cursor)
        case ("memory", [memory_id]):
            return _markdown(session, await session.cache.get(memory_id))
        case ("document", [document_id]):
            return await _document(session, document_id)
    raise ResourceNotFoundError(f"Unknown resource: {uri[:200]}. There are: {_KNOWN}.")


async def _project(session: Session, project_id: str, cursor: str | None) -> ReadResourceContents:
    scope = Scope(project_key=key_of(project_id), with_global=False)
    return await _json_list(session, Filter(scope=scope), f"memory://project/{quote(project_id, safe='')}", cursor)


async def _json_list(session: Session, conditions: Filter, uri: str, cursor: str | None) -> ReadResourceContents:
    entries: list[str] = []
    size = more = 0
    following: str | None = None
    # One page fills the answer; a page that does not fit is asked for again, shorter, so that its cursor is right.
    limit = _PAGE
    while True:
        page = await session.cache.list(conditions, limit=limit, cursor=cursor)
        entries = [json.dumps(_entry(session, memory), ensure_ascii=False) for memory in page.memories]
        size = sum(map(len, entries)) + 4 * len(entries)
        if size <= HARD_CHARACTERS or limit == 1:
            more, following = page.more, page.cursor
            break
        limit = max(1, min(limit // 2, int(limit * HARD_CHARACTERS / size)))
    text = "[\n" + ",\n".join(f"  {entry}" for entry in entries) + "\n]"
    meta = {"more": more, "next": f"{uri}?cursor={quote(following, safe='')}"} if more and following else None
    return ReadResourceContents(content=text, mime_type=_JSON, meta=meta)


def _entry(session: Session, memory: Memory) -> dict[str, Any]:
    entry = session.cache.as_json(memory)
    del entry["content"]
    entry["snippet"] = " ".join(memory.content.split())[:_SNIPPET]
    return entry


def _markdown(session: Session, memory: Memory) -> ReadResourceContents:
    head = f"# {inline(memory.title)}\n\n**ID:** {memory.id}\n{facts(memory, session.now())}\n\n---\n\n"
    return ReadResourceContents(content=head + memory.content, mime_type=_MARKDOWN)


async def _document(session: Session, document_id: str) -> ReadResourceContents:
    now = session.now()
    document = await session.cache.database.write(lambda connection: documents.get(connection, document_id, now))
    head = (
        f"# {inline(document.title)}\n\nID: {document.id}\nsource: {inline(document.source)} · "
        f"{inline(document.source_tool)} · fetched {document.updated:%Y-%m-%d}\n\n---\n\n"
    )
    return ReadResourceContents(content=head + document.content, mime_type=_MARKDOWN)
