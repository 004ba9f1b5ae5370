"""Moments as the cache stores them: UTC, milliseconds, `Z`. Such texts sort as their moments do."""

from datetime import UTC, datetime, timedelta

TICK = timedelta(milliseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)


def utc_now() -> datetime:
    """The present moment."""
    return datetime.now(UTC)


def to_text(moment: datetime) -> str:
    """The moment as text; a naive one counts as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_text(text: str) -> datetime:
    """The moment of a text made by `to_text`."""
    return datetime.fromisoformat(text)


def later_than(earlier: datetime, now: datetime) -> datetime:
    """Now, or one tick after `earlier` where the clock stands before that: what changes a memory makes it newer.

    A file may claim the last moment there is; after that comes now.
    """
    return now if earlier > _LAST - TICK else max(now, earlier + TICK)
