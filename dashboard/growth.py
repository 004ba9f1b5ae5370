"""How the memory grew: how many of today's memories were made on each day."""

import sqlite3
from datetime import datetime
from typing import Any

from memory_cache.clock import to_text


def growth(connection: sqlite3.Connection, now: datetime) -> list[dict[str, Any]]:
    """Days in order, each with the memories made on it by category; expired ones are left out."""
    days: dict[str, dict[str, int]] = {}
    for day, category, number in connection.execute(
        "SELECT substr(created, 1, 10) AS day, category, count(*) FROM memories"
        " WHERE expires_at IS NULL OR expires_at > ? GROUP BY day, category ORDER BY day, category",
        (to_text(now),),
    ):
        days.setdefault(day, {})[category] = number
    return [{"day": day, "made": made} for day, made in days.items()]
