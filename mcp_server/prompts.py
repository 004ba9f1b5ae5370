"""Prompts that a person picks: they bring memories into the conversation, or ask Claude to tend them."""

import functools
from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.prompts import Prompt
from pydantic import Field

from mcp_server.session import Session, scope_of, scope_words
from mcp_server.text import DATA_NOTICE, blocks, inline, line, plural
from mcp_server.tools.context import overview
from memory_cache.models import Filter

_PROMPT_TOKENS = 4000


async def recall(ctx: Context[Session, Any], query: Annotated[str, Field(description="What to look for")]) -> str:
    """Bring what is remembered about something into the conversation."""
    session = ctx.request_context.lifespan_context
    project = await session.project(ctx)
    hits, more = await session.cache.recall(query, filter=Filter(scope=scope_of(project)), limit=10)
    where = scope_words(project)
    if not hits:
        return f'Nothing is remembered about "{inline(query)}" in {where}. Say so, and go on without it.'
    passages = {hit.memory.id: hit.passage for hit in hits}
    texts, _, left_out = blocks([hit.memory for hit in hits], session.now(), _PROMPT_TOKENS, passages)
    rest = f"{left_out + more} more match; the recall tool finds them." if left_out + more else ""
    head = f'What is remembered about "{inline(query)}" in {where}. {DATA_NOTICE}'
    return "\n\n".join(part for part in (head, *texts, rest) if part)


def remember_this(
    what: Annotated[str, Field(description="What to remember; empty: what matters of this conversation")] = "",
) -> str:
    """Have Claude store something, well put."""
    subject = f"this: {what}" if what.strip() else "what matters of this conversation for later sessions"
    return (
        f"Remember {subject}\n\nUse the remember tool, one self-contained fact per call: the first line a title, then "
        "what, why, and where it applies. Choose the category (decision, preference, learning, task, project) and a "
        "few tags. First recall what is already stored about it, and update that instead of storing it twice. Then "
        "tell me in one line each what you stored."
    )


async def project_briefing(ctx: Context[Session, Any]) -> str:
    """Begin a session with what is known about this project."""
    session = ctx.request_context.lifespan_context
    text = await overview(ctx, session, limit=10, verbose=False, budget=_PROMPT_TOKENS)
    return f"{text}\n\nBrief me from these notes: open tasks first, then decisions and conventions that bind us now."


async def weekly_review(ctx: Context[Session, Any]) -> str:
    """Go through the memories of the last week with Claude, and tidy them."""
    session = ctx.request_context.lifespan_context
    since = session.now() - timedelta(days=7)
    page = await session.cache.list(Filter(updated_after=since, with_expired=True), limit=100)
    if not page.memories:
        return "No memory was stored or changed in the last seven days. Tell me so; there is nothing to review."
    lines = [line(memory, session.now()) for memory in page.memories]
    more = [f"{page.more} more: the list tool shows them."] if page.more else []
    total = plural(len(page.memories) + page.more, "memory")
    return "\n".join(
        [
            f"{total} stored or changed in the last seven days, all projects. {DATA_NOTICE}",
            *lines,
            *more,
            "",
            "Review them with me: tasks that are done, notes that contradict or repeat each other, notes worth making "
            "global. Read the ones in doubt with recall. Propose updates, merges and removals, and apply only what I "
            "agree to.",
        ]
    )


@functools.cache
def built() -> tuple[Prompt, ...]:
    """All prompts, built once per process."""
    titles: dict[Callable[..., Any], str] = {
        recall: "Recall memories",
        remember_this: "Remember this",
        project_briefing: "Project briefing",
        weekly_review: "Weekly review",
    }
    return tuple(Prompt.from_function(function, title=title) for function, title in titles.items())
