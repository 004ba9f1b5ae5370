"""Time to live: `<number><unit>` with the units d (days), w (weeks), m (30 days), y (365 days)."""

import re
from datetime import datetime, timedelta

from memory_cache.errors import InvalidInput

_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_LONGEST_DAYS = 100 * 365
_GRAMMAR = re.compile(r"([0-9]{1,9})\s*([dwmy])", re.IGNORECASE)


def expiry(ttl: str | None, now: datetime) -> datetime | None:
    """When a memory with this time to live expires; None for None and for `none` (never).

    Raises: InvalidInput for anything else, for zero, and for more than a hundred years.
    """
    if ttl is None or ttl.strip().lower() == "none":
        return None
    match = _GRAMMAR.fullmatch(ttl.strip())
    if not match:
        raise InvalidInput(
            f"The time to live {ttl.strip()[:40]!r} is not understood.",
            "Give a number and a unit: 7d, 2w, 1m (30 days) or 1y (365 days); none for no expiry.",
        )
    days = int(match[1]) * _DAYS[match[2].lower()]
    if not 0 < days <= _LONGEST_DAYS:
        raise InvalidInput(
            f"The time to live {ttl.strip()[:40]!r} is out of range.",
            "It must be at least 1d and at most 100y; leave it out for a memory that never expires.",
        )
    return now + timedelta(days=days)
