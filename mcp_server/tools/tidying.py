"""cleanup, batch_tag, batch_delete: one change to many memories."""

from typing import Annotated, Any, Literal

from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver import Context, Resolve
from mcp.server.mcpserver.resolve import Elicit
from pydantic import Field

from mcp_server.budget import DEFAULT_TOKENS
from mcp_server.confirm import DECLINED, GO_ON, Confirmation, ask, consented
from mcp_server.session import Session
from mcp_server.text import fitting, inline, line, plural
from mcp_server.tools.arguments import CategoryFilter
from mcp_server.tools.registry import tool
from memory_cache.models import BatchResult, Filter

_TITLES_SHOWN = 5


def _report(head: str, result: BatchResult, session: Session, tail: str) -> str:
    lines, left_out = fitting([line(memory, session.now()) for memory in result.memories], DEFAULT_TOKENS)
    more = [f"and {left_out:,} more"] if left_out else []
    skipped = [f"Skipped: {reason}" for reason in result.skipped[:_TITLES_SHOWN]]
    if len(result.skipped) > _TITLES_SHOWN:
        skipped.append(f"Skipped {len(result.skipped) - _TITLES_SHOWN} more.")
    return "\n".join(part for part in (head, *lines, *more, *skipped, tail) if part)


def _question(what: str, result: BatchResult) -> str:
    shown = "; ".join(inline(memory.title) for memory in result.memories[:_TITLES_SHOWN])
    more = len(result.memories) - _TITLES_SHOWN
    return f"{what} {shown}{f' and {more:,} more' if more > 0 else ''}. Restore brings them back. Go on?"


async def _ask_cleanup(ctx: Context[Session, Any], dryRun: bool) -> Confirmation | Elicit[Confirmation]:  # noqa: N803
    if dryRun:
        return GO_ON
    cache = ctx.request_context.lifespan_context.cache
    found = await cache.batch_delete(filter=Filter(), query=None, expired=True, stale=False, dry_run=True)
    if not found.memories:
        return GO_ON
    count = plural(len(found.memories), "expired memory")
    return ask(ctx, _question(f"Move {count} to the trash:", found))


@tool("Clean up expired memories", destructive=True, idempotent=True)
async def cleanup(
    ctx: Context[Session, Any],
    answer: Annotated[ElicitationResult[Confirmation], Resolve(_ask_cleanup)],
    dry_run: Annotated[bool, Field(alias="dryRun", description="Only show them")] = False,
) -> str:
    """Move expired memories to the trash now, or show which ones are expired. They are hidden from recall already,
    and go by themselves after some days."""
    if not consented(answer):
        return DECLINED
    session = ctx.request_context.lifespan_context
    result = await session.cache.batch_delete(filter=Filter(), query=None, expired=True, stale=False, dry_run=dry_run)
    if not result.memories:
        return "No memory is expired."
    count = plural(len(result.memories), "expired memory")
    if dry_run:
        return _report(
            f"{count}:", result, session, "Nothing was changed. cleanup without dryRun moves them to the trash."
        )
    return _report(f"{count} moved to the trash:", result, session, "restore brings one back; undo_last_change all.")


@tool("Tag many memories", idempotent=True)
async def batch_tag(
    ctx: Context[Session, Any],
    tag: Annotated[str, Field(description="Tag to add or remove")],
    operation: Literal["add", "remove"] = "add",
    query: Annotated[str | None, Field(description="Only memories that hold all these words")] = None,
    category: CategoryFilter = None,
    dry_run: Annotated[bool, Field(alias="dryRun", description="Only show them")] = False,
) -> str:
    """Add a tag to many memories at once, or take it off, to group or rename what is filed. Without query and
    category it means every memory."""
    session = ctx.request_context.lifespan_context
    result = await session.cache.batch_tag(
        tag, remove=operation == "remove", filter=Filter(category=category), query=query, dry_run=dry_run
    )
    name = inline(tag)
    if not result.memories and not result.skipped:
        already = "none of them has" if operation == "remove" else "all of them have"
        return f"No memory to change: none matches, or {already} the tag {name}."
    count = plural(len(result.memories), "memory")
    if dry_run:
        verb = "lose" if operation == "remove" else "get"
        return _report(f"{count} would {verb} the tag {name}:", result, session, "Nothing was changed (dryRun).")
    verb = "lost" if operation == "remove" else "got"
    return _report(f"{count} {verb} the tag {name}:", result, session, "undo_last_change takes this back.")


async def _ask_delete(
    ctx: Context[Session, Any],
    category: str | None,
    expired: bool,
    stale: bool,
    query: str | None,
    dryRun: bool,  # noqa: N803 - the argument's published name
) -> Confirmation | Elicit[Confirmation]:
    if dryRun:
        return GO_ON
    cache = ctx.request_context.lifespan_context.cache
    found = await cache.batch_delete(
        filter=Filter(category=category), query=query, expired=expired, stale=stale, dry_run=True
    )
    if not found.memories:
        return GO_ON
    return ask(ctx, _question(f"Move {plural(len(found.memories), 'memory')} to the trash:", found))


@tool("Delete many memories", destructive=True, idempotent=True)
async def batch_delete(
    ctx: Context[Session, Any],
    answer: Annotated[ElicitationResult[Confirmation], Resolve(_ask_delete)],
    category: CategoryFilter = None,
    expired: Annotated[bool, Field(description="Only expired ones")] = False,
    stale: Annotated[bool, Field(description="Only ones without expiry, not updated for 90 days")] = False,
    query: Annotated[str | None, Field(description="Only ones that hold all these words")] = None,
    dry_run: Annotated[bool, Field(alias="dryRun", description="Only show what would go")] = True,
) -> str:
    """Move all memories that meet every given condition to the trash, when the user wants to tidy up. Shows them
    first; call again with dryRun=false once the user agreed."""
    if not consented(answer):
        return DECLINED
    session = ctx.request_context.lifespan_context
    result = await session.cache.batch_delete(
        filter=Filter(category=category), query=query, expired=expired, stale=stale, dry_run=dry_run
    )
    if not result.memories:
        return "No memory meets these conditions. Nothing was changed."
    count = plural(len(result.memories), "memory")
    if dry_run:
        tail = "Nothing was changed. Call again with dryRun=false to move them to the trash."
        return _report(f"{count} would go to the trash:", result, session, tail)
    return _report(f"{count} moved to the trash:", result, session, "restore brings one back; undo_last_change all.")
