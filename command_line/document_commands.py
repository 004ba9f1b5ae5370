"""`claude-memory documents search|list|show|forget`: what tools fetched before."""

import argparse
from typing import TYPE_CHECKING

from command_line.arguments import Commands, add_command, on_cache, positive

if TYPE_CHECKING:
    from command_line.output import Answer
    from memory_cache.cache import MemoryCache
    from memory_cache.documents import Document


def register(commands: Commands) -> None:
    """Add the command and its own commands; `documents` alone lists."""
    parent = add_command(commands, "documents", on_cache(_list), "fetched documents: search, list, show, forget")
    parent.set_defaults(limit=50)
    actions = parent.add_subparsers(metavar="ACTION")
    parser = add_command(actions, "search", on_cache(_search), "find documents; each one found counts as read")
    parser.add_argument("query", nargs="+", help="words or a question")
    parser.add_argument("--project", metavar="P", help="only documents of this project")
    parser.add_argument("--limit", type=positive, default=10, metavar="N")
    parser = add_command(actions, "list", on_cache(_list), "the documents fetched last")
    parser.add_argument("--limit", type=positive, default=50, metavar="N")
    parser = add_command(actions, "show", on_cache(_show), "one document whole")
    parser.add_argument("id", help="its id, or the first characters of it (at least 4)")
    parser = add_command(actions, "forget", on_cache(_forget), "remove a document, on all devices; there is no trash")
    parser.add_argument("id", help="its id, or the first characters of it (at least 4)")


async def _search(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.opened import project_of
    from command_line.output import Answer, plural, printable
    from memory_cache import documents
    from memory_cache.json_shapes import document_json

    wanted = await project_of(cache, args.project) if args.project is not None else None
    own = wanted or await project_of(cache, None)
    query, now = " ".join(args.query), cache.now()
    hits, more = await cache.database.write(
        lambda c: documents.search(
            c, query, limit=args.limit, project_key=wanted.key if wanted else None,
            own_project=own.key if own else None, now=now,
        )
    )  # fmt: skip
    blocks = []
    for hit in hits:
        snippet = printable(hit.snippet).strip("\n").replace("\n", "\n    ")
        blocks.append(f"{_line(hit)}\n    {snippet}")
    if more:
        blocks.append(f"{plural(more, 'more document')}: raise --limit.")
    shown = [{**document_json(hit), "snippet": hit.snippet, "score": round(hit.score, 4)} for hit in hits]
    return Answer({"documents": shown, "more": more}, "\n\n".join(blocks) or "No documents found.")


async def _list(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.output import Answer, plural
    from memory_cache import documents
    from memory_cache.json_shapes import document_json

    found, (count, size) = await cache.database.read(lambda c: (documents.recent(c, args.limit), documents.usage(c)))
    lines = [_line(document) for document in found]
    if count > len(found):
        lines.append(f"{plural(count - len(found), 'more document')}: raise --limit.")
    data = {"documents": [document_json(document) for document in found], "more": count - len(found), "bytes": size}
    return Answer(data, "\n".join(lines) or "No documents are kept.")


async def _show(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.output import Answer, one_line, printable
    from memory_cache import documents
    from memory_cache.json_shapes import document_json

    now = cache.now()
    document = await cache.database.write(lambda c: documents.get(c, args.id, now))
    data = {**document_json(document), "content": document.content}
    facts = [f"{name}: {one_line(str(value))}" for name, value in data.items() if name not in ("content", "metadata")]
    facts += [f"{key}: {one_line(str(value))}" for key, value in document.metadata.items()]
    return Answer(data, "\n".join([*facts, "", printable(document.content)]))


async def _forget(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.output import Answer, one_line
    from memory_cache import documents
    from memory_cache.json_shapes import document_json

    document = await cache.database.write(lambda c: documents.forget(c, args.id))
    return Answer(document_json(document), f"Removed: {one_line(document.title)}")


def _line(document: "Document") -> str:
    from command_line.output import day, one_line

    tool = one_line(document.source_tool or "?")
    return f"{document.id[:8]}  {day(document.updated)}  {tool:<10}  {one_line(document.title)}"
