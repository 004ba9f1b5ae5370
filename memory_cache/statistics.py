"""Counts: what there is, how old it is, how it hangs together, what needs attention."""

import sqlite3
from datetime import datetime, timedelta

from memory_cache import conflicts, health, links, problems, salvage, trash
from memory_cache.batch import STALE_AFTER
from memory_cache.clock import from_text, to_text
from memory_cache.models import CacheStatus, Statistics
from memory_cache.search import embedding

_WITHIN_DAYS = (7, 30, 90, 365)


def status(connection: sqlite3.Connection, now: datetime) -> CacheStatus:
    """The counts of `status`, and what the daemon last reported."""
    device_id, device_name = health.device(connection)
    expired = _count(connection, "memories WHERE expires_at <= ?", to_text(now))
    return CacheStatus(
        memories=_count(connection, "memories") - expired,
        expired=expired,
        trash=trash.count(connection),
        conflicts=conflicts.count(connection),
        problems=problems.count(connection),
        pending=pending(connection),
        bytes=cache_bytes(connection),
        health=health.read(connection),
        device_id=device_id,
        device_name=device_name,
        search=embedding.status(connection),
        notice=salvage.notice(connection),
    )


def pending(connection: sqlite3.Connection) -> int:
    """How many files differ from what the storage was last known to hold, without device notes and the old index."""
    return _count(
        connection,
        "files WHERE kind NOT IN ('device', 'index') AND (item_id IS NULL OR content_hash IS NOT base_hash)",
    )


def cache_bytes(connection: sqlite3.Connection) -> int:
    """Size of the SQLite file without its log."""
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    size = connection.execute("PRAGMA page_size").fetchone()[0]
    return int(pages) * int(size)


def statistics(connection: sqlite3.Connection, now: datetime) -> Statistics:
    """All counts of `get_statistics`."""
    moment = to_text(now)
    living = "memories m WHERE (m.expires_at IS NULL OR m.expires_at > :now)"
    values = {"now": moment, "stale": to_text(now - STALE_AFTER)}
    dates = connection.execute(
        f"SELECT min(m.created), max(m.created), max(m.updated), count(*) FROM {living}", values
    ).fetchone()
    pairs = links.edges(connection, now)
    return Statistics(
        memories=dates[3],
        expired=_count(connection, "memories WHERE expires_at <= ?", moment),
        stale=_count(connection, "memories WHERE expires_at IS NULL AND updated <= ?", values["stale"]),
        read_only=_count(connection, "memories WHERE read_only IS NOT NULL"),
        by_category=_grouped(connection, "m.category", living, values),
        by_project=_grouped(connection, "coalesce(m.project_name, m.project_id, '')", living, values, "m.project_key"),
        by_priority=_grouped(connection, "m.priority", living, values),
        by_tag=_tags(connection, moment),
        oldest=from_text(dates[0]) if dates[0] else None,
        newest=from_text(dates[1]) if dates[1] else None,
        last_update=from_text(dates[2]) if dates[2] else None,
        updated_within={
            days: _count(connection, f"{living} AND m.updated > :since", values | _since(now, days))
            for days in _WITHIN_DAYS
        },
        links=len(pairs),
        unlinked=dates[3] - len({end for pair in pairs for end in pair}),
        dangling=links.dangling(connection),
        trash=trash.count(connection),
        conflicts=conflicts.count(connection),
        problems=problems.count(connection),
        content_bytes=connection.execute(
            "SELECT coalesce(sum(length(content)), 0) FROM files WHERE kind = 'memory'"
        ).fetchone()[0],
        cache_bytes=cache_bytes(connection),
    )


def _since(now: datetime, days: int) -> dict[str, str]:
    return {"since": to_text(now - timedelta(days=days))}


def _count(connection: sqlite3.Connection, what: str, values: str | dict[str, str] = "") -> int:
    parameters = values if isinstance(values, dict) else ((values,) if values else ())
    return int(connection.execute(f"SELECT count(*) FROM {what}", parameters).fetchone()[0])


def _grouped(
    connection: sqlite3.Connection, label: str, source: str, values: dict[str, str], group: str | None = None
) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name, number in connection.execute(
        f"SELECT max({label}), count(*) AS number FROM {source} GROUP BY {group or label} ORDER BY number DESC, 1",
        values,
    ):
        counts[name] = counts.get(name, 0) + number
    return counts


def _tags(connection: sqlite3.Connection, moment: str) -> dict[str, int]:
    # Shown as first written; counted whatever their case.
    rows = connection.execute(
        "SELECT min(j.value), count(DISTINCT m.file_id) AS number FROM memories m, json_each(m.tags) j"
        " WHERE m.expires_at IS NULL OR m.expires_at > ? GROUP BY lower(j.value) ORDER BY number DESC, 1",
        (moment,),
    )
    return {str(name): number for name, number in rows}
