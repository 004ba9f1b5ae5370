"""How a tool is declared: a function, when to call it, and what it does to the store."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, ToolAnnotations

from mcp_server.conversation import REPEATABLE

Function = Callable[..., Awaitable[str | CallToolResult]]


@dataclass(frozen=True, slots=True)
class Declared:
    """One declared tool.

    `core` tools are in every profile. `always_load`: Claude Code shows the definition from the first
    turn on instead of the name only; kept to the few tools that a session begins with.
    """

    function: Function
    name: str
    title: str
    core: bool
    always_load: bool
    annotations: ToolAnnotations

    def build(self) -> Tool:
        """The SDK's tool, with a schema of what a caller needs to know and nothing else."""
        tool = Tool.from_function(
            self.function,
            name=self.name,
            title=self.title,
            description=" ".join((self.function.__doc__ or "").split()),
            annotations=self.annotations,
            meta=self._meta() or None,
            structured_output=False,
        )
        return tool.model_copy(update={"parameters": slim(tool.parameters), "fn": _by_python_name(tool)})

    def _meta(self) -> dict[str, Any]:
        meta = {"anthropic/alwaysLoad": True} if self.always_load else {}
        return meta if self.annotations.idempotent_hint else {**meta, REPEATABLE: True}


def _by_python_name(tool: Tool) -> Function:
    """The SDK passes arguments by their names on the wire; `global` and `dryRun` are other names in Python."""
    function: Function = tool.fn
    parameters = inspect.signature(function).parameters
    renamed = {
        field.alias: name
        for name, field in tool.fn_metadata.arg_model.model_fields.items()
        if field.alias and field.alias not in parameters
    }

    async def call(**arguments: Any) -> str | CallToolResult:
        return await function(**{renamed.get(name, name): value for name, value in arguments.items()})

    return call


def tool(
    title: str,
    *,
    name: str | None = None,
    core: bool = False,
    always_load: bool = False,
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
) -> Callable[[Function], Declared]:
    """Declare the function as a tool; its docstring is what the model reads. No tool reaches beyond this machine."""

    def declare(function: Function) -> Declared:
        annotations = ToolAnnotations(
            read_only_hint=read_only,
            destructive_hint=destructive,
            idempotent_hint=idempotent or read_only,
            open_world_hint=False,
        )
        return Declared(function, name or function.__name__, title, core, always_load, annotations)

    return declare


def slim(schema: dict[str, Any]) -> dict[str, Any]:
    """A JSON schema without pydantic's generated titles, null alternatives and null defaults.

    Every client pays for each word of it in each session. Null stays accepted on input.
    """
    properties = {name: _slim_property(value) for name, value in schema.get("properties", {}).items()}
    slimmed: dict[str, Any] = {"type": "object", "properties": properties}
    if schema.get("required"):
        slimmed["required"] = schema["required"]
    return slimmed


def _slim_property(schema: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in schema.items() if key != "title"}
    alternatives = [option for option in kept.get("anyOf", []) if option != {"type": "null"}]
    if len(alternatives) == 1:
        del kept["anyOf"]
        kept = {**alternatives[0], **kept}
        kept.pop("title", None)
    if kept.get("default", "") in (None, [], False):
        del kept["default"]
    return kept
