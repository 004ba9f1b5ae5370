"""list_conflicts, resolve_conflict: two devices changed the same lines."""

import difflib
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult
from pydantic import Field

from mcp_server.budget import DEFAULT_TOKENS, MAX_TOKENS, cut
from mcp_server.session import Session
from mcp_server.text import day, fenced, fitting, inline, plural
from mcp_server.tools.registry import tool
from mcp_server.tools.remembering import with_link
from memory_cache.errors import UnknownMemory
from memory_cache.models import Conflict

_HOW = 'resolve_conflict(id, keep="mine"|"theirs"|"both"), or with content: the merged text.'


@tool("List conflicts", read_only=True)
async def list_conflicts(
    ctx: Context[Session, Any],
    id: Annotated[str | None, Field(description="Show this one whole")] = None,
) -> str:
    """Show memories that two devices changed in the same lines, when status counts conflicts or a memory looks
    wrong. Nothing is lost: one version stands, the other is kept until it is settled."""
    conflicts = await ctx.request_context.lifespan_context.cache.conflicts()
    if id is not None:
        return _whole(conflicts, id)
    if not conflicts:
        return "No open conflicts."
    kept, left_out = fitting([_entry(conflict) for conflict in conflicts], DEFAULT_TOKENS)
    more = [f"{left_out} more; settle these first."] if left_out else []
    head = (
        f"{plural(len(conflicts), 'open conflict')}. Lines with - stand now (mine), lines with + are the other version."
    )
    return "\n\n".join([head, *kept, *more, _HOW])


def _entry(conflict: Conflict) -> str:
    lines = difflib.unified_diff(conflict.mine.splitlines(), conflict.theirs.splitlines(), "mine", "theirs", "", "", 1)
    text, left_out = cut("\n".join(lines), 400)
    more = f"\n[{left_out} more characters: list_conflicts with this id]" if left_out else ""
    return f"{_head(conflict)}\n{fenced(text, 'diff')}{more}"


def _head(conflict: Conflict) -> str:
    device = f" from device {inline(conflict.device)}" if conflict.device else ""
    gone = "" if conflict.mine else "; the memory itself was deleted"
    title = inline(conflict.title)
    return f"### {title}\nID: {conflict.id}\nmemory `{conflict.memory_id[:8]}`, {day(conflict.at)}{device}{gone}"


def _whole(conflicts: Any, wanted: str) -> str:
    found = [conflict for conflict in conflicts if wanted.strip() and conflict.id.startswith(wanted.strip())]
    if len(found) != 1:
        ids = ", ".join(conflict.id for conflict in conflicts[:10]) or "none"
        raise UnknownMemory(f"No single open conflict has the id {wanted.strip()!r}.", f"Open conflicts: {ids}.")
    share = MAX_TOKENS // 3
    parts = [_head(found[0])]
    for name, text in (("Stands now (mine)", found[0].mine), ("Other version (theirs)", found[0].theirs)):
        shown, left_out = cut(text, share)
        parts.append(f"#### {name}\n{fenced(shown)}" + (f"\n[{left_out} more characters]" if left_out else ""))
    return "\n\n".join([*parts, _HOW])


@tool("Resolve conflict")
async def resolve_conflict(
    ctx: Context[Session, Any],
    id: Annotated[str, Field(description="From list_conflicts")],
    keep: Annotated[
        Literal["mine", "theirs", "both"] | None, Field(description="mine: what stands now; theirs: the other")
    ] = None,
    content: Annotated[str | None, Field(description="Or a text merged from both")] = None,
) -> CallToolResult:
    """Settle a conflict after you compared both versions, best with a text that unites them; ask the user when both
    cannot be true. Both versions stay in the memory's history."""
    memory = await ctx.request_context.lifespan_context.cache.resolve_conflict(id, keep=keep, content=content)
    how = f"kept {keep}" if keep else "with the merged text"
    return with_link(
        f"Settled ({how}): {inline(memory.title)}\nID: {memory.id}\nBoth versions are in its history.", memory
    )
