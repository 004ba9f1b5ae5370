"""Telling clients that memories changed, whoever changed them: another session, the command line, another device.

SQLite's data version says cheaply that something was committed; only then is the listing read and compared.
"""

import logging
import sqlite3

import anyio
from mcp.server.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp_types import ResourceListChangedNotification

from mcp_server import resources
from mcp_server.server import MemoryServer
from memory_cache.errors import MemoryCacheError

POLL_SECONDS = 1.0
_PEER_SECONDS = 1.0

_log = logging.getLogger(__name__)


async def announce_changes(server: MemoryServer, *, poll_seconds: float = POLL_SECONDS) -> None:
    """Watch the cache until cancelled, and notify this server's clients of both protocol eras."""
    database = server.session.cache.database
    version: int | None = None
    listing: dict[str, str] | None = None
    while True:
        try:
            current = await database.data_version()
            if current != version:
                found = await resources.fingerprint(server.session)
                if listing is not None and found != listing:
                    await _announce(server, listing, found)
                version, listing = current, found
        except (MemoryCacheError, sqlite3.Error) as error:
            _log.warning("the cache could not be watched: %s", type(error).__name__)
        await anyio.sleep(poll_seconds)


async def _announce(server: MemoryServer, before: dict[str, str], after: dict[str, str]) -> None:
    await server.bus.publish(ResourcesListChanged())
    changed = [uri for uri in before.keys() | after.keys() if before.get(uri) != after.get(uri)]
    for uri in (resources.LIST_URI, *sorted(changed)):
        await server.bus.publish(ResourceUpdated(uri=uri))
    for peer in list(server.legacy_peers.values()):
        with anyio.move_on_after(_PEER_SECONDS):  # one that does not read keeps nobody waiting
            await peer.send_notification(ResourceListChangedNotification())
