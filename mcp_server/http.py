"""`claude-memory mcp --http`: the same server over streamable HTTP, for clients on this machine.

Every request passes `Gate` first: Host and Origin are checked on every route (a web page must not reach this
server through a name of its own), and everything but /health needs the bearer. There is no OAuth here, and
nothing that looks like it: clients that find such an endpoint stop using the token they were given.
"""

import ipaddress
import json
import logging
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_server import bearer
from mcp_server.changes import announce_changes
from mcp_server.factory import create_server
from mcp_server.server import MemoryServer
from mcp_server.session import SessionContext
from memory_cache import settings as settings_file
from memory_cache.cache import open_cache
from memory_cache.errors import InvalidInput
from memory_cache.home import Home

MCP_PATH = "/mcp"
HEALTH_PATH = "/health"
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_TOKEN_PARAMETERS = frozenset({"token", "access_token", "bearer", "api_key", "apikey", "authorization"})


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request goes no further."""

    status: int
    message: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Gate:
    """Lets through what may reach the server.

    Attributes:
        token: the bearer; None serves anyone on this machine, which only tests of conformance do.
        hosts: the names under which the server may be addressed.
        any_address: it may also be addressed by any IP address.
    """

    app: ASGIApp
    token: str | None
    hosts: frozenset[str]
    any_address: bool = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        refusal = self.refusal(scope)
        if refusal is not None:
            await _respond(send, refusal.status, {"error": refusal.message}, refusal.headers)
        elif scope["path"] == HEALTH_PATH:
            await _respond(send, 200, {"status": "ok"})
        else:
            await self.app(scope, receive, send)

    def refusal(self, scope: Scope) -> Refusal | None:
        """Why this request is refused, or None."""
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if not self._known(_host_of(headers.get("host", ""))):
            return Refusal(421, "This server answers only under its own address.")
        origin = headers.get("origin")
        if origin is not None and not self._known(_host_of(origin.partition("://")[2])):
            return Refusal(403, "Requests from web pages of other sites are refused.")
        if scope["path"] not in (MCP_PATH, HEALTH_PATH):
            return Refusal(404, f"There is nothing here. The server is at {MCP_PATH}.")
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if any(name.lower() in _TOKEN_PARAMETERS or (self.token and self.token in value) for name, value in query):
            return Refusal(400, "A token in the URL is refused: it ends up in logs. Send it as a header.")
        if self.token is None or scope["path"] == HEALTH_PATH:
            return None
        if not bearer.matches(headers.get("authorization"), self.token):
            hint = "Send the header that `claude-memory mcp --headers` prints."
            return Refusal(401, f"The bearer token is missing or wrong. {hint}", ((b"www-authenticate", b"Bearer"),))
        return None

    def _known(self, host: str) -> bool:
        return host.lower() in self.hosts or (self.any_address and _is_address(host))


def _host_of(header: str) -> str:
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def _respond(
    send: Send, status: int, body: Mapping[str, Any], headers: tuple[tuple[bytes, bytes], ...] = ()
) -> None:
    content = json.dumps(body).encode()
    sent = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": sent})
    await send({"type": "http.response.body", "body": content})


def build_app(server: MemoryServer, *, token: str | None, host: str = "127.0.0.1") -> ASGIApp:
    """The ASGI application. `token` None: no bearer is asked for."""
    # The SDK's own check of Host and Origin covers /mcp only; the gate covers every route.
    inner = server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return gate(inner, token, host)


def gate(app: ASGIApp, token: str | None, host: str) -> Gate:
    """The gate of a server bound to `host`. Bound to every interface it answers to any address and its own
    name: a hostile page can make a name of its own point here, but not an address."""
    everywhere = host in ("0.0.0.0", "::")  # noqa: S104 - compared, not bound
    own = socket.gethostname().lower() if everywhere else host.lower()
    return Gate(app, token, _LOOPBACK_NAMES | {own}, any_address=everywhere)


async def run_http(
    home: Home,
    environ: Mapping[str, str],
    *,
    host: str | None = None,
    port: int | None = None,
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve until a signal ends the process. `ready` gets the address once connections are accepted.

    Raises: InvalidInput when the port is taken or the address is not this machine's; CacheUnusable; SettingsError.
    """
    settings = settings_file.load(home, environ)
    host = host or settings.http.host
    with _listen(host, settings.http.port if port is None else port) as listening:
        home.ensure()
        token = bearer.token(home.root)
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{listening.getsockname()[1]}{MCP_PATH}"
        async with open_cache(home, settings) as cache:
            server = create_server(cache, SessionContext())
            await serve(server, build_app(server, token=token, host=host), listening, lambda: ready(url))


async def serve(server: MemoryServer, app: ASGIApp, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Run `app` on a bound socket, and tell its clients about changes."""
    config = uvicorn.Config(
        app, log_level=logging.WARNING, access_log=False, server_header=False, timeout_graceful_shutdown=5
    )
    web = _Web(config, ready)
    async with anyio.create_task_group() as group:
        group.start_soon(announce_changes, server)
        group.start_soon(_end_with_group, web)
        with anyio.CancelScope(shield=True):  # it ends by `should_exit`, and then closes what it opened
            await web.serve(sockets=[listening])
        group.cancel_scope.cancel()


async def _end_with_group(web: uvicorn.Server) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        web.should_exit = True


class _Web(uvicorn.Server):
    """Tells when connections are accepted."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen."""
        await super().startup(sockets)
        if self.started:
            self._ready()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, connections send at once; without, each answer waits 40 ms for the client's receipt.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise InvalidInput(
            f"The HTTP server cannot listen on {host} port {port}: {error.strerror or error}.",
            "Choose another with --port, or end the program that uses it.",
        ) from error
    return listening
