"""`claude-memory remember, recall, list, show, update, forget`: thin commands over the memory cache."""

import argparse
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from command_line.arguments import (
    PRIORITIES,
    Commands,
    add_command,
    add_filters,
    add_id,
    add_scope,
    comma_list,
    on_cache,
    positive,
    standard_input,
    stored_text,
)

if TYPE_CHECKING:
    from command_line.output import Answer
    from memory_cache.cache import MemoryCache
    from memory_cache.models import Hit


def register(commands: Commands) -> None:
    """Add the commands."""
    _register_remember(commands)
    _register_recall(commands)
    _register_list(commands)
    _register_update(commands)
    parser = add_command(commands, "show", on_cache(_show), "show one memory whole")
    add_id(parser)
    parser = add_command(commands, "forget", on_cache(_forget), "move a memory to the trash, on all devices")
    add_id(parser)


def _register_remember(commands: Commands) -> None:
    parser = add_command(commands, "remember", on_cache(_remember, prepare=_read_content), "store a memory")
    parser.add_argument("content", type=stored_text, nargs="?", help="the text; without it, or as -, standard input")
    parser.add_argument(
        "--category", required=True, metavar="C", help="project, decision, preference, learning, task …"
    )
    parser.add_argument("--tags", type=comma_list, action="extend", metavar="A,B")
    parser.add_argument("--title", type=stored_text, help="put above the text; default is its first line")
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--global", dest="only_global", action="store_true", help="for every project")
    scope.add_argument("--project", metavar="P", help="directory, repository URL, project id or name; default: here")
    parser.add_argument("--priority", choices=PRIORITIES, default="normal")
    parser.add_argument("--ttl", metavar="T", help="expires after 7d, 2w, 1m (30 days), 1y")
    parser.add_argument("--related-to", type=comma_list, action="extend", metavar="ID,ID")


def _register_recall(commands: Commands) -> None:
    parser = add_command(commands, "recall", on_cache(_recall), "find memories; without a query the most recent ones")
    parser.add_argument("query", nargs="*", help="words or a question")
    add_scope(parser)
    add_filters(parser)
    parser.add_argument("--limit", type=positive, default=10, metavar="N")
    parser.add_argument("--titles", action="store_true", help="titles with ids only")
    parser.add_argument("--explain", action="store_true", help="say how each score came about")


def _register_list(commands: Commands) -> None:
    parser = add_command(commands, "list", on_cache(_list), "list memories, the most recently updated first")
    add_scope(parser)
    parser.add_argument("--project-only", action="store_true", help="only this project's, without the global ones")
    add_filters(parser)
    parser.add_argument("--limit", type=positive, default=50, metavar="N")
    parser.add_argument("--cursor", help="go on where an earlier page ended")


def _register_update(commands: Commands) -> None:
    parser = add_command(
        commands,
        "update",
        on_cache(_update, prepare=_read_change),
        "change a memory; the earlier text stays in its history",
    )
    add_id(parser)
    parser.add_argument(
        "content",
        type=stored_text,
        nargs="?",
        help="the new text; as -, or with nothing else to change, standard input",
    )
    parser.add_argument("--title", type=stored_text)
    parser.add_argument("--tags", type=comma_list, action="extend", metavar="A,B", help="replace all tags")
    parser.add_argument("--add-tag", type=comma_list, action="extend", metavar="A", dest="add_tags")
    parser.add_argument("--remove-tag", type=comma_list, action="extend", metavar="A", dest="remove_tags")
    parser.add_argument("--category", metavar="C")
    parser.add_argument("--priority", choices=PRIORITIES)
    parser.add_argument("--ttl", metavar="T", help="expires after 7d, 2w, 1m, 1y from now; none: never")
    parser.add_argument("--global", dest="make_global", action="store_true", help="make it a memory for every project")


def _content(given: str | None) -> str:
    from memory_cache.errors import InvalidInput

    if given is not None and given != "-":
        return given
    if given is None and sys.stdin.isatty():
        raise InvalidInput("There is no text.", "Give it as an argument, or on standard input.")
    return standard_input()


async def _remember(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.opened import project_of
    from command_line.output import Answer, one_line, origin, similar_json
    from memory_cache.json_shapes import memory_json
    from memory_cache.models import Draft

    project = None if args.only_global else await project_of(cache, args.project)
    done = await cache.remember(
        Draft(
            content=args.content,
            category=args.category,
            tags=tuple(args.tags or ()),
            title=args.title,
            project=project,
            priority=args.priority,
            ttl=args.ttl,
            related_to=tuple(args.related_to or ()),
        )
    )
    for warning in done.warnings:
        sys.stderr.write(f"{warning}\n")
    lines = [f"Remembered ({origin(done.memory)}): {one_line(done.memory.title)}", f"ID: {done.memory.id}"]
    for other in done.similar:
        difference = f"; differs in: {one_line(other.difference)}" if other.difference else ""
        lines.append(f"Similar: {other.id[:8]} {one_line(other.title)} ({other.score:.0%}{difference})")
    data = {**memory_json(done.memory), "similar": [similar_json(other) for other in done.similar]}
    if done.warnings:
        data["warnings"] = list(done.warnings)
    return Answer(data, "\n".join(lines))


async def _recall(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.opened import filter_of
    from command_line.output import Answer, hit_json, plural

    query = " ".join(args.query).strip() or None
    conditions = await filter_of(cache, args)
    hits, more = await cache.recall(query, filter=conditions, limit=args.limit, explain=args.explain)
    now = datetime.now(UTC)
    tail = f"{plural(more, 'more memory', 'more memories')}: raise --limit." if more else ""
    nothing = "No memories found" + ("." if conditions.scope.everything else "; --all searches every project.")
    blocks = [_hit_text(hit, now, whole=not args.titles, explain=args.explain) for hit in hits]
    text = ("\n" if args.titles else "\n\n").join([*blocks, *([tail] if tail else [])]) if hits else nothing
    data = {"hits": [hit_json(hit) for hit in hits], "more": more}
    if not hits or args.titles:
        return Answer(data, text)
    return Answer(data, text, lambda: _hits_on_terminal(hits, now, tail, explain=args.explain))


def _hit_text(hit: "Hit", now: datetime, *, whole: bool, explain: bool) -> str:
    from command_line.output import memory_line, printable

    text = "\n    " + printable(hit.memory.content).strip("\n").replace("\n", "\n    ") if whole else ""
    why = f"\n    ({hit.score:.3f}: {hit.why})" if explain and hit.why else ""
    return f"{memory_line(hit.memory, now)}{why}{text}"


def _hits_on_terminal(hits: "list[Hit]", now: datetime, tail: str, *, explain: bool) -> Any:
    from rich.console import Group
    from rich.markdown import Markdown
    from rich.padding import Padding
    from rich.text import Text

    from command_line.output import day, one_line, origin, printable

    parts: list[Any] = []
    for hit in hits:
        memory = hit.memory
        facts = f"  {memory.category} · {origin(memory)} · {day(memory.updated)}"
        parts.append(
            Text.assemble((memory.id[:8], "cyan"), "  ", (one_line(memory.title), "bold"), (one_line(facts), "dim"))
        )
        if explain and hit.why:
            parts.append(Text(f"          {hit.score:.3f}: {one_line(hit.why)}", "dim"))
        parts.append(Padding(Markdown(printable(memory.content)), (0, 0, 1, 4)))
    return Group(*parts, *([Text(tail, "dim")] if tail else []))


async def _list(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.opened import filter_of, project_of
    from command_line.output import Answer, memory_line, memory_table, page_json, plural
    from memory_cache.errors import InvalidInput
    from memory_cache.models import Scope

    conditions = await filter_of(cache, args, default_all=True)
    if args.project_only:
        project = await project_of(cache, args.project)
        if project is None:
            raise InvalidInput("This directory is no project.", "Name one with --project, or leave --project-only out.")
        conditions = conditions.model_copy(update={"scope": Scope(project_key=project.key, with_global=False)})
    page = await cache.list(conditions.model_copy(update={"with_expired": True}), limit=args.limit, cursor=args.cursor)
    now = datetime.now(UTC)
    tail = f"{plural(page.more, 'more memory', 'more memories')}: --cursor {page.cursor}" if page.more else ""
    lines = [memory_line(memory, now) for memory in page.memories] + ([tail] if tail else [])
    return Answer(
        page_json(page),
        "\n".join(lines) or "No memories found.",
        (lambda: memory_table(page.memories, now, more=tail)) if page.memories else None,
    )


async def _show(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.output import Answer, memory_text
    from memory_cache.json_shapes import memory_json

    memory = await cache.get(args.id)
    now = datetime.now(UTC)

    def on_terminal() -> Any:
        from rich.console import Group
        from rich.markdown import Markdown
        from rich.text import Text

        facts, _, body = memory_text(memory, now).partition("\n\n")
        return Group(Text(facts, "dim"), "", Markdown(body))

    return Answer(memory_json(memory), memory_text(memory, now), on_terminal)


async def _update(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.output import Answer, one_line
    from memory_cache.json_shapes import memory_json

    memory = await cache.update(args.id, args.change)
    return Answer(memory_json(memory), f"Updated: {one_line(memory.title)}\nID: {memory.id}")


def _read_content(args: argparse.Namespace) -> None:
    args.content = _content(args.content)


def _read_change(args: argparse.Namespace) -> None:
    from command_line.waiting_input import waiting_input
    from memory_cache.models import Change

    change = Change(
        title=args.title,
        tags=None if args.tags is None else tuple(args.tags),
        add_tags=tuple(args.add_tags or ()),
        remove_tags=tuple(args.remove_tags or ()),
        category=args.category,
        priority=args.priority,
        ttl=args.ttl,
        make_global=args.make_global,
    )
    if args.content is not None or (change.is_empty() and not sys.stdin.isatty()):
        content: str | None = _content(args.content)
    else:
        content = waiting_input()
    args.change = change.model_copy(update={"content": content}) if content is not None else change


async def _forget(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.output import Answer, one_line
    from memory_cache.json_shapes import memory_json

    memory = await cache.forget(args.id)
    text = f"Forgotten: {one_line(memory.title)}\nclaude-memory restore {memory.id} brings it back."
    return Answer(memory_json(memory), text)
