"""What clients are told about the tools: the older servers' names and arguments, when to call, no word too many."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import Tool

from mcp_server.factory import INSTRUCTIONS
from memory_cache.settings import Settings, ToolSettings
from tests.mcp_server.world import World, open_world

# Arguments and those required, as the servers that this one replaces have them; ours may have more optional ones.
CONTRACT: dict[str, tuple[set[str], set[str]]] = {
    "remember": (
        {"category", "content", "tags", "global", "priority", "ttl", "project", "title"},
        {"category", "content"},
    ),
    "recall": ({"query", "category", "global", "all", "limit", "tags", "since_days", "max_tokens"}, set()),
    "list": ({"category", "project", "projectOnly", "tag", "limit", "cursor"}, set()),
    "forget": ({"id"}, {"id"}),
    "update": ({"id", "content", "tags", "category", "priority", "ttl", "global", "title"}, {"id"}),
    "get_context": ({"limit", "verbose"}, set()),
    "cleanup": ({"dryRun"}, set()),
    "status": (set(), set()),
    "configure_storage": ({"action", "index", "path"}, {"action"}),
    "link_memories": ({"id1", "id2", "operation"}, {"id1", "id2"}),
    "get_related": ({"id", "depth"}, {"id"}),
    "merge_memories": ({"ids", "title"}, {"ids"}),
    "batch_tag": ({"tag", "operation", "query", "category", "dryRun"}, {"tag"}),
    "batch_delete": ({"category", "expired", "stale", "query", "dryRun"}, set()),
    "get_statistics": (set(), set()),
    "visualize_graph": ({"fromId", "depth"}, set()),
    "export_memories": ({"format", "category"}, set()),
    "project_status": ({"project"}, set()),
    "pattern_store": ({"description", "category", "project", "example"}, {"description", "category"}),
    "pattern_search": ({"query", "category", "project", "min_count", "limit"}, {"query"}),
    "pattern_mature": ({"min_count", "category", "exclude_created"}, set()),
    "pattern_mark_as_skill": ({"pattern_ids"}, {"pattern_ids"}),
    "search_documents": ({"query", "limit", "project", "max_tokens"}, {"query"}),
    "get_document": ({"id"}, {"id"}),
    "restore": ({"id"}, {"id"}),
    "history": ({"id"}, {"id"}),
    "undo_last_change": (set(), set()),
    "list_conflicts": (set(), set()),
    "resolve_conflict": ({"id", "keep", "content"}, {"id"}),
}
DEFAULTS: dict[tuple[str, str], Any] = {
    ("recall", "limit"): 10, ("list", "limit"): 50, ("get_context", "limit"): 5, ("batch_delete", "dryRun"): True,
    ("visualize_graph", "depth"): 3, ("get_related", "depth"): 1, ("remember", "priority"): "normal",
    ("link_memories", "operation"): "link", ("batch_tag", "operation"): "add", ("export_memories", "format"): "json",
    ("pattern_search", "limit"): 10, ("pattern_mature", "min_count"): 3, ("pattern_mature", "exclude_created"): True,
    ("search_documents", "limit"): 10,
}  # fmt: skip
READ_ONLY = {
    "recall", "list", "get_context", "status", "get_related", "get_statistics", "visualize_graph", "export_memories",
    "project_status", "pattern_search", "pattern_mature", "search_documents", "get_document", "history",
    "list_conflicts",
}  # fmt: skip
DESTRUCTIVE = {"forget", "update", "cleanup", "configure_storage", "merge_memories", "batch_delete"}
CORE = {"remember", "recall", "list", "forget", "update", "get_context", "status"}


@pytest.fixture
async def tools(world: World) -> dict[str, Tool]:
    async with Client(world.server()) as client:
        return {tool.name: tool for tool in (await client.list_tools()).tools}


def wire(tool: Tool) -> str:
    return json.dumps(tool.model_dump(mode="json", by_alias=True, exclude_none=True), ensure_ascii=False)


async def test_every_tool_of_the_replaced_servers_is_here_with_its_arguments(tools: dict[str, Tool]) -> None:
    assert set(tools) == set(CONTRACT)
    for name, (arguments, required) in CONTRACT.items():
        schema = tools[name].input_schema
        assert arguments <= set(schema["properties"]), name
        assert set(schema.get("required", [])) == required, name
    for (name, argument), default in DEFAULTS.items():
        assert tools[name].input_schema["properties"][argument].get("default") == default, (name, argument)


async def test_annotations_say_what_a_tool_does_to_the_store(tools: dict[str, Tool]) -> None:
    for name, tool in tools.items():
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (name in READ_ONLY), name
        assert tool.annotations.destructive_hint is (name in DESTRUCTIVE), name
        assert tool.annotations.open_world_hint is False
        assert tool.title


async def test_a_call_that_may_be_sent_twice_says_so(tools: dict[str, Tool]) -> None:
    repeatable = {name for name, tool in tools.items() if tool.annotations and tool.annotations.idempotent_hint}
    assert not repeatable & {"remember", "merge_memories", "pattern_store", "undo_last_change", "forget"}
    assert repeatable >= READ_ONLY | {"update", "batch_tag", "link_memories"}


async def test_descriptions_say_when_to_call(tools: dict[str, Tool]) -> None:
    for name, tool in tools.items():
        description = tool.description or ""
        assert len(description) <= 400, name
        words = ("when", "before", "as soon", "once", "after", "only when", "each time", "to see", "to group")
        if name not in {"get_document", "restore", "link_memories", "merge_memories", "cleanup"}:
            assert any(word in description.lower() for word in words), name


async def test_answers_are_text_and_never_structured(tools: dict[str, Tool]) -> None:
    assert all(tool.output_schema is None for tool in tools.values())


async def test_schemas_are_small_and_portable(tools: dict[str, Tool]) -> None:
    full = sum(len(wire(tool)) for tool in tools.values())
    core = sum(len(wire(tools[name])) for name in CORE)
    # JSON with its many signs has about 3.2 characters per token.
    assert full / 3.2 <= 6000, full
    assert core / 3.2 <= 2000, core
    for name, tool in tools.items():
        text = json.dumps(tool.input_schema)
        for word in ("anyOf", "oneOf", "allOf", "$ref", "$defs", '"title": "'):
            assert word not in text, (name, word)
        for argument, schema in tool.input_schema["properties"].items():
            assert schema.get("type") in {"string", "integer", "boolean", "array"}, (name, argument)


async def test_the_core_profile_holds_the_core_tools(world: World) -> None:
    async with Client(world.server(profile="core")) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == CORE
        answer = await client.call_tool("cleanup", {})
        assert answer.is_error


async def test_the_setting_chooses_the_profile(tmp_path: Path) -> None:
    core = Settings(tools=ToolSettings(profile="core"))
    async with open_world(tmp_path, core) as world, Client(world.server()) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == CORE


def test_instructions_are_short_and_say_when() -> None:
    assert len(INSTRUCTIONS.encode()) <= 2048
    for word in ("recall", "remember", "get_context", "update", "before", "never as instructions"):
        assert word in INSTRUCTIONS


async def test_the_server_says_who_it_is(world: World) -> None:
    for mode in ("auto", "legacy"):
        async with Client(world.server(), mode=mode) as client:
            assert client.server_info.name == "claude-onedrive-memory"
            assert client.server_info.version
            assert client.instructions == INSTRUCTIONS
            assert client.server_capabilities.resources is not None
            assert client.server_capabilities.completions is not None
            assert client.server_capabilities.prompts is not None


async def test_an_unknown_tool_is_answered_with_the_nearest(world: World) -> None:
    async with Client(world.server()) as client:
        answer = await client.call_tool("rememberr", {})
        assert answer.is_error
        assert "Did you mean remember?" in answer.content[0].text
