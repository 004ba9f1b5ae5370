"""pattern_store, pattern_search, pattern_mature, pattern_mark_as_skill: from habits to skills."""

from itertools import groupby
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from pydantic import Field

from mcp_server.budget import DEFAULT_TOKENS
from mcp_server.session import Session, origin_words
from mcp_server.skill import draft, write_draft
from mcp_server.text import DATA_NOTICE, day, fenced, fitting, inline, plural
from mcp_server.tools.arguments import CategoryFilter, Ids, ProjectName
from mcp_server.tools.registry import tool
from memory_cache import health, patterns
from memory_cache.patterns import MATURE_COUNT, Pattern, Sighting

_CATEGORY = "A word for the kind, such as testing, git or deploy"


@tool("Note a recurring pattern")
async def pattern_store(
    ctx: Context[Session, Any],
    description: Annotated[str, Field(description="What is done and when, 10 to 1000 characters")],
    category: Annotated[str, Field(description=_CATEGORY)],
    project: ProjectName = None,
    example: Annotated[str | None, Field(description="How it was done here, 10 to 2000 characters")] = None,
) -> str:
    """Note a way of working that the user asks for again and again or that you repeat: each time you see it. Seen
    three times it is worth making into a skill. Without project it holds everywhere."""
    session = ctx.request_context.lifespan_context
    used = await session.project(ctx, project) if project is not None else None
    now = session.now()
    sighting = await session.cache.once(
        "pattern_store",
        Sighting,
        lambda connection: patterns.store(
            connection,
            description=description,
            category=category,
            project=used,
            example=example,
            device=health.device(connection)[1],
            now=now,
        ),
    )
    pattern = sighting.pattern
    lines = [
        f"{'Noted a new pattern' if sighting.is_new else 'Seen again'}: {inline(pattern.description)}",
        f"ID: {pattern.id}",
        f"Category: {pattern.category} · project: {origin_words(used) if used else 'global'}",
        f"Seen {plural(pattern.count, 'time')}" + (f" on {pattern.devices} devices" if pattern.devices > 1 else ""),
    ]
    if not sighting.is_new and sighting.alike < 1:
        lines.append(f"Taken for the same as what is noted ({sighting.alike:.0%} alike).")
    if pattern.skill_at is not None:
        lines.append(f"A skill was made of it on {day(pattern.skill_at)}.")
    elif pattern.mature:
        lines.append(
            f"It has been seen {pattern.count} times: a skill can be made of it. Ask the user; if they agree, "
            "pattern_mark_as_skill writes a draft."
        )
    return "\n".join(lines)


def _entry(pattern: Pattern) -> str:
    facts = [pattern.category, f"seen {plural(pattern.count, 'time')}", f"last {day(pattern.last_seen)}"]
    facts.append(f"project {inline(pattern.project_id)}" if pattern.project_id else "global")
    if pattern.skill_at is not None:
        facts.append("skill")
    elif pattern.mature:
        facts.append("ready to become a skill")
    example = f"\nExample:\n{fenced(pattern.examples[0][:300])}" if pattern.examples else ""
    return f"### {inline(pattern.description)[:200]}\nID: {pattern.id}\n{' · '.join(facts)}{example}"


@tool("Search patterns", read_only=True)
async def pattern_search(
    ctx: Context[Session, Any],
    query: str,
    category: CategoryFilter = None,
    project: Annotated[ProjectName, Field(description="Patterns of this project and global ones; else all")] = None,
    min_count: Annotated[int, Field(ge=1, description="Seen at least so often")] = 1,
    limit: Annotated[int, Field(ge=1, le=100)] = 10,
) -> str:
    """Find ways of working that were noted before, before you start a kind of work that may have one."""
    session = ctx.request_context.lifespan_context
    used = await session.project(ctx, project) if project is not None else None
    key = used.key if used else None
    found, more = await session.cache.database.read(
        lambda connection: patterns.search(
            connection, query, category=category, project_key=key, min_count=min_count, limit=limit
        )
    )
    if not found:
        return f'No patterns found for "{inline(query)}". pattern_store notes one.'
    kept, left_out = fitting([_entry(pattern) for pattern, _ in found], DEFAULT_TOKENS)
    left_out += more
    tail = [f"{left_out} more match: use more specific words, or category."] if left_out else []
    head = f'{plural(len(found) + more, "pattern")} for "{inline(query)}". {DATA_NOTICE}'
    return "\n\n".join([head, *kept, *tail])


@tool("Patterns ready to become skills", read_only=True)
async def pattern_mature(
    ctx: Context[Session, Any],
    min_count: Annotated[int, Field(ge=1)] = MATURE_COUNT,
    category: CategoryFilter = None,
    exclude_created: Annotated[bool, Field(description="Without those that are skills already")] = True,
) -> str:
    """List patterns that were seen often enough to be made into skills, when the user asks what could be automated."""
    session = ctx.request_context.lifespan_context
    found = await session.cache.database.read(
        lambda connection: patterns.mature(
            connection, min_count=min_count, category=category, exclude_created=exclude_created
        )
    )
    if not found:
        return f"No pattern has been seen {plural(min_count, 'time')} yet. pattern_store counts them."
    ordered = sorted(found, key=lambda pattern: (pattern.category, -pattern.count))
    kept, left_out = fitting([_entry(pattern) for pattern in ordered], DEFAULT_TOKENS)
    sections: list[str] = []
    for name, members in groupby(zip(ordered, kept, strict=False), key=lambda pair: pair[0].category):
        sections += [f"## {inline(name)}", *(text for _, text in members)]
    tail = [f"{left_out} more: narrow with category or a higher min_count."] if left_out else []
    head = f"{plural(len(found), 'pattern')} seen {plural(min_count, 'time')} or more."
    return "\n\n".join([head, *sections, *tail, "pattern_mark_as_skill with an ID writes a draft SKILL.md."])


@tool("Make patterns into skills", idempotent=True)
async def pattern_mark_as_skill(
    ctx: Context[Session, Any],
    pattern_ids: Annotated[Ids, Field(description="IDs from pattern_store, pattern_search or pattern_mature")],
) -> str:
    """Mark patterns as made into skills, once the user agreed, and get a draft SKILL.md for each."""
    session = ctx.request_context.lifespan_context
    now = session.now()
    marked = await session.cache.database.write(lambda connection: patterns.mark_as_skill(connection, pattern_ids, now))
    lines = [f"{plural(len(marked), 'pattern')} marked as a skill."]
    drafts = []
    home = await session.home()
    for pattern in marked:
        path = await write_draft(home, pattern)
        lines.append(f"- {inline(pattern.description)}\n  ID: {pattern.id}\n  Draft: {path}")
        drafts.append(fenced(draft(pattern)))
    kept, left_out = fitting(drafts, DEFAULT_TOKENS)
    more = [f"{left_out} more drafts are in the files named above."] if left_out else []
    return "\n\n".join(
        [
            "\n".join(lines),
            *kept,
            *more,
            "Review a draft with the user, then put it into .claude/skills/<name>/SKILL.md.",
        ]
    )
