"""Every tool keeps its promises over every transport, to clients of both protocol eras."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

from mcp_server.bearer import PROJECT_HEADER
from mcp_server.tools import DECLARED
from tests.daemon.processes import COMMAND, Device
from tests.mcp_server.contract import Ids, cases, prepare
from tests.mcp_server.test_http import client as http_client
from tests.mcp_server.test_http import http
from tests.mcp_server.world import Claude, World

ERAS = pytest.mark.parametrize("mode", ["auto", "legacy"])


async def keeps_its_promises(claude: Claude, ids: Ids, folder: Path) -> None:
    """Go through the table."""
    folder.mkdir()
    table = cases(ids, str(folder))
    assert {case.tool for case in table} == {declared.name for declared in DECLARED}
    wrong = []
    for case in table:
        assert case.fails, case.tool
        for arguments, says in case.fails:
            result = await claude.call(case.tool, **arguments)
            text = result.content[0].text
            if says not in text or (not result.is_error and "No memories found" not in text):
                wrong.append(f"{case.tool} {arguments}: {'' if result.is_error else 'no error: '}{text[:300]}")
            if len(text) > 600:
                wrong.append(f"{case.tool} {arguments}: {len(text)} characters of error")
        result = await claude.call(case.tool, **case.works)
        text = result.content[0].text
        if result.is_error or case.says not in text:
            wrong.append(f"{case.tool} {case.works}: {text[:300]}")
    assert not wrong, "\n".join(wrong)


@ERAS
async def test_in_memory(world: World, tmp_path: Path, mode: str) -> None:
    ids = await prepare(world.cache)
    async with Client(world.server(), mode=mode) as connected:
        await keeps_its_promises(Claude(connected), ids, tmp_path / "new store")


@ERAS
async def test_over_http(world: World, tmp_path: Path, mode: str) -> None:
    ids = await prepare(world.cache)
    where = {PROJECT_HEADER: str(world.project)}
    async with http(world) as origin, http_client(origin, mode, **where) as claude:
        await keeps_its_promises(claude, ids, tmp_path / "new store")


@asynccontextmanager
async def relayed(device: Device, mode: str) -> AsyncIterator[Claude]:
    parameters = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], "mcp"], env=device.environment, cwd=device.work
    )
    async with Client(parameters, mode=mode) as connected:  # type: ignore[arg-type]
        yield Claude(connected)


@ERAS
@pytest.mark.parametrize("served_by", ["the daemon", "its own process"])
@pytest.mark.skipif(sys.platform == "win32", reason="the daemon of this test is found by its socket")
async def test_over_the_stdio_relay(tmp_path: Path, mode: str, served_by: str) -> None:
    device = Device(tmp_path)
    # The storage is a setting here and not a variable: configure_storage changes it.
    for name in ("BACKEND", "PATH"):
        device.environment.pop(f"CLAUDE_MEMORY_STORAGE_{name}")
    if served_by == "the daemon":
        await anyio.to_thread.run_sync(lambda: device.run("daemon", "start"))
    try:
        ids = await anyio.to_thread.run_sync(lambda: device.cache(prepare))
        async with relayed(device, mode) as claude:
            await keeps_its_promises(claude, ids, tmp_path / "new store")
    finally:
        await anyio.to_thread.run_sync(device.end)
