"""get_statistics, project_status, export_memories: what there is."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import anyio
from mcp.server.mcpserver import Context
from pydantic import Field

from mcp_server.budget import DEFAULT_TOKENS, tokens
from mcp_server.exports import write
from mcp_server.session import Session, origin_words
from mcp_server.text import DATA_NOTICE, age, blocks, day, fitting, inline, line, plural
from mcp_server.tools.arguments import CategoryFilter, ProjectName
from mcp_server.tools.registry import tool
from memory_cache import documents, vocabulary
from memory_cache.exporting import as_markdown
from memory_cache.models import Filter, Project, Scope, Statistics

_LISTED = 15


def megabytes(size: int) -> str:
    """A size for people."""
    return f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.1f} kB"


def _counts(title: str, counts: Mapping[str, int], empty: str = "none") -> str:
    shown = list(counts.items())[:_LISTED]
    text = ", ".join(f"{inline(name) or empty} {number:,}" for name, number in shown) or "none"
    more = f", and {len(counts) - _LISTED} more" if len(counts) > _LISTED else ""
    return f"- {title}: {text}{more}"


@tool("Statistics", read_only=True)
async def get_statistics(ctx: Context[Session, Any]) -> str:
    """Show counts, ages, links and health of all memories, when the user asks how much is stored or what needs care."""
    session = ctx.request_context.lifespan_context
    found = await session.cache.statistics()
    count, size = await session.cache.database.read(documents.usage)
    return "\n".join(
        [
            f"# {plural(found.memories, 'memory')}",
            _counts("by category", found.by_category),
            _counts("by project", found.by_project, "global"),
            _counts("by priority", found.by_priority),
            _counts("by tag", found.by_tag),
            *_ages(found, session),
            f"- links: {found.links:,}; memories without one {found.unlinked:,}; to what is gone {found.dangling:,}",
            f"- care: expired {found.expired:,}, stale {found.stale:,}, conflicts {found.conflicts:,}, "
            f"problem files {found.problems:,}, read-only {found.read_only:,}, in the trash {found.trash:,}",
            f"- size: memories {megabytes(found.content_bytes)}, cache {megabytes(found.cache_bytes)}; "
            f"{plural(count, 'document')} {megabytes(size)}",
        ]
    )


def _ages(found: Statistics, session: Session) -> list[str]:
    if found.oldest is None or found.newest is None or found.last_update is None:
        return []
    within = ", ".join(f"{days} days: {number:,}" for days, number in sorted(found.updated_within.items()))
    last = age(found.last_update, session.now())
    return [
        f"- oldest {day(found.oldest)}, newest {day(found.newest)}, last change {last}",
        f"- changed within {within}",
    ]


@tool("Project status", read_only=True)
async def project_status(
    ctx: Context[Session, Any],
    project: Annotated[ProjectName, Field(description="Name, id, URL or directory; without it: all projects")] = None,
) -> str:
    """Show where a project stands in memory: counts, last change, latest context, open tasks; or all projects, when
    the user asks what they work on."""
    session = ctx.request_context.lifespan_context
    if project is None:
        return await _all_projects(session)
    used = await session.project(ctx, project)
    if used is None:
        return "No such project."
    return await _one_project(session, used)


async def _all_projects(session: Session) -> str:
    known = await session.cache.database.read(vocabulary.projects)
    if not known:
        return "No project has memories yet. remember stores one for the project of the session."
    lines = [
        f"- {inline(project.name)} ({inline(project.key)}): {plural(project.memories, 'memory')}, "
        f"last change {project.updated[:10]}"
        for project in known
    ]
    kept, left_out = fitting(lines, DEFAULT_TOKENS)
    more = [f"{left_out:,} more projects; name one to see it."] if left_out else []
    return "\n".join([f"{plural(len(known), 'project')}, the latest first:", *kept, *more])


async def _one_project(session: Session, project: Project) -> str:
    now = session.now()
    scope = Scope(project_key=project.key, with_global=False)
    counts = await session.cache.database.read(lambda c: vocabulary.category_counts(c, project.key))
    head = f"# {origin_words(project)}"
    if not counts:
        return f"{head}\nNo memories belong to this project yet."
    latest = await session.cache.list(Filter(scope=scope, category="project"), limit=1)
    if not latest.memories:
        latest = await session.cache.list(Filter(scope=scope), limit=1)
    tasks = await session.cache.list(Filter(scope=scope, category="task"), limit=20)
    last = await session.cache.list(Filter(scope=scope), limit=1)
    parts = [
        head,
        f"{plural(sum(counts.values()), 'memory')}: "
        + ", ".join(f"{inline(name)} {number:,}" for name, number in counts.items()),
    ]
    if last.memories:
        parts[-1] += f"\nLast updated {day(last.memories[0].updated)} ({age(last.memories[0].updated, now)})"
    lines, left_out = fitting([line(memory, now) for memory in tasks.memories], DEFAULT_TOKENS // 3)
    left_out += tasks.more
    more = [f"{left_out:,} more: list with category=task and this project."] if left_out else []
    parts.append("\n".join(["## Open tasks", *(lines or ["none"]), *more]))
    texts, _, _ = blocks(latest.memories, now, DEFAULT_TOKENS // 2)
    parts += ["## Latest context", DATA_NOTICE, *texts] if texts else []
    return "\n\n".join(parts)


@tool("Export memories", read_only=True)
async def export_memories(
    ctx: Context[Session, Any],
    format: Literal["json", "markdown"] = "json",
    category: CategoryFilter = None,
) -> str:
    """Export all memories whole, when the user wants a backup or to take them elsewhere. A large export goes to a
    file, whose path is the answer."""
    session = ctx.request_context.lifespan_context
    exported = await session.cache.export(category)
    if not exported:
        return "No memories found to export" + (f" in category {inline(category)}." if category else ".")
    text = await anyio.to_thread.run_sync(
        lambda: json.dumps(exported, ensure_ascii=False, indent=2) if format == "json" else as_markdown(exported)
    )
    if tokens(text) <= DEFAULT_TOKENS:
        return text
    path = await write(await session.home(), text, "json" if format == "json" else "md", session.now())
    return f"{plural(len(exported), 'memory')} exported to {path} ({megabytes(len(text.encode('utf-8', 'replace')))})."
