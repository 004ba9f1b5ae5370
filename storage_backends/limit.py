"""Keep still while the service asks for a pause, around any backend.

The pause holds for the whole account: once one call was throttled, no other is sent until the time is over. Calls
fail at once with the seconds that are left; nothing waits here.
"""

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from storage_backends.base import StorageBackend
from storage_backends.errors import Throttled
from storage_backends.wrapper import WrappedStorage

T = TypeVar("T")

FIRST_PAUSE_SECONDS = 10.0  # where the service asks for a pause without naming a time; doubles each time
LONGEST_PAUSE_SECONDS = 300.0


class LimitedStorage(WrappedStorage):
    """See the module; implements `storage_backends.base.StorageBackend`.

    Args:
        throttled_until: a pause that began in an earlier process, in seconds since the epoch.
        clock: seconds since the epoch.
        monotonic: seconds that never go back. A pause ends by whichever of the two clocks is first: the one
            stands still while the machine sleeps, the other may be set back.
    """

    def __init__(
        self,
        inner: StorageBackend,
        *,
        throttled_until: float | None = None,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        super().__init__(inner)
        self._clock = clock
        self._monotonic = monotonic
        self._sleep = sleep
        self._unnamed_pauses = 0
        self._until = 0.0
        self._until_monotonic = 0.0
        if throttled_until is not None:
            self._pause(throttled_until - clock())

    @property
    def throttled_until(self) -> float | None:
        """Seconds since the epoch at which calls may go out again; None when they may now. To be kept over restarts."""
        return self._until if self._left() > 0 else None

    async def wait_for_change(self, timeout: float) -> bool:
        left = self._left()
        if left > 0:
            await self._sleep(min(left, timeout))
            return False
        return await self.inner.wait_for_change(timeout)

    async def _call(self, call: Callable[[], Awaitable[T]], *, changes_nothing: bool) -> T:
        left = self._left()
        if left > 0:
            raise Throttled("The storage has asked for a pause.", retry_after=left)
        try:
            result = await call()
        except Throttled as error:
            seconds = error.retry_after
            if seconds is None:
                seconds = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2**self._unnamed_pauses)
                self._unnamed_pauses += 1
            self._pause(max(seconds, self._left()))  # a shorter pause, asked for by a late answer, ends none
            raise Throttled(error.message, error.hint, retry_after=self._left()) from error
        self._unnamed_pauses = 0
        return result

    def _pause(self, seconds: float) -> None:
        self._until = self._clock() + seconds
        self._until_monotonic = self._monotonic() + seconds

    def _left(self) -> float:
        return max(0.0, min(self._until - self._clock(), self._until_monotonic - self._monotonic()))
