"""Repeat calls that failed for a passing reason, around any backend.

Only calls that change nothing are repeated. A write whose outcome is unknown may have been done: repeating it
blindly could fail against itself (AlreadyExists, VersionMismatch) and look like a conflict. The caller looks first.
`Throttled` is never repeated here: it concerns the whole account, not one call.
"""

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import anyio

from storage_backends.base import StorageBackend
from storage_backends.errors import Throttled, TransientError
from storage_backends.wrapper import WrappedStorage

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how fast.

    Attributes:
        attempts: calls in all, the first included.
        first_delay: seconds before the second; doubles each time.
        longest_delay: seconds, at most.
    """

    attempts: int = 4
    first_delay: float = 0.5
    longest_delay: float = 8.0

    def delay(self, failures: int, chance: float) -> float:
        """Seconds to wait after so many failures; `chance` (0 to 1) spreads devices that failed together."""
        longest: float = min(self.longest_delay, self.first_delay * 2 ** (failures - 1))
        return longest * (0.5 + 0.5 * chance)


class RetryingStorage(WrappedStorage):
    """See the module; implements `storage_backends.base.StorageBackend`.

    Args:
        sleep: waits so many seconds.
        chance: a random number from 0 to 1.
    """

    def __init__(
        self,
        inner: StorageBackend,
        policy: RetryPolicy | None = None,
        *,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        super().__init__(inner)
        self._policy = policy or RetryPolicy()
        self._sleep = sleep
        self._chance = chance

    async def _call(self, call: Callable[[], Awaitable[T]], *, changes_nothing: bool) -> T:
        failures = 0
        while True:
            try:
                return await call()
            except Throttled:
                raise
            except TransientError:
                failures += 1
                if not changes_nothing or failures >= self._policy.attempts:
                    raise
            await self._sleep(self._policy.delay(failures, self._chance()))
