"""Settings of this room's tests, and an open cache with a clock that stands still."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import settings

from memory_cache.cache import MemoryCache

from .cache_fixtures import opened
from .store import Clock

# A busy machine is not a failure: no example is judged by the clock.
settings.register_profile("no clock", deadline=None)
settings.load_profile("no clock")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def cache(tmp_path: Path, clock: Clock) -> AsyncIterator[MemoryCache]:
    async with opened(tmp_path, clock) as cache:
        yield cache
