"""`claude-memory patterns store|search|mature|mark`: from habits to skills."""

import argparse
from typing import TYPE_CHECKING, Any

from command_line.arguments import Commands, add_command, on_cache, positive, stored_text

if TYPE_CHECKING:
    from command_line.output import Answer
    from memory_cache.cache import MemoryCache
    from memory_cache.patterns import Pattern


def register(commands: Commands) -> None:
    """Add the command and its own commands; `patterns` alone shows the mature ones."""
    parent = add_command(commands, "patterns", on_cache(_mature), "recurring patterns: store, search, mature, mark")
    parent.set_defaults(min_count=3, category=None, with_skills=False)
    actions = parent.add_subparsers(metavar="ACTION")
    _register_store(actions)
    parser = add_command(actions, "search", on_cache(_search), "find patterns that were noted before")
    parser.add_argument("query", nargs="+")
    parser.add_argument("--category", metavar="C")
    parser.add_argument("--project", metavar="P", help="patterns of this project and global ones")
    parser.add_argument("--min-count", type=positive, default=1, metavar="N", help="seen at least so often")
    parser.add_argument("--limit", type=positive, default=10, metavar="N")
    parser = add_command(actions, "mature", on_cache(_mature), "patterns seen often enough to become skills")
    parser.add_argument("--category", metavar="C")
    parser.add_argument("--min-count", type=positive, default=3, metavar="N")
    parser.add_argument("--with-skills", action="store_true", help="those that are skills already, too")
    parser = add_command(
        actions, "mark", on_cache(_mark), "mark patterns as made into skills; writes a draft SKILL.md for each"
    )
    parser.add_argument("ids", nargs="+", metavar="ID")


def _register_store(actions: Any) -> None:
    parser = add_command(actions, "store", on_cache(_store), "note that a pattern was seen")
    parser.add_argument("description", type=stored_text, help="what is done and when, 10 to 1000 characters")
    parser.add_argument("--category", required=True, metavar="C", help="testing, git, deploy …")
    parser.add_argument("--project", metavar="P", help="directory, repository URL, project id or name; default: global")
    parser.add_argument("--example", type=stored_text, metavar="TEXT", help="how it was done, 10 to 2000 characters")


async def _store(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.opened import project_of
    from command_line.output import Answer, one_line, plural
    from memory_cache import health, patterns
    from memory_cache.json_shapes import pattern_json

    project = await project_of(cache, args.project) if args.project is not None else None
    now = cache.now()
    sighting = await cache.database.write(
        lambda c: patterns.store(
            c, description=args.description, category=args.category, project=project, example=args.example,
            device=health.device(c)[1], now=now,
        )
    )  # fmt: skip
    pattern = sighting.pattern
    lines = [
        f"{'Noted' if sighting.is_new else 'Seen again'}: {one_line(pattern.description)}",
        f"ID: {pattern.id}",
        f"Seen {plural(pattern.count, 'time')}.",
    ]
    if pattern.mature:
        lines.append(f"A skill can be made of it: claude-memory patterns mark {pattern.id[:8]}")
    data = {**pattern_json(pattern), "new": sighting.is_new, "alike": round(sighting.alike, 4)}
    return Answer(data, "\n".join(lines))


async def _search(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.opened import project_of
    from command_line.output import Answer, plural
    from memory_cache import patterns
    from memory_cache.json_shapes import pattern_json

    project = await project_of(cache, args.project) if args.project is not None else None
    query = " ".join(args.query)
    found, more = await cache.database.read(
        lambda c: patterns.search(
            c, query, category=args.category, project_key=project.key if project else None,
            min_count=args.min_count, limit=args.limit,
        )
    )  # fmt: skip
    lines = [_line(pattern) for pattern, _ in found]
    if more:
        lines.append(f"{plural(more, 'more pattern')}: raise --limit.")
    shown = [{**pattern_json(pattern), "score": round(score, 4)} for pattern, score in found]
    return Answer({"patterns": shown, "more": more}, "\n".join(lines) or "No patterns found.")


async def _mature(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.output import Answer, plural
    from memory_cache import patterns
    from memory_cache.json_shapes import pattern_json

    found = await cache.database.read(
        lambda c: patterns.mature(
            c, min_count=args.min_count, category=args.category, exclude_created=not args.with_skills
        )
    )
    nothing = f"No pattern was seen {plural(args.min_count, 'time')} yet."
    data = {"patterns": [pattern_json(pattern) for pattern in found]}
    return Answer(data, "\n".join(map(_line, found)) or nothing)


async def _mark(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.output import Answer, one_line
    from mcp_server.skill import write_draft
    from memory_cache import patterns
    from memory_cache.home import Home
    from memory_cache.json_shapes import pattern_json

    now = cache.now()
    marked = await cache.database.write(lambda c: patterns.mark_as_skill(c, args.ids, now))
    home = Home(cache.database.path.parent)
    drafts = [str(await write_draft(home, pattern)) for pattern in marked]
    lines = [
        f"Marked: {one_line(pattern.description)}\nDraft: {draft}"
        for pattern, draft in zip(marked, drafts, strict=True)
    ]
    shown = [{**pattern_json(pattern), "draft": draft} for pattern, draft in zip(marked, drafts, strict=True)]
    return Answer({"patterns": shown}, "\n".join(lines))


def _line(pattern: "Pattern") -> str:
    from command_line.output import day, one_line

    mark = "  (skill)" if pattern.skill_at else "  (ready to become a skill)" if pattern.mature else ""
    description = one_line(pattern.description[:100])
    return (
        f"{pattern.id[:8]}  {pattern.count:>3}×  {day(pattern.last_seen)}  {pattern.category:<10}  {description}{mark}"
    )
