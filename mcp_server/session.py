"""What one connection knows: the cache, and where its client works.

Which project a call is about: its own argument, else CLAUDE_PROJECT_DIR, else the client's roots (connections
of the older protocol only; the newer one has no way to ask), else the working directory.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote

import anyio
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import ListRootsRequest, ListRootsResult

from mcp_server.bearer import PROJECT_HEADER
from memory_cache import vocabulary
from memory_cache.cache import MemoryCache
from memory_cache.errors import InvalidInput
from memory_cache.home import Home
from memory_cache.models import Project, Scope
from memory_cache.project import resolve as resolve_project

_ROOTS_TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class SessionContext:
    """Where a client works, as its process told us when it connected.

    Attributes:
        cwd: the client's working directory; None over HTTP, where ours means nothing.
        project_dir: CLAUDE_PROJECT_DIR of the client's environment.
        session_id: CLAUDE_CODE_SESSION_ID, for logs only.
        session_key: names the relay's session through all of its connections; None where none can be taken up again.
        roots: directories that the client named beforehand.
    """

    cwd: str | None = None
    project_dir: str | None = None
    session_id: str | None = None
    session_key: str | None = None
    roots: tuple[str, ...] = ()

    @classmethod
    def from_preamble(cls, preamble: Mapping[str, Any]) -> Self:
        """The context that a relay sent ahead of the first message; anything unusable counts as not given."""
        roots = preamble.get("roots")
        return cls(
            cwd=_text(preamble.get("cwd")),
            project_dir=_text(preamble.get("project_dir")),
            session_id=_text(preamble.get("session_id")),
            session_key=_text(preamble.get("session_key")),
            roots=tuple(root for root in roots if isinstance(root, str)) if isinstance(roots, list) else (),
        )


@dataclass(slots=True)
class Session:
    """The state of one connection (over HTTP: of all connections of one server)."""

    cache: MemoryCache
    context: SessionContext
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _roots: dict[str, tuple[str, ...]] = field(default_factory=dict)

    async def project(self, ctx: "Context[Session, Any] | None", argument: str | None = None) -> Project | None:
        """The project that a call is about, or None when nothing tells.

        Raises: InvalidInput when `argument` names no project.
        """
        if argument is not None:
            return await self._named(argument)
        directory = _header_directory(ctx) or self.context.project_dir
        environ = {"CLAUDE_PROJECT_DIR": directory} if directory else {}
        roots = () if environ else self.context.roots or await self._client_roots(ctx)
        cwd = Path(self.context.cwd) if self.context.cwd else None
        # Finding the project reads git's files and may run git once: never on the event loop.
        return await anyio.to_thread.run_sync(lambda: resolve_project(environ=environ, roots=roots, cwd=cwd))

    async def home(self) -> Home:
        """The home of this device: where the cache lies."""
        row = await self.cache.database.read(lambda c: c.execute("PRAGMA database_list").fetchone())
        return Home(Path(row["file"]).parent)

    async def _named(self, argument: str) -> Project:
        """A project as a model names it: by the name of one that has memories, an id, a URL, a directory."""
        if argument.strip():
            known = await self.cache.database.read(lambda connection: vocabulary.called(connection, argument))
            if len(known) > 1:
                ids = ", ".join(project.id for project in known)
                raise InvalidInput(f"Several projects are called {argument.strip()}: {ids}.", "Give one of these ids.")
            if known:
                return known[0]
        cwd = Path(self.context.project_dir or self.context.cwd or "/")
        resolved = await anyio.to_thread.run_sync(lambda: resolve_project(argument, environ={}, cwd=cwd))
        if resolved is None:
            raise InvalidInput(f"{argument!r} names no project.", "Give a directory, a repository URL or a project id.")
        return resolved

    async def _client_roots(self, ctx: "Context[Session, Any] | None") -> tuple[str, ...]:
        capabilities = ctx.client_capabilities if ctx is not None else None
        if ctx is None or capabilities is None or capabilities.roots is None or not ctx.session.can_send_request:
            return ()
        key = (ctx.headers or {}).get("mcp-session-id", "")
        if key not in self._roots:
            if len(self._roots) >= 1000:
                self._roots.clear()
            self._roots[key] = await _ask_roots(ctx)
        return self._roots[key]


async def _ask_roots(ctx: "Context[Session, Any]") -> tuple[str, ...]:
    try:
        with anyio.fail_after(_ROOTS_TIMEOUT_SECONDS):
            related = ServerMessageMetadata(related_request_id=ctx.request_id)
            result = await ctx.session.send_request(ListRootsRequest(), ListRootsResult, metadata=related)
    except (MCPError, TimeoutError, ValueError):
        return ()
    return tuple(str(root.uri) for root in result.roots)


def _header_directory(ctx: "Context[Session, Any] | None") -> str | None:
    try:
        headers = ctx.headers if ctx is not None else None
    except ValueError:  # a call made outside a request has none
        return None
    value = headers.get(PROJECT_HEADER) if headers else None
    return unquote(value) if value else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def scope_of(project: Project | None, *, only_global: bool = False, everything: bool = False) -> Scope:
    """The memories that a call sees: all, only the global ones, or a project's and the global ones."""
    if everything:
        return Scope.all()
    if only_global or project is None:
        return Scope(project_key=None, with_global=True)
    return Scope(project_key=project.key, with_global=True)


def scope_words(project: Project | None, *, only_global: bool = False, everything: bool = False) -> str:
    """The scope in words, for answers."""
    if everything:
        return "all projects"
    if only_global:
        return "global memories"
    if project is None:
        return "global memories (this session has no project)"
    return f"project {project.name} and global memories"


def origin_words(project: Project) -> str:
    """Which project was used and how it was found."""
    return f"{project.name} ({project.id}, from {project.source})"
