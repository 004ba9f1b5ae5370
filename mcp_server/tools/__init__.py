"""The tools, one topic per file. Each is a thin function over the memory cache."""

import functools
from typing import Literal

from mcp.server.mcpserver.tools import Tool

from mcp_server.tools import (
    conflicts,
    context,
    documents,
    insight,
    linking,
    patterns,
    recalling,
    remembering,
    state,
    tidying,
)
from mcp_server.tools.registry import Declared

DECLARED: tuple[Declared, ...] = (
    remembering.remember,
    recalling.recall,
    context.get_context,
    recalling.list_memories,
    remembering.update,
    remembering.forget,
    state.status,
    documents.search_documents,
    documents.get_document,
    remembering.restore,
    remembering.history,
    remembering.undo_last_change,
    linking.link_memories,
    linking.get_related,
    linking.merge_memories,
    linking.visualize_graph,
    tidying.cleanup,
    tidying.batch_tag,
    tidying.batch_delete,
    insight.get_statistics,
    insight.project_status,
    insight.export_memories,
    conflicts.list_conflicts,
    conflicts.resolve_conflict,
    patterns.pattern_store,
    patterns.pattern_search,
    patterns.pattern_mature,
    patterns.pattern_mark_as_skill,
    state.configure_storage,
)

Profile = Literal["full", "core"]


@functools.cache
def built(profile: Profile) -> tuple[Tool, ...]:
    """The tools of a profile, built once per process."""
    return tuple(declared.build() for declared in DECLARED if declared.core or profile == "full")
