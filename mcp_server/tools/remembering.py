"""remember, update, forget, restore, history, undo_last_change: what changes one memory, and takes it back."""

from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, ResourceLink, TextContent
from pydantic import Field

from mcp_server.budget import DEFAULT_TOKENS, cut
from mcp_server.session import Session, origin_words
from mcp_server.text import DATA_NOTICE, day, facts, fenced, fitting, inline, minute, plural
from mcp_server.tools.arguments import Category, MemoryId, OptionalTags, Priority, ProjectName, Tags, Ttl
from mcp_server.tools.registry import tool
from memory_cache.errors import InvalidInput
from memory_cache.models import Change, Draft, Memory, Project, Remembered


def with_link(text: str, memory: Memory) -> CallToolResult:
    """An answer and a link to the whole memory."""
    link = ResourceLink(
        uri=f"memory://{memory.id}", name=memory.id[:8], title=inline(memory.title), mime_type="text/markdown"
    )
    return CallToolResult(content=[TextContent(type="text", text=text), link])


def text_answer(text: str) -> CallToolResult:
    """An answer of text alone."""
    return CallToolResult(content=[TextContent(type="text", text=text)])


@tool("Remember", core=True, always_load=True)
async def remember(
    ctx: Context[Session, Any],
    category: Category,
    content: Annotated[str, Field(description="Markdown, self-contained; first line is the title")],
    tags: Tags = [],  # noqa: B006 - pydantic copies it
    is_global: Annotated[bool, Field(alias="global", description="For every project")] = False,
    priority: Priority = "normal",
    ttl: Ttl = None,
    project: ProjectName = None,
    title: str | None = None,
) -> CallToolResult:
    """Store something worth knowing in later sessions, as soon as you learn it: a decision and its reason, a
    preference of the user, a fix that took effort, how a project works, an open task; always when the user says
    "remember". One fact per call. No secrets."""
    session = ctx.request_context.lifespan_context
    if is_global and project is not None:
        raise InvalidInput("A memory is either global or of one project.", "Leave out global or project.")
    used = None if is_global else await session.project(ctx, project)
    draft = Draft(
        content=content, category=category, tags=tuple(tags), title=title, project=used, priority=priority, ttl=ttl
    )
    remembered = await session.cache.remember(draft)
    return with_link(_remembered(remembered, used, asked_global=is_global), remembered.memory)


def _remembered(remembered: Remembered, project: Project | None, *, asked_global: bool) -> str:
    memory = remembered.memory
    lines = [f"Remembered: {inline(memory.title)}", f"ID: {memory.id}", f"Category: {memory.category}"]
    if project is not None:
        lines.append(f"Project: {origin_words(project)}")
    elif asked_global:
        lines.append("Project: global")
    else:
        lines.append("Project: global (this session has no project; pass project to name one)")
    if memory.tags:
        lines.append(f"Tags: {', '.join(memory.tags)}")
    if memory.priority != "normal":
        lines.append(f"Priority: {memory.priority}")
    if memory.expires_at is not None:
        lines.append(f"Expires: {day(memory.expires_at)}")
    lines += [f"Note: {warning}" for warning in remembered.warnings]
    if remembered.similar:
        lines.append("Similar memories exist. If one says the same, keep one: update it, or forget the other.")
    for similar in remembered.similar:
        difference = f"; differs in: {inline(similar.difference)}" if similar.difference else ""
        lines.append(f"- `{similar.id[:8]}` {inline(similar.title)} ({similar.score:.0%} alike{difference})")
    return "\n".join(lines)


@tool("Update memory", core=True, idempotent=True, destructive=True)
async def update(
    ctx: Context[Session, Any],
    id: MemoryId,
    content: Annotated[str | None, Field(description="Replaces the text")] = None,
    tags: Annotated[OptionalTags, Field(description="Replaces all tags")] = None,
    category: str | None = None,
    priority: Priority | None = None,
    ttl: Annotated[str | None, Field(description='As in remember; "none" removes it')] = None,
    is_global: Annotated[bool, Field(alias="global", description="Make it global")] = False,
    title: str | None = None,
) -> CallToolResult:
    """Correct or extend a memory when it is outdated, wrong or incomplete, instead of storing a second one. Only
    the given fields change; the old text stays in history."""
    change = Change(
        content=content,
        title=title,
        tags=None if tags is None else tuple(tags),
        category=category,
        priority=priority,
        ttl=ttl,
        make_global=is_global,
    )
    if change.is_empty():
        raise InvalidInput(
            "update needs something to change.", "Pass content, tags, category, priority, ttl, global or title."
        )
    session = ctx.request_context.lifespan_context
    memory = await session.cache.update(id, change)
    text = (
        f"Updated {', '.join(_changed(change))}: {inline(memory.title)}\nID: {memory.id}\n"
        f"{facts(memory, session.now())}\n"
        "The previous version is kept: history shows it, undo_last_change brings it back."
    )
    return with_link(text, memory)


def _changed(change: Change) -> list[str]:
    fields = ("content", "title", "tags", "category", "priority", "ttl")
    names = [name for name in fields if getattr(change, name) is not None]
    return [*names, *(["scope"] if change.make_global else [])]


@tool("Forget memory", core=True, destructive=True)
async def forget(ctx: Context[Session, Any], id: MemoryId) -> str:
    """Move one memory to the trash on all devices, when the user asks for it or it proved wrong or superseded.
    restore brings it back."""
    cache = ctx.request_context.lifespan_context.cache
    memory = await cache.forget(id)
    days = cache.settings.expiry.trash_days
    return (
        f"Forgotten: {inline(memory.title)}\nID: {memory.id}\n"
        f"It is in the trash for {days} days; restore with this id brings it back."
    )


@tool("Restore memory", idempotent=True)
async def restore(
    ctx: Context[Session, Any],
    id: MemoryId,
    revision: Annotated[int | None, Field(description="From history; without it: out of the trash")] = None,
) -> CallToolResult:
    """Bring a forgotten memory back from the trash, or an earlier version of a memory."""
    memory = await ctx.request_context.lifespan_context.cache.restore(id, revision)
    what = "Restored" if revision is None else f"Restored revision {revision} of"
    return with_link(f"{what}: {inline(memory.title)}\nID: {memory.id}", memory)


@tool("Memory history", read_only=True)
async def history(ctx: Context[Session, Any], id: MemoryId) -> str:
    """Show the earlier versions of a memory, when it changed in a way that needs explaining or undoing."""
    session = ctx.request_context.lifespan_context
    revisions = await session.cache.history(id)
    if not revisions:
        return f"No earlier versions of {id} are kept on this device: it was not changed here since it was stored."
    entries = []
    for revision in revisions:
        text, left_out = cut(revision.content, 200)
        more = f"\n[{left_out} more characters; restore with revision={revision.revision} brings it back whole]"
        entries.append(
            f"### Revision {revision.revision}: {inline(revision.title)}\n"
            f"replaced {minute(revision.replaced_at)} ({inline(revision.reason)})\n{fenced(text)}"
            + (more if left_out else "")
        )
    kept, left = fitting(entries, DEFAULT_TOKENS)
    head = f"{plural(len(revisions), 'earlier version')} of {revisions[0].memory_id}, newest first. {DATA_NOTICE}"
    tail = [f"{left} older versions are not shown; `claude-memory history {id}` lists all."] if left else []
    return "\n\n".join([head, *kept, *tail])


@tool("Undo last change")
async def undo_last_change(ctx: Context[Session, Any]) -> str:
    """Take back the last change that was made to the memories on this device (an update, forget, merge or other),
    when it was a mistake."""
    session = ctx.request_context.lifespan_context
    undone = await session.cache.undo_last_change()
    lines = [f"Undone: {undone.action} of {minute(undone.at)}"]
    lines += [f"- `{memory.id[:8]}` {inline(memory.title)}" for memory in undone.memories]
    lines += [f"Left as it is: {reason}" for reason in undone.left]
    kept, left_out = fitting(lines, DEFAULT_TOKENS)
    return "\n".join([*kept, *([f"and {left_out:,} more"] if left_out else [])])
