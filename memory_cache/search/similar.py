"""Near-duplicates of a text: pointed out when something is remembered, never refused."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime

from memory_cache.models import Filter


@dataclass(frozen=True, slots=True)
class Similar:
    """A memory that says nearly the same. `difference` shows the words that differ."""

    file_id: int
    score: float
    difference: str = ""


def near_duplicates(
    connection: sqlite3.Connection,
    text: str,
    filter_: Filter,
    *,
    now: datetime,
    limit: int = 3,
    exclude: int | None = None,
) -> list[Similar]:
    """Memories whose text is nearly `text`, most similar first.

    Args:
        exclude: the `file_id` of the memory that the text belongs to, if it is stored already.
    """
    return []
