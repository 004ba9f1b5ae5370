"""link_memories, get_related, merge_memories, visualize_graph: memories that belong together."""

from typing import Annotated, Any, Literal

from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver import Context, Resolve
from mcp.server.mcpserver.resolve import Elicit
from mcp_types import CallToolResult
from pydantic import Field

from mcp_server.budget import DEFAULT_TOKENS
from mcp_server.confirm import DECLINED, GO_ON, Confirmation, ask, consented
from mcp_server.mermaid import diagram
from mcp_server.session import Session
from mcp_server.text import fitting, inline, line, plural
from mcp_server.tools.arguments import Ids, MemoryId
from mcp_server.tools.registry import tool
from mcp_server.tools.remembering import text_answer, with_link
from memory_cache.errors import InvalidInput
from memory_cache.models import Memory

_NODES_SHOWN = 60


@tool("Link memories", idempotent=True)
async def link_memories(
    ctx: Context[Session, Any], id1: MemoryId, id2: MemoryId, operation: Literal["link", "unlink"] = "link"
) -> str:
    """Connect two memories that explain each other (a decision and the problem behind it), or end the connection.
    It goes in both directions."""
    one, other = await ctx.request_context.lifespan_context.cache.link(id1, id2, unlink=operation == "unlink")
    verb = "Linked" if operation == "link" else "No longer linked"
    return f"{verb}: `{one.id[:8]}` {inline(one.title)} and `{other.id[:8]}` {inline(other.title)}"


@tool("Related memories", read_only=True)
async def get_related(
    ctx: Context[Session, Any],
    id: MemoryId,
    depth: Annotated[int, Field(ge=1, le=10, description="Links to follow")] = 1,
) -> str:
    """List what is linked to a memory, when one that you recalled is not the whole story."""
    session = ctx.request_context.lifespan_context
    start = await session.cache.get(id)
    found = await session.cache.related(start.id, depth=depth)
    if not found:
        return f"Nothing is linked to {inline(start.title)} (`{start.id[:8]}`). link_memories makes a link."
    lines = [
        line(memory, session.now()) + ("" if distance == 1 else f" ({distance} links away)")
        for memory, distance in found
    ]
    kept, left_out = fitting(lines, DEFAULT_TOKENS)
    more = [f"{left_out} more; a smaller depth shows the nearest."] if left_out else []
    head = f"{plural(len(found), 'memory')} related to {inline(start.title)} (`{start.id[:8]}`):"
    return "\n".join([head, *kept, *more, "recall with an id as query shows one whole."])


async def _ask_merge(ctx: Context[Session, Any], ids: list[str]) -> Confirmation | Elicit[Confirmation]:
    cache = ctx.request_context.lifespan_context.cache
    if len(ids) < 2:
        raise InvalidInput("At least two memories are needed for a merge.", "Give the ids of two or more memories.")
    if await cache.done_before("merge", Memory):
        return GO_ON
    titles = [inline((await cache.get(memory_id)).title) for memory_id in ids]
    into = "; ".join(titles[1:])
    return ask(ctx, f'Merge into "{titles[0]}", and move these to the trash: {into}. Restore brings them back. Go on?')


@tool("Merge memories", destructive=True)
async def merge_memories(
    ctx: Context[Session, Any],
    ids: Annotated[Ids, Field(description="Two or more; the first one stays")],
    answer: Annotated[ElicitationResult[Confirmation], Resolve(_ask_merge)],
    title: Annotated[str | None, Field(description="Of the merged memory")] = None,
) -> CallToolResult:
    """Make one memory of several that say parts of the same. Texts, tags and links are united; links to the others
    then point to it; the others go to the trash."""
    if not consented(answer):
        return text_answer(DECLINED)
    session = ctx.request_context.lifespan_context
    merged = await session.cache.merge(ids, title=title)
    text = (
        f"Merged {len(ids)} memories into: {inline(merged.title)}\nID: {merged.id}\n"
        f"{plural(len(ids) - 1, 'memory')} moved to the trash; undo_last_change takes all of this back."
    )
    return with_link(text, merged)


@tool("Draw the links", read_only=True)
async def visualize_graph(
    ctx: Context[Session, Any],
    from_id: Annotated[str | None, Field(alias="fromId", description="Start here; else all linked memories")] = None,
    depth: Annotated[int, Field(ge=1, le=10)] = 3,
) -> str:
    """Draw how memories are linked as a mermaid diagram, when the user wants to see it."""
    session = ctx.request_context.lifespan_context
    memories, edges = await session.cache.graph(from_id, depth=depth)
    if not edges:
        return "No memories are linked yet. link_memories makes a link."
    text, left_out = diagram(memories, edges, _NODES_SHOWN)
    more = f"\n\n{left_out} more memories are not drawn; fromId and a smaller depth show a part." if left_out else ""
    return f"{plural(len(memories), 'memory')}, {plural(len(edges), 'link')}.\n\n```mermaid\n{text}\n```{more}"
