"""A daemon, put together: cache, storage, MCP sessions and background jobs know each other only here."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import anyio.to_thread
from anyio.streams.buffered import BufferedByteStream

from command_line.backends import open_storage
from command_line.dashboard_service import DashboardDoor
from command_line.hook_service import serve_hook
from daemon.control import Handler
from daemon.loops import Job
from daemon.service import Parts, Service
from mcp_server import sessions
from memory_cache.cache import MemoryCache, open_cache
from memory_cache.capture_intake import take_in
from memory_cache.home import Home
from memory_cache.search.embedding import DEFAULT
from memory_cache.settings import Settings

_VECTOR_SECONDS = 600.0
_CAPTURE_SECONDS = 30.0
_CATCH_UP_SECONDS = 300.0


def parts(home: Home, settings: Settings, environ: Mapping[str, str]) -> Parts:
    """What the daemon of this home is made of."""
    return Parts(
        open_cache=lambda: open_cache(home, settings, examine=True),
        open_backend=partial(open_storage, home, environ),
        serve_session=_serve_session,
        warm_up=sessions.warm_up,
        jobs=partial(_jobs, home),
        handlers=partial(_handlers, home, environ),
    )


def _handlers(home: Home, environ: Mapping[str, str], service: Service) -> Mapping[str, Handler]:
    return {
        "hook": partial(serve_hook, service.cache, home),
        "dashboard": DashboardDoor(service, home, environ).handle,
    }


async def _serve_session(cache: MemoryCache, stream: BufferedByteStream, preamble: Mapping[str, Any]) -> None:
    await sessions.serve_session(cache, stream, stream, preamble)


def _jobs(home: Home, cache: MemoryCache) -> Sequence[Job]:
    return [
        # The table of this package embeds at write; looking for gaps after every change would read every row.
        Job(
            "vectors",
            partial(_fill_vectors, cache),
            _VECTOR_SECONDS,
            on_change=cache.settings.recall.embedder != DEFAULT,
        ),
        Job("search terms", cache.catch_up, _CATCH_UP_SECONDS, on_change=True),
        Job("captures", partial(take_in, cache, home), _CAPTURE_SECONDS),
    ]


async def _fill_vectors(cache: MemoryCache) -> None:
    from memory_cache.search.embedding import fill_vectors, load_embedder

    embedder = await anyio.to_thread.run_sync(load_embedder, cache.settings.recall.embedder)
    if embedder is not None:
        await fill_vectors(cache.database, embedder)
