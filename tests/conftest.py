"""What every test has."""

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop of the product: the SDK for Graph runs on asyncio only."""
    return "asyncio"
