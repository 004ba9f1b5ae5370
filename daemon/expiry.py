"""What has expired goes to the trash after a grace period, and the trash is emptied in the end.

Expired memories are hidden from every query at once; this is only the tidying. Work is bounded per call. A clock
that has just jumped retires nothing: a wrong date must not empty the trash.
"""

import sqlite3
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory_cache import memories, meta, requests, revisions, trash
from memory_cache.clock import from_text, to_text
from memory_cache.database import Database
from memory_cache.revisions import Cause

_LAST, _STEADY_SINCE = "expiry.last", "expiry.steady_since"
# A machine that slept longer, or whose clock was set, has to show the new time for a while first.
_LONGEST_STEP = timedelta(days=2)
_STEADY = timedelta(hours=1)
_BATCH = 200


@dataclass(frozen=True, slots=True)
class Retired:
    """What one call did. `more`: there is more of it; call again."""

    expired: int = 0
    purged: int = 0
    more: bool = False


async def retire(database: Database, *, now: datetime, grace_days: float, trash_days: float) -> Retired:
    """Move to the trash what expired `grace_days` ago; drop from the trash what lies there for `trash_days`."""
    grace, keep = timedelta(days=grace_days), timedelta(days=trash_days)
    return await database.write(lambda connection: _retire(connection, now, grace, keep))


def _retire(connection: sqlite3.Connection, now: datetime, grace: timedelta, keep: timedelta) -> Retired:
    if not _steady(connection, now):
        return Retired()
    due = memories.expired(connection, now - grace)
    for stored in due[:_BATCH]:
        trash.move_in(connection, stored.file_id, Cause("expired", now))
    purged = trash.purge(connection, now - keep)
    revisions.purge(connection, now)
    requests.purge(connection, now)
    return Retired(min(len(due), _BATCH), purged, len(due) > _BATCH)


def _steady(connection: sqlite3.Connection, now: datetime) -> bool:
    """Whether the clock has gone on without a jump for long enough to be believed."""
    last, since = meta.get(connection, _LAST), meta.get(connection, _STEADY_SINCE)
    meta.put(connection, _LAST, to_text(now))
    if last is None or since is None or not timedelta() <= now - from_text(last) <= _LONGEST_STEP:
        # A first run believes its clock; after a jump it has to prove itself.
        meta.put(connection, _STEADY_SINCE, to_text(now - _STEADY if last is None else now))
        return last is None
    return now - from_text(since) >= _STEADY
