"""When the next sync round is due. Pure: moments are monotonic seconds and come in as arguments.

a local change          after a short debounce; a stream of changes is not put off for longer than three of them
a hint of the storage   at once, but rounds take turns with at least as much rest as the last one took
somebody asks           at once
polling                 `poll` seconds after a round while there is activity, `idle_poll` otherwise
a failed round          after a pause that doubles
Retry-After             nothing before its end, whatever else is due
"""

from dataclasses import dataclass
from math import inf

_ACTIVE_POLLS = 10
"""For this many polls after the last change, there is activity."""

_REST_PER_WORK = 400.0
"""Polling by itself takes at most one part in this many of the time."""

_TRANSIENT_PAUSE, _PERMANENT_PAUSE = 2.0, 15.0
_EARLIEST_RETRY = 5.0
_ECHO_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Pace:
    """The settings of a schedule, in seconds."""

    poll: float = 60.0
    idle_poll: float = 300.0
    debounce: float = 0.3


class Schedule:
    """Call `begin` when a round begins and `succeeded`, `failed` or `throttled` when it ends."""

    def __init__(self, pace: Pace, now: float) -> None:
        self._pace = pace
        self._wanted = now  # the first round is due at once
        self._hint = inf
        self._change = inf
        self._first_change = inf
        self._poll = inf
        self._not_before = -inf
        self._not_before_retry = -inf
        self._last_activity = now
        self._begun = now
        self._rest_until = -inf
        self._failures = 0

    def due(self) -> float:
        """When the next round should begin."""
        soft = max(min(self._hint, self._change), self._not_before_retry)
        return max(min(self._wanted, soft, self._poll), self._not_before)

    @property
    def held_until(self) -> float:
        """Until when nothing may be sent; in the past when nothing holds it back."""
        return self._not_before

    def local_change(self, now: float) -> None:
        """Something was written on this device."""
        self._first_change = min(self._first_change, now)
        self._change = min(now + self._pace.debounce, self._first_change + 3 * self._pace.debounce)
        self._last_activity = now

    def hint(self, now: float) -> None:
        """The storage says that something may have changed."""
        self._hint = min(self._hint, max(now, self._rest_until))

    def want(self, now: float) -> None:
        """Somebody asks for a round."""
        self._wanted = min(self._wanted, now)

    def begin(self, now: float) -> None:
        """A round begins; it takes care of everything known by now."""
        self._begun = now
        self._wanted = self._hint = self._change = self._first_change = self._poll = inf

    def succeeded(self, now: float, *, active: bool, wrote: bool, again_in: float | None) -> None:
        """A round is done.

        Args:
            active: it found changes.
            wrote: it changed the storage, which will tell us of that too.
            again_in: seconds after which it has more to do.
        """
        took = now - self._begun
        self._failures = 0
        self._not_before_retry = -inf
        if active:
            self._last_activity = now
        self._rest_until = now + max(took, _ECHO_SECONDS if wrote else 0.0)
        self._poll = now + min(self._interval(now, took), inf if again_in is None else max(again_in, 0.0))

    def failed(self, now: float, *, transient: bool) -> None:
        """A round failed as a whole."""
        first = _TRANSIENT_PAUSE if transient else _PERMANENT_PAUSE
        longest = self._pace.poll if transient else self._pace.idle_poll
        pause = min(first * 2 ** min(self._failures, 20), max(longest, first))
        self._failures += 1
        self._poll = now + pause
        # A new local change is a reason to look earlier, but not over and over.
        self._not_before_retry = now + min(pause, _EARLIEST_RETRY)

    def throttled(self, now: float, seconds: float) -> None:
        """Nothing may be sent for this long; then a round is due."""
        self._not_before = now + seconds
        self._poll = self._not_before

    def _interval(self, now: float, took: float) -> float:
        active = now - self._last_activity < _ACTIVE_POLLS * self._pace.poll
        return max(self._pace.poll if active else self._pace.idle_poll, took * _REST_PER_WORK)
