"""The emulator's time: real, or standing still until a test moves it."""

import time
from datetime import UTC, datetime
from email.utils import format_datetime


class Clock:
    """Seconds since the epoch. With `start` the clock stands still; `advance` moves it in either case."""

    def __init__(self, start: float | None = None) -> None:
        self._frozen = start
        self._offset = 0.0

    def now(self) -> float:
        """Seconds since the epoch."""
        return (time.time() if self._frozen is None else self._frozen) + self._offset

    def advance(self, seconds: float) -> None:
        """Move the clock; negative seconds set it back."""
        self._offset += seconds

    def stamp(self, *, fraction: bool = True) -> str:
        """ISO-8601 in UTC, with milliseconds as personal accounts have them, or whole seconds as business ones."""
        moment = datetime.fromtimestamp(self.now(), UTC)
        return moment.strftime("%Y-%m-%dT%H:%M:%S") + (f".{moment.microsecond // 1000:03d}Z" if fraction else "Z")

    def http_date(self) -> str:
        """For the header `Date`."""
        return format_datetime(datetime.fromtimestamp(self.now(), UTC), usegmt=True)
