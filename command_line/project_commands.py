"""`claude-memory project-status`: where each project stands in memory."""

import argparse
from typing import TYPE_CHECKING, Any

from command_line.arguments import Commands, add_command, on_cache, positive

if TYPE_CHECKING:
    from command_line.output import Answer
    from memory_cache.cache import MemoryCache
    from memory_cache.models import Project


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "project-status",
        on_cache(_status),
        "counts, latest context and open tasks of a project, or all projects",
    )
    parser.add_argument("project", nargs="?", help="name, id, repository URL or directory (. is here); default: all")
    parser.add_argument("--limit", type=positive, default=20, metavar="N", help="tasks to show")


async def _status(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.opened import project_of
    from memory_cache.errors import InvalidInput

    if args.project is None:
        return await _all(cache)
    project = await project_of(cache, args.project)
    if project is None:
        raise InvalidInput(f"{args.project!r} names no project.", "`claude-memory project-status` lists all.")
    return await _one(cache, project, args.limit)


async def _all(cache: "MemoryCache") -> "Answer":
    from command_line.output import Answer, one_line, plural
    from memory_cache import vocabulary

    known = await cache.database.read(vocabulary.projects)
    lines = []
    for project in known:
        count = plural(project.memories, "memory")
        lines.append(f"{project.updated[:10]}  {count:<14}  {one_line(project.name)}  ({one_line(project.key)})")
    shown = [
        {"id": project.ids[0], "name": project.name, "memories": project.memories, "updated": project.updated}
        for project in known
    ]
    return Answer({"projects": shown}, "\n".join(lines) or "No project has memories yet.")


async def _one(cache: "MemoryCache", project: "Project", limit: int) -> "Answer":
    from datetime import UTC, datetime

    from command_line.output import Answer, day, memory_line, memory_text, one_line, plural
    from memory_cache import vocabulary
    from memory_cache.json_shapes import memory_json
    from memory_cache.models import Filter, Scope

    scope = Scope(project_key=project.key, with_global=False)
    counts = await cache.database.read(lambda c: vocabulary.category_counts(c, project.key))
    tasks = await cache.list(Filter(scope=scope, category="task"), limit=limit)
    contexts = await cache.list(Filter(scope=scope, category="project"), limit=1)
    last = await cache.list(Filter(scope=scope), limit=1)
    latest = next(iter((*contexts.memories, *last.memories)), None)
    data: dict[str, Any] = {
        "project": {"id": project.id, "name": project.name},
        "categories": counts,
        "updated": memory_json(last.memories[0])["updated"] if last.memories else None,
        "latest": memory_json(latest) if latest else None,
        "tasks": [memory_json(task) for task in tasks.memories],
        "moreTasks": tasks.more,
    }
    now = datetime.now(UTC)
    lines = [f"{one_line(project.name)} ({one_line(project.id)}): {plural(sum(counts.values()), 'memory')}"]
    lines += [f"  {one_line(name)}: {count:,}" for name, count in counts.items()]
    if last.memories:
        lines.append(f"Last updated {day(last.memories[0].updated)}.")
    lines += ["", "Open tasks:", *(memory_line(task, now) for task in tasks.memories)] if tasks.memories else []
    if tasks.more:
        lines.append(f"{plural(tasks.more, 'more task')}: raise --limit.")
    lines += ["", "Latest context:", memory_text(latest, now)] if latest else []
    return Answer(data, "\n".join(lines))
