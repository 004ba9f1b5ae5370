"""A device and a client of each protocol era for the tests of this room."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp import Client

from tests.mcp_server.world import Claude, World, open_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """One device."""
    async with open_world(tmp_path) as opened:
        yield opened


@pytest.fixture(params=["modern", "legacy"])
async def claude(request: pytest.FixtureRequest, world: World) -> AsyncIterator[Claude]:
    """A client on that device, of the 2026 protocol and of the older handshake."""
    mode = "legacy" if request.param == "legacy" else "auto"
    async with Client(world.server(), mode=mode) as client:
        yield Claude(client)
