"""Every MCP tool, called with arguments that its schema allows, nearly allows, or does not allow at all."""

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

from tests.fuzz.junk import JSON, TEXT, examples
from tests.fuzz.watching import nothing_outside
from tests.mcp_server.world import Claude, open_world, text_of


class Device:
    """A server with some memories, and its client; calls come from outside of its event loop."""

    def __init__(self, base: Path, portal: BlockingPortal) -> None:
        self.base = base
        self.portal = portal
        self.ids: list[str] = []
        self.schemas: dict[str, dict[str, Any]] = {}

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """While it serves."""
        async with open_world(self.base) as world, Client(world.server()) as self.client:
            claude = Claude(self.client)
            for number in range(4):
                self.ids.append(await claude.remember(f"# Memory {number}\n\ntext", tags=["one"]))
            listed = await self.client.list_tools()
            self.schemas = {tool.name: tool.input_schema for tool in listed.tools}
            yield

    def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """What the tool says, or the words of the protocol's error."""
        try:
            result = self.portal.call(self.client.call_tool, tool, arguments)
        except MCPError as error:
            return str(error)
        assert isinstance(result, CallToolResult)
        return text_of(result)


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Device]:
    patch = pytest.MonkeyPatch()
    base = tmp_path_factory.mktemp("tools")
    patch.setenv("HOME", str(base / "user"))
    (base / "user").mkdir()
    with start_blocking_portal() as portal:
        made = Device(base, portal)
        with portal.wrap_async_context_manager(made.opened()):
            yield made
    patch.undo()


def _fitting(schema: dict[str, Any], device: Device) -> st.SearchStrategy[Any]:
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of(*(_fitting(option, device) for option in schema["anyOf"]))
    match schema.get("type"):
        case "string":
            return TEXT | st.sampled_from([*device.ids, device.ids[0][:6], "7d", "learning", "all"])
        case "integer":
            return st.integers(-3, 50) | st.integers()
        case "number":
            return st.floats() | st.integers()
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(_fitting(schema.get("items", {}), device), max_size=4)
        case _:
            return JSON


def _arguments(schema: dict[str, Any], device: Device) -> st.SearchStrategy[dict[str, Any]]:
    values = {name: _fitting(value, device) for name, value in schema.get("properties", {}).items()}
    required = {name: values[name] for name in schema.get("required", [])}
    optional = {name: value for name, value in values.items() if name not in required}
    fitting = st.fixed_dictionaries(required, optional=optional)
    bent = st.fixed_dictionaries({}, optional={name: value | JSON for name, value in values.items()})
    return (fitting | fitting | bent | st.dictionaries(TEXT, JSON, max_size=3)).map(_sendable)


def _sendable(value: Any) -> Any:
    """Without broken characters: no client of this kind can send them."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_sendable(inner) for inner in value]
    if isinstance(value, dict):
        return {_sendable(key): _sendable(inner) for key, inner in value.items()}
    return value


TOOLS = (
    "remember",
    "recall",
    "get_context",
    "list",
    "update",
    "forget",
    "status",
    "search_documents",
    "get_document",
    "restore",
    "history",
    "undo_last_change",
    "link_memories",
    "get_related",
    "merge_memories",
    "visualize_graph",
    "cleanup",
    "batch_tag",
    "batch_delete",
    "get_statistics",
    "project_status",
    "export_memories",
    "list_conflicts",
    "resolve_conflict",
    "pattern_store",
    "pattern_search",
    "pattern_mature",
    "pattern_mark_as_skill",
    "configure_storage",
)


def test_every_tool_is_among_those_that_are_tried(device: Device) -> None:
    assert set(TOOLS) == set(device.schemas)


@pytest.mark.parametrize("tool", TOOLS)
def test_no_arguments_make_a_tool_fail_in_its_own_code(
    device: Device, tool: str, caplog: pytest.LogCaptureFixture
) -> None:
    @settings(
        max_examples=examples(12), deadline=None, database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )  # fmt: skip
    @given(_arguments(device.schemas[tool], device))
    def try_it(arguments: dict[str, Any]) -> None:
        for key in ("path", "file"):
            if isinstance(arguments.get(key), str) and tool in ("configure_storage", "export_memories"):
                arguments = {**arguments, key: f"{device.base}/{arguments[key].lstrip('/')}"}
        caplog.clear()
        with caplog.at_level(logging.ERROR), nothing_outside(device.base):
            said = device.call(tool, arguments)
        assert "claude-memory doctor" not in said, said
        assert caplog.records == [], caplog.text

    try_it()
    assert "Memories" in device.call("status", {}) or device.call("status", {})
