"""A real cache database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_cache.database import connect, migrate
from tests.memory_cache.search.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    connection = connect(tmp_path / "cache.db")
    migrate(connection)
    yield Store(connection)
    connection.close()
