"""Whole devices for tests: cache, engine, and the OneDrive backend with its wrappers, as the daemon has them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from daemon.engine import SyncEngine
from daemon.round_context import Device
from daemon.round_report import RoundReport
from memory_cache.cache import MemoryCache, open_cache
from memory_cache.home import Home
from memory_cache.models import Change, Draft, Memory
from memory_cache.settings import Settings
from storage_backends.errors import StorageError
from storage_backends.limit import LimitedStorage
from storage_backends.onedrive import OneDriveSettings, open_onedrive
from storage_backends.retry import RetryingStorage, RetryPolicy
from tests.graph_emulator import Emulator

FOLDER = "Apps/ClaudeMemory"


@dataclass
class OneDriveDevice:
    """One device of a person."""

    cache: MemoryCache
    engine: SyncEngine

    async def remember(self, text: str, category: str = "learnings") -> Memory:
        return (await self.cache.remember(Draft(content=text, category=category))).memory

    async def edit(self, memory_id: str, text: str) -> Memory:
        return await self.cache.update(memory_id, Change(content=text))

    async def round(self, **options: bool) -> RoundReport:
        return await self.engine.round(**options)

    async def try_round(self) -> StorageError | RoundReport:
        """A round, or what ended it."""
        try:
            return await self.engine.round()
        except StorageError as error:
            return error

    async def texts(self) -> dict[str, str]:
        """Content of every living memory by its id."""
        return {memory["id"]: memory["content"] for memory in await self.cache.export()}

    async def files(self) -> dict[str, bytes]:
        """Every file of the cache, device notes left out."""

        def read(connection: Any) -> dict[str, bytes]:
            rows = connection.execute("SELECT path, content FROM files WHERE content IS NOT NULL AND kind <> 'device'")
            return {row[0]: bytes(row[1]) for row in rows}

        return await self.cache.database.read(read)


@asynccontextmanager
async def device(name: str, directory: Path, emulator: Emulator, **settings: Any) -> AsyncIterator[OneDriveDevice]:
    """Open a device; the same name is the same device after a restart."""
    home = Home(directory / name)
    home.ensure()
    plain = OneDriveSettings(**{"push": False, **settings})
    async with open_cache(home, Settings()) as cache:
        inner = open_onedrive(plain, home.login_dir, emulator.environ)
        quick = RetryPolicy(attempts=3, first_delay=0.01, longest_delay=0.02)
        async with RetryingStorage(LimitedStorage(inner), quick) as backend:
            yield OneDriveDevice(cache, SyncEngine(cache.database, backend, Device(f"id-{name}", name)))


def memories_of(emulator: Emulator) -> dict[str, bytes]:
    """What the drive holds, device notes left out."""
    return {path: data for path, data in emulator.drive.tree(FOLDER).items() if not path.startswith("devices/")}


async def settle(*devices: OneDriveDevice, rounds: int = 6) -> None:
    """Rounds on all devices until nothing is left to do."""
    for _ in range(rounds):
        reports = [await one.round() for one in devices]
        if all(report.quiet and not report.pending for report in reports):
            return
    raise AssertionError(f"not at rest after {rounds} rounds: {reports}")
