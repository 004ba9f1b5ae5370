"""The MCP server class: the SDK's, with this project's error texts, resources and session.

The SDK passes on only the text of a `ToolError`. So that a tool can simply let an error of the memory
through, errors are turned into sentences here, once, for every tool.
"""

import difflib
import hashlib
import json
import logging
import traceback
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.server.mcpserver.prompts import Prompt
from mcp.server.mcpserver.tools import Tool
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus
from mcp_types import CallToolResult, InputRequiredResult, Resource, ResourceTemplate, TextContent
from pydantic import ValidationError

from mcp_server import resources
from mcp_server.budget import guard
from mcp_server.conversation import REPEATED
from mcp_server.session import Session
from memory_cache import requests
from memory_cache.errors import InvalidInput, MemoryCacheError, UnknownMemory

_MOST_PEERS = 1000

_log = logging.getLogger(__name__)


class MemoryServer(MCPServer[Session]):
    """One server per connection: making one costs well under a millisecond, since tools are built once."""

    def __init__(
        self,
        session: Session,
        *,
        version: str,
        instructions: str,
        tools: Sequence[Tool],
        prompts: Sequence[Prompt],
    ) -> None:
        self.session = session
        self.bus = InMemorySubscriptionBus()
        self._by_name = {tool.name: tool for tool in tools}

        @asynccontextmanager
        async def lifespan(_: MCPServer[Session]) -> AsyncIterator[Session]:
            yield session

        super().__init__(
            "claude-onedrive-memory",
            title="Claude OneDrive Memory",
            version=version,
            instructions=instructions,
            tools=list(tools),
            lifespan=lifespan,
            subscriptions=self.bus,
            log_level="WARNING",
        )
        for prompt in prompts:
            self.add_prompt(prompt)
        self.legacy_peers: dict[str, ServerSession] = {}
        """Clients of the handshake era that are ready for notifications; over HTTP several, by their session's id."""
        self.middleware.append(self._notice_peer)

    async def _notice_peer(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        if ctx.method == "notifications/initialized":
            headers = getattr(ctx.request, "headers", {})
            if len(self.legacy_peers) >= _MOST_PEERS:  # sessions end without a word
                del self.legacy_peers[next(iter(self.legacy_peers))]
            self.legacy_peers[headers.get("mcp-session-id", "")] = ctx.session
        elif ctx.method == "initialize" and isinstance(result, dict):
            result["capabilities"]["resources"]["listChanged"] = True  # the SDK's HTTP server makes no such promise
        return result

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Session, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Run a tool. Every expected failure is a `ToolError` that says what to do next."""
        tool = self._by_name.get(name)
        if tool is None:
            raise ToolError(_unknown_tool(name, list(self._by_name)))
        known = list(tool.parameters.get("properties", {}))
        unknown = [argument for argument in arguments if argument not in known]
        if unknown:
            raise ToolError(_unknown_argument(name, unknown[0], known))
        try:
            with requests.serving(self._request(name, arguments, context)):
                result = await super().call_tool(name, arguments, context)
        except ToolError as error:
            raise _helpful(name, error) from error.__cause__
        return _bounded(result) if isinstance(result, CallToolResult) else result

    def _request(
        self, name: str, arguments: dict[str, Any], context: Context[Session, Any] | None
    ) -> requests.Request | None:
        session_key = self.session.context.session_key
        if session_key is None or context is None:
            return None
        call = context.request_context
        named = json.dumps([session_key, call.request_id, name, arguments], sort_keys=True, default=str)
        again = (call.meta or {}).get(REPEATED) is True
        return requests.Request(hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest(), again)

    async def list_resources(self) -> list[Resource]:
        """The index of all memories, and the memories that were changed last."""
        return await resources.listed(self.session)

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """How single memories, projects, categories and documents are addressed."""
        return resources.templates()

    async def read_resource(
        self, uri: Any, context: Context[Session, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """The content behind an address. Raises: ResourceError with the reason."""
        try:
            return [await resources.read(self.session, str(uri))]
        except (UnknownMemory, InvalidInput) as error:
            raise ResourceNotFoundError(sentence(error)) from error
        except MemoryCacheError as error:
            raise ResourceError(sentence(error)) from error


def sentence(error: MemoryCacheError) -> str:
    """Message and next step of an error of the memory."""
    return f"{error.message} {error.hint}".strip()


def _helpful(name: str, error: ToolError) -> ToolError:
    cause = error.__cause__
    if isinstance(cause, MemoryCacheError):
        return ToolError(sentence(cause))
    if isinstance(cause, ValidationError):
        return ToolError(_invalid_arguments(name, cause))
    if isinstance(cause, ToolError | ResourceError):
        return ToolError(str(cause))
    if cause is not None:
        # Type and places only: an exception's text may quote a memory.
        places = "".join(traceback.format_tb(cause.__traceback__))
        _log.error("tool %s failed: %s\n%s", name, type(cause).__name__, places)
        return ToolError(
            f"{name} failed for an unexpected reason ({type(cause).__name__}). Nothing was half written. "
            "Try once more; if it fails again, run `claude-memory doctor` in a terminal."
        )
    return error


def _unknown_tool(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else f" There are: {', '.join(known)}."
    return f"There is no tool {name[:80]!r}.{hint}"


def _unknown_argument(tool: str, argument: str, known: list[str]) -> str:
    near = difflib.get_close_matches(argument, known, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    takes = ", ".join(known) if known else "no arguments"
    return f"{tool} has no argument {argument[:80]!r}.{hint} It takes: {takes}. Nothing was done."


def _invalid_arguments(tool: str, error: ValidationError) -> str:
    """Pydantic's findings as sentences, without repeating the rejected values or any link."""
    findings = []
    for detail in error.errors(include_url=False, include_input=False)[:5]:
        where = ".".join(str(part) for part in detail["loc"] if not str(part).startswith("function-"))
        if detail["type"] == "missing":
            findings.append(f"{where} is required")
        elif detail["type"] == "string_too_short":
            findings.append(f"{where} must not be empty")
        else:
            message = detail["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
            findings.append(f"{where} should be {message}" if "should be" in detail["msg"] else f"{where}: {message}")
    return f"{tool} cannot use these arguments: {'; '.join(findings)}. Correct them and call {tool} again."


def _bounded(result: CallToolResult) -> CallToolResult:
    content = [
        TextContent(type="text", text=guard(block.text)) if isinstance(block, TextContent) else block
        for block in result.content
    ]
    return result.model_copy(update={"content": content})
