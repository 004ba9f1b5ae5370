"""recall, list, get_context: finding memories."""

import re
from datetime import datetime, timedelta
from itertools import groupby
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from pydantic import Field

from mcp_server.budget import allowed, tokens
from mcp_server.session import Session, scope_of, scope_words
from mcp_server.text import DATA_NOTICE, block, blocks, fitting, inline, line, most_blocks, plural
from mcp_server.tools.arguments import CategoryFilter, MaxTokens, ProjectName, Tags
from mcp_server.tools.registry import tool
from memory_cache.errors import AmbiguousId, InvalidInput, UnknownMemory
from memory_cache.models import Filter, Hit, Memory, Scope

_ID = re.compile(r"(?:id:\s*)?([0-9a-f]{8}(?:-[0-9a-f-]{1,27})?)", re.IGNORECASE)


@tool("Recall memories", core=True, always_load=True, read_only=True)
async def recall(
    ctx: Context[Session, Any],
    query: Annotated[str | None, Field(description="Words, a question, or an id; empty: the most recent")] = None,
    category: CategoryFilter = None,
    is_global: Annotated[bool, Field(alias="global", description="Only global ones")] = False,
    everything: Annotated[bool, Field(alias="all", description="All projects")] = False,
    limit: Annotated[int, Field(ge=1, le=1000)] = 10,
    tags: Annotated[Tags, Field(description="Having all of these")] = [],  # noqa: B006 - pydantic copies it
    since_days: Annotated[int | None, Field(ge=1, le=36500, description="Updated in the last days")] = None,
    max_tokens: MaxTokens = None,
    titles: Annotated[bool, Field(description="Only titles with ids and tokens of the text")] = False,
    explain: Annotated[bool, Field(description="Say why each ranks where it does")] = False,
) -> str:
    """Search what is known from earlier sessions. Call it before you start a task, choose an approach, debug, or
    ask the user something they may have said before. Searches this project and global memories."""
    session = ctx.request_context.lifespan_context
    now = session.now()
    project = None if everything or is_global else await session.project(ctx)
    scope = scope_of(project, only_global=is_global, everything=everything)
    where = scope_words(project, only_global=is_global, everything=everything)
    query = (query or "").strip() or None
    budget = allowed(max_tokens, session.cache.settings.recall.max_tokens)
    named = await _named(session, query)
    if named is not None:
        return _one(named, now, budget)
    conditions = Filter(
        scope=scope,
        category=category,
        tags=tuple(tags),
        updated_after=None if since_days is None else now - timedelta(days=since_days),
    )
    # More than fit into the answer need not be fetched; they count as more.
    most = min(limit, most_blocks(budget))
    hits, more = await session.cache.recall(query, filter=conditions, limit=most, explain=explain)
    if not hits:
        return _nothing(query, conditions, where, since_days)
    about = f'for "{inline(query)}"' if query else "most recently updated"
    head = f"{plural(len(hits) + more, 'memory')} {about} in {where}. {DATA_NOTICE}"
    if titles:
        return _titles(head, hits, more, now, budget, explain=explain)
    found = [hit.memory for hit in hits]
    room = budget * 3 // 4 if explain else budget
    texts, shortened, left_out = blocks(found, now, room, {hit.memory.id: hit.passage for hit in hits})
    why, _ = fitting([_why(hit) for hit in hits[: len(texts)]] if explain else [], budget - room)
    return "\n\n".join([head, *texts, *(["\n".join(why)] if why else []), *_continuation(left_out + more, shortened)])


def _titles(head: str, hits: list[Hit], more: int, now: datetime, budget: int, *, explain: bool) -> str:
    lines = [
        f"{line(hit.memory, now)} · {tokens(hit.memory.content)} tokens" + (f"\n  {_why(hit)}" if explain else "")
        for hit in hits
    ]
    shown, left_out = fitting(lines, budget)
    tail = ["recall with an id as query shows one whole.", *_continuation(left_out + more, [])]
    return "\n\n".join([head, "\n".join(shown), "\n".join(tail)])


def _why(hit: Hit) -> str:
    return f"why `{hit.memory.id[:8]}`: {inline(hit.why)}"


async def _named(session: Session, query: str | None) -> Memory | None:
    match = _ID.fullmatch(query) if query else None
    if match is None:
        return None
    try:
        return await session.cache.get(match[1].lower())
    except (UnknownMemory, AmbiguousId, InvalidInput):
        return None  # eight hex digits may be a commit: search for them as text


def _one(memory: Memory, now: datetime, budget: int) -> str:
    text, left_out = block(memory, now, budget=budget)
    tail = [f"Whole text: memory://{memory.id}, or recall this id with a larger max_tokens."] if left_out else []
    return "\n\n".join([f"1 memory with this id. {DATA_NOTICE}", text, *tail])


def _continuation(more: int, shortened: list[Memory]) -> list[str]:
    lines = []
    if shortened:
        ids = ", ".join(f"`{memory.id[:8]}`" for memory in shortened[:5])
        lines.append(f"Cut: {ids}. recall with the id as query shows one whole.")
    if more:
        lines.append(f"{more:,} more match: raise limit or max_tokens, or narrow with category, tags or since_days.")
    return ["\n".join(lines)] if lines else []


def _nothing(query: str | None, conditions: Filter, where: str, since_days: int | None) -> str:
    about = f' for "{inline(query)}"' if query else ""
    narrowed = []
    if conditions.category:
        narrowed.append(f"category {inline(conditions.category)}")
    if conditions.tags:
        narrowed.append(f"tags {', '.join(inline(tag) for tag in conditions.tags)}")
    if since_days is not None:
        narrowed.append(f"the last {plural(since_days, 'day')}")
    limits = f" with {' and '.join(narrowed)}" if narrowed else ""
    wider = "" if conditions.scope.everything else ", or all=true to search every project"
    return f"No memories found{about} in {where}{limits}. Try other words or fewer filters{wider}."


@tool("List memories", name="list", core=True, read_only=True)
async def list_memories(
    ctx: Context[Session, Any],
    category: CategoryFilter = None,
    project: ProjectName = None,
    project_only: Annotated[bool, Field(alias="projectOnly", description="Without global ones")] = False,
    tag: Annotated[str | None, Field(description="Only with this tag")] = None,
    limit: Annotated[int, Field(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Field(description="From the previous answer")] = None,
) -> str:
    """List memory titles with their ids, to see what there is or to find an id. For content use recall."""
    session = ctx.request_context.lifespan_context
    used = await session.project(ctx, project) if project or project_only else None
    if project_only and used is None:
        raise InvalidInput("This session has no project.", "Pass project, or leave out projectOnly.")
    scope = Scope.all() if used is None else Scope(project_key=used.key, with_global=not project_only)
    where = "all projects" if used is None else f"project {used.name}" + ("" if project_only else " and global")
    conditions = Filter(scope=scope, category=category, tags=(tag,) if tag else (), with_expired=True)
    page = await session.cache.list(conditions, limit=limit, cursor=cursor)
    if not page.memories:
        narrowed = f" with category {inline(category)}" if category else ""
        narrowed += f" with tag {inline(tag)}" if tag else ""
        return f"No memories found in {where}{narrowed}. remember stores one."
    groups = _by_category(page.memories, session.now())
    total = plural(len(page.memories) + page.more, "memory") + (" from here on" if cursor else "")
    tail = f'{page.more:,} more: call list with the same arguments and cursor="{page.cursor}".' if page.more else ""
    return "\n\n".join(part for part in (f"{total} in {where}.", *groups, tail) if part)


def _by_category(memories: tuple[Memory, ...], now: datetime) -> list[str]:
    ordered = sorted(memories, key=lambda memory: memory.category)
    groups = []
    for category, members in groupby(ordered, key=lambda memory: memory.category):
        lines = [line(memory, now) for memory in members]
        groups.append("\n".join([f"## {inline(category)} ({len(lines)})", *lines]))
    return groups
