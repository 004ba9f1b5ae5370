"""`claude-memory link, related, merge, tag, delete, cleanup, stats, graph`: memories in relation and in number."""

import argparse
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from command_line.arguments import (
    Commands,
    add_command,
    add_filters,
    add_id,
    add_scope,
    on_cache,
    positive,
    stored_text,
)

if TYPE_CHECKING:
    from command_line.output import Answer
    from memory_cache.cache import MemoryCache
    from memory_cache.models import BatchResult


def register(commands: Commands) -> None:
    """Add the commands."""
    parser = add_command(commands, "link", on_cache(_link), "link two memories in both directions")
    add_id(parser, "id1")
    add_id(parser, "id2")
    parser.add_argument("--unlink", action="store_true", help="end their link instead")
    parser = add_command(commands, "related", on_cache(_related), "memories that a memory is linked to")
    add_id(parser)
    parser.add_argument("--depth", type=positive, default=1, metavar="N", help="how many links away, up to 10")
    parser = add_command(commands, "merge", on_cache(_merge), "make one memory of several; the others go to the trash")
    parser.add_argument("ids", nargs="+", metavar="ID", help="the first one stays")
    parser.add_argument("--title", type=stored_text, help="of the merged memory")
    _register_batches(commands)
    add_command(commands, "stats", on_cache(_stats), "how many memories there are, of which kind and age")
    parser = add_command(commands, "graph", on_cache(_graph), "linked memories as a mermaid diagram")
    parser.add_argument("--from", dest="start", metavar="ID", help="only what is near this memory")
    parser.add_argument("--depth", type=positive, default=3, metavar="N")


def _register_batches(commands: Commands) -> None:
    parser = add_command(commands, "tag", on_cache(_tag), "add a tag to many memories, or take it off them")
    parser.add_argument("tag", type=stored_text)
    parser.add_argument("--remove", action="store_true", help="take it off")
    _add_selection(parser)
    parser.add_argument("--dry-run", action="store_true", help="only show which memories it would be")
    parser = add_command(
        commands, "delete", on_cache(_delete), "move many memories to the trash; without --yes only show which ones"
    )
    _add_selection(parser)
    parser.add_argument("--expired", action="store_true", help="whose time to live is over")
    parser.add_argument("--stale", action="store_true", help="without expiry, not updated for 90 days")
    parser.add_argument("--yes", action="store_true", help="do it")
    parser = add_command(commands, "cleanup", on_cache(_cleanup), "move expired memories to the trash now")
    parser.add_argument("--dry-run", action="store_true", help="only show which ones")


def _add_selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--query", help="that hold every one of these words")
    add_scope(parser)
    add_filters(parser)


async def _link(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.output import Answer, one_line
    from memory_cache.json_shapes import memory_json

    one, other = await cache.link(args.id1, args.id2, args.unlink)
    verb = "No longer linked" if args.unlink else "Linked"
    text = f"{verb}: {one.id[:8]} {one_line(one.title)} — {other.id[:8]} {one_line(other.title)}"
    return Answer({"memories": [memory_json(one), memory_json(other)]}, text)


async def _related(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.output import Answer, memory_line
    from memory_cache.json_shapes import memory_json

    found = await cache.related(args.id, args.depth)
    now = datetime.now(UTC)
    lines = [f"{distance}  {memory_line(memory, now)}" for memory, distance in found]
    data = {"memories": [{**memory_json(memory), "distance": distance} for memory, distance in found]}
    return Answer(data, "\n".join(lines) or "No memories are linked to it.")


async def _merge(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.output import Answer, one_line
    from memory_cache.json_shapes import memory_json

    memory = await cache.merge(args.ids, args.title)
    return Answer(memory_json(memory), f"Merged into: {one_line(memory.title)}\nID: {memory.id}")


async def _tag(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.opened import filter_of

    conditions = await filter_of(cache, args, default_all=True)
    result = await cache.batch_tag(
        args.tag, remove=args.remove, filter=conditions, query=args.query, dry_run=args.dry_run
    )
    done = "lose" if args.remove else "get"
    return _batch(
        result, f"would {done} the tag" if args.dry_run else ("lost the tag" if args.remove else "got the tag")
    )


async def _delete(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.opened import filter_of

    conditions = await filter_of(cache, args, default_all=True)
    result = await cache.batch_delete(
        filter=conditions, query=args.query, expired=args.expired, stale=args.stale, dry_run=not args.yes
    )
    return _batch(result, "moved to the trash" if args.yes else "would be moved to the trash; --yes does it")


async def _cleanup(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    result = await cache.batch_delete(expired=True, dry_run=args.dry_run)
    return _batch(result, "expired" if args.dry_run else "moved to the trash")


def _batch(result: "BatchResult", what: str) -> "Answer":
    from command_line.output import Answer, batch_json, memory_line, one_line, plural

    now = datetime.now(UTC)
    lines = [memory_line(memory, now) for memory in result.memories]
    lines += [f"Skipped: {one_line(reason)}" for reason in result.skipped]
    lines.append(f"{plural(len(result.memories), 'memory')} {what}.")
    return Answer(batch_json(result), "\n".join(lines))


async def _stats(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.output import Answer, one_line

    statistics = await cache.statistics()
    data: dict[str, Any] = {_camel(name): value for name, value in statistics.model_dump(mode="json").items()}
    lines = []
    for name, value in statistics.model_dump(mode="json").items():
        label = name.replace("_", " ")
        if isinstance(value, dict):
            unit = " days" if name == "updated_within" else ""
            shown = [f"{one_line(str(key)) or 'global'}{unit} ({count})" for key, count in list(value.items())[:20]]
            lines.append(f"{label}: {', '.join(shown) or '–'}")
        else:
            lines.append(f"{label}: {'–' if value is None else value}")
    return Answer(data, "\n".join(lines))


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(map(str.capitalize, rest))


async def _graph(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.output import Answer
    from mcp_server.mermaid import diagram

    memories, edges = await cache.graph(args.start, depth=args.depth)
    text, _ = diagram(memories, edges, max(len(memories), 1))
    shown = text if edges else "No memories are linked yet: `claude-memory link ID ID` makes a link."
    nodes = [{"id": memory.id, "title": memory.title, "category": memory.category} for memory in memories]
    return Answer({"memories": nodes, "links": [list(edge) for edge in edges], "mermaid": text}, shown)
