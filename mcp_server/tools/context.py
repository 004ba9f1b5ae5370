"""get_context: what matters for this project now."""

from itertools import groupby
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from pydantic import Field

from mcp_server.budget import allowed, tokens
from mcp_server.session import Session, origin_words
from mcp_server.text import DATA_NOTICE, age, fenced, inline, plural
from mcp_server.tools.registry import tool
from memory_cache.models import ContextItem, ProjectContext

_SECTIONS = {
    "task": "Open tasks",
    "decision": "Decisions",
    "preference": "Preferences",
    "technology": "About the technologies in use",
    "recent": "Changed lately",
}


@tool("Project context", core=True, always_load=True, read_only=True)
async def get_context(
    ctx: Context[Session, Any],
    limit: Annotated[int, Field(ge=1, le=50, description="Per section")] = 5,
    verbose: Annotated[bool, Field(description="Say what was detected and why each is here")] = False,
) -> str:
    """Get an overview of what is known about this project when a session or a new task begins: open tasks,
    decisions, preferences, and notes on the technologies it uses."""
    session = ctx.request_context.lifespan_context
    return await overview(
        ctx, session, limit=limit, verbose=verbose, budget=allowed(None, session.cache.settings.recall.max_tokens)
    )


async def overview(ctx: Context[Session, Any], session: Session, *, limit: int, verbose: bool, budget: int) -> str:
    """The overview as text of about `budget` tokens."""
    project = await session.project(ctx)
    # Ids, headings and fences take their part of the budget.
    found = await session.cache.context(project, limit=limit, max_tokens=max(budget * 2 // 3, 100))
    where = f"Project: {origin_words(project)}" if project else "No project is known; these are global memories."
    detected = _detected(found, verbose)
    if not found.items:
        return "\n".join(
            part for part in (where, detected, "Nothing is remembered here yet. remember stores something.") if part
        )
    head = "\n".join(part for part in (where, detected, DATA_NOTICE) if part)
    sections: list[str] = []
    used, left_out = tokens(head), found.more
    for name, items in groupby(found.items, key=lambda item: item.section):
        heading = f"## {_SECTIONS.get(name, name)}"
        for item in items:
            text = _entry(item, session, verbose)
            if sections and used + tokens(text) > budget:
                left_out += 1
                continue
            sections += [heading, text] if heading else [text]
            heading = ""
            used += tokens(text) + 2
    tail = f"{left_out:,} more would be relevant: recall searches them, or raise limit." if left_out else ""
    return "\n\n".join(part for part in (head, *sections, tail) if part)


def _entry(item: ContextItem, session: Session, verbose: bool) -> str:
    memory = item.memory
    facts = [f"`{memory.id[:8]}`", "global" if memory.project_id is None else "this project"]
    if memory.priority != "normal":
        facts.append(f"{memory.priority} priority")
    facts.append(f"updated {age(memory.updated, session.now())}")
    if verbose:
        facts.append(f"here because: {inline(item.reason)}")
    body = item.text.strip("\n")
    head = f"### {inline(memory.title)}\n{' · '.join(facts)}"
    same = " ".join(body.lstrip("# ").split()) == memory.title
    return head if same or not body.strip() else f"{head}\n{fenced(body)}"


def _detected(found: ProjectContext, verbose: bool) -> str:
    if not found.technologies:
        return "Detected technologies: none" if verbose else ""
    names = [technology.name for technology in found.technologies]
    if not verbose:
        return f"Technologies: {', '.join(names[:12])}"
    lines = [f"- {technology.name} ({inline(technology.evidence)})" for technology in found.technologies[:40]]
    return "\n".join([f"Detected {plural(len(names), 'technology')}:", *lines])
