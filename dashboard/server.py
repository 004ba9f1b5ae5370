"""The HTTP server of the pages: put together, bound to loopback, run inside the daemon."""

import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio
import uvicorn
from anyio.abc import TaskStatus
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from dashboard.access import Access
from dashboard.collections_api import CollectionsApi
from dashboard.events import events
from dashboard.gate import LOGIN_PATH, Gate
from dashboard.memories_api import MemoriesApi
from dashboard.pages import answer, pages
from dashboard.requests import EmptyBody, LoginBody, body_of, fault, told
from dashboard.running import Running
from memory_cache.cache import MemoryCache
from memory_cache.errors import MemoryCacheError

HOST = "127.0.0.1"


class Dashboard:
    """The pages of one daemon. They listen from the first time that somebody wants them."""

    def __init__(self, cache: MemoryCache, running: Running) -> None:
        self.access = Access()
        self._cache = cache
        self._running = running
        self.port: int | None = None

    def url(self) -> str:
        """An address that opens the pages once. The token is in the fragment, which browsers send to nobody."""
        return f"http://{HOST}:{self.port}/#token={self.access.new_token()}"

    async def serve(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Listen until cancelled; started once connections are accepted. Raises: OSError."""
        with listen() as listening:
            port, ending = listening.getsockname()[1], anyio.Event()

            def ready() -> None:
                self.port = port
                task_status.started()

            try:
                await _run(build_app(self._cache, self._running, self.access, port, ending), listening, ready, ending)
            finally:
                self.port = None


def listen() -> socket.socket:
    """A bound socket on loopback. Raises: OSError."""
    # With the protocol named, connections send at once; without, each answer waits 40 ms for the client's receipt.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.bind((HOST, 0))
        listening.listen()
    except OSError:
        listening.close()
        raise
    return listening


def build_app(cache: MemoryCache, running: Running, access: Access, port: int, ending: anyio.Event) -> Gate:
    """The ASGI application; with `ending` its streams end."""
    known = pages()

    async def login(request: Request) -> Response:
        session = access.exchange((await body_of(request, LoginBody)).token)
        if session is None:
            hint = "Run `claude-memory dashboard` for a new one."
            shown = {"title": "Link is used up", "message": "This link was used before, or is too old.", "hint": hint}
            return JSONResponse({"error": shown}, 401)
        response = JSONResponse({"key": session.key})
        response.set_cookie(gate.cookie_name, session.cookie, path="/api", httponly=True, samesite="strict")
        return response

    async def logout(request: Request) -> Response:
        await body_of(request, EmptyBody)
        access.leave(request.cookies.get(gate.cookie_name, ""))
        return JSONResponse({})

    async def stream(request: Request) -> Response:
        return StreamingResponse(events(cache, running, ending), media_type="text/event-stream")

    async def page(request: Request) -> Response:
        return answer(known, request)

    app = Starlette(
        routes=[
            Route(LOGIN_PATH, login, methods=["POST"]),
            Route("/api/logout", logout, methods=["POST"]),
            Route("/api/events", stream, methods=["GET"]),
            *MemoriesApi(cache).routes(),
            *CollectionsApi(cache, running).routes(),
            Route("/{path:path}", page, methods=["GET"]),
        ],
        exception_handlers={MemoryCacheError: told, Exception: fault},
    )
    gate = Gate(app, access, port)
    return gate


async def _run(app: Gate, listening: socket.socket, ready: Callable[[], None], ending: anyio.Event) -> None:
    config = uvicorn.Config(
        app, log_config=None, log_level=logging.WARNING, access_log=False, server_header=False, lifespan="off",
        date_header=False, timeout_graceful_shutdown=1,
    )  # fmt: skip
    web = _Web(config, ready, ending)
    async with anyio.create_task_group() as group:
        group.start_soon(_end_with_group, web, ending)
        with anyio.CancelScope(shield=True):  # it ends by `should_exit`, and then closes what it opened
            await web.serve(sockets=[listening])
        group.cancel_scope.cancel()


async def _end_with_group(web: uvicorn.Server, ending: anyio.Event) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        ending.set()  # streams of events never end by themselves
        web.should_exit = True


class _Web(uvicorn.Server):
    """Tells when connections are accepted, leaves signals to the daemon, and does nothing while nobody asks."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], ending: anyio.Event) -> None:
        super().__init__(config)
        self._ready = ready
        self._ending = ending

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """None: they are the daemon's."""
        yield

    async def main_loop(self) -> None:
        """Wait for the end. The original looks ten times a second, for a date header and limits that are not used."""
        await self.on_tick(0)
        await self._ending.wait()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen."""
        await super().startup(sockets)
        if self.started:
            self._ready()
