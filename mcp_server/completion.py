"""Completion of arguments: ids, projects, categories, tags, as far as they are typed."""

from collections.abc import Callable
from sqlite3 import Connection
from urllib.parse import unquote

from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from mcp_server.server import MemoryServer
from memory_cache import vocabulary

MOST = 100
"""A completion holds no more by the protocol."""


def install(server: MemoryServer) -> None:
    """Let the server complete arguments of its resource templates and prompts."""

    async def complete(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion | None:
        find = _finder(ref, argument.name)
        if find is None:
            return None
        values = await server.session.cache.database.read(lambda connection: find(connection, argument.value))
        return Completion(values=values[:MOST], total=None, has_more=len(values) > MOST)

    server.completion()(complete)  # type: ignore[no-untyped-call]  # untyped in the SDK


def _finder(
    ref: PromptReference | ResourceTemplateReference, argument: str
) -> Callable[[Connection, str], list[str]] | None:
    if isinstance(ref, PromptReference):
        return (lambda c, text: vocabulary.tags(c, text, MOST + 1)) if argument == "query" else None
    if ref.uri.startswith("memory://project/"):
        return _projects
    if ref.uri.startswith("memory://category/"):
        return lambda c, text: vocabulary.categories(c, text, MOST + 1)
    if ref.uri.startswith("document://"):
        return lambda c, text: vocabulary.document_ids(c, text, MOST + 1)
    return lambda c, text: vocabulary.ids(c, text, MOST + 1)


def _projects(connection: Connection, text: str) -> list[str]:
    wanted = unquote(text).casefold()
    known = vocabulary.projects(connection)
    return [
        project.key
        for project in known
        if project.key.casefold().startswith(wanted) or project.name.casefold().startswith(wanted)
    ]
