"""What happens, told to open pages as it happens: server-sent events, with a heartbeat.

state    how the sync stands, and the counts that every page shows; at once, and when it is another
changed  something was written to the cache, by whomever
"""

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio

from dashboard.running import Running
from memory_cache.cache import MemoryCache
from memory_cache.clock import to_text

LOOK_SECONDS = 0.5
HEARTBEAT_SECONDS = 15.0


async def events(
    cache: MemoryCache,
    running: Running,
    ending: anyio.Event,
    *,
    look: float = LOOK_SECONDS,
    heartbeat: float = HEARTBEAT_SECONDS,
) -> AsyncIterator[bytes]:
    """The lines of the stream, until the reader goes away or the server ends."""
    with running.visited():
        seen: int | None = None
        told: dict[str, Any] = {}
        quiet = 0.0
        while not ending.is_set():
            version = await cache.database.data_version()
            light = _of_daemon(running)
            if version != seen or any(told.get(key) != value for key, value in light.items()):
                state = {**light, **await _counts(cache)}
                if state != told:
                    told, quiet = state, 0.0
                    yield _event("state", state)
                if seen not in (None, version):
                    quiet = 0.0
                    yield _event("changed", {})
                seen = version
            elif quiet >= heartbeat:
                quiet = 0.0
                yield b": still here\n\n"
            with anyio.move_on_after(look):
                await ending.wait()
            quiet += look


def _of_daemon(running: Running) -> dict[str, Any]:
    health = running.health()
    return {
        "version": running.version,
        "syncing": running.syncing(),
        "state": health.state,
        "message": health.message,
        "hint": health.hint,
        "lastRound": to_text(health.last_round) if health.last_round else None,
        "held": health.held_deletes,
        "backend": health.backend,
        "location": health.location,
    }


async def _counts(cache: MemoryCache) -> dict[str, Any]:
    counts = await cache.status()
    return {
        "memories": counts.memories,
        "conflicts": counts.conflicts,
        "trash": counts.trash,
        "pending": counts.pending,
        "problems": counts.problems,
    }


def _event(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()
