"""What the pages need to know of the daemon that serves them; the composition root fills it in."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from memory_cache.models import SyncHealth


@dataclass(frozen=True, slots=True)
class Running:
    """A running daemon.

    Attributes:
        version: of the program.
        syncing: whether a round is under way.
        health: how the storage was last found.
        describe: everything that `claude-memory status` shows.
        sync_now: have a round run soon.
        visited: within its block somebody looks at a page: no reason to end for want of clients.
    """

    version: str
    syncing: Callable[[], bool]
    health: Callable[[], SyncHealth]
    describe: Callable[[], Awaitable[dict[str, Any]]]
    sync_now: Callable[[], None]
    visited: Callable[[], AbstractContextManager[None]]
