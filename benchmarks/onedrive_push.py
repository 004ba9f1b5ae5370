"""An edit on one machine until it is in the other's cache, over OneDrive: `python -m benchmarks.onedrive_push`.

Two daemons against an emulator of Graph. Polling is off (an hour), so notifications alone carry the edits.
"""

import sqlite3
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio

from benchmarks.devices import Device, report, resident_megabytes
from benchmarks.onedrive_pull import TOKEN, emulator
from memory_cache.cache import open_cache
from memory_cache.home import Home
from memory_cache.models import Change, Draft
from memory_cache.settings import Settings

EDITS = 20


def arrived(device: Device, marker: str) -> bool:
    """Whether the device's cache has a memory with this word."""
    connection = sqlite3.connect(f"file:{device.home / 'cache.sqlite3'}?mode=ro", uri=True)
    try:
        return connection.execute("SELECT 1 FROM memories WHERE body LIKE ?", (f"%{marker}%",)).fetchone() is not None
    finally:
        connection.close()


async def seconds_until(device: Device, marker: str) -> float:
    """How long it takes from now."""
    started = time.perf_counter()
    while not arrived(device, marker):
        if time.perf_counter() - started > 60:
            raise RuntimeError("the edit did not arrive within 60 s")
        await anyio.sleep(0.005)
    return time.perf_counter() - started


async def edits(one: Device, other: Device) -> list[float]:
    """Seconds of each edit, from the moment it is in the first machine's cache."""
    taken: list[float] = []
    async with open_cache(Home(one.home), Settings()) as cache:
        draft = Draft(content="first0marker", category="learning")
        memory = (await cache.remember(draft)).memory
        await seconds_until(other, "first0marker")
        for number in range(EDITS):
            await anyio.sleep(1)
            await cache.update(memory.id, Change(content=f"edit{number}marker"))
            taken.append(await seconds_until(other, f"edit{number}marker"))
    return taken


def main() -> None:
    """Measure and report."""
    with tempfile.TemporaryDirectory() as temporary, emulator(20) as url:
        base = Path(temporary)
        settings = {
            "CLAUDE_MEMORY_STORAGE_BACKEND": "onedrive",
            "CLAUDE_MEMORY_GRAPH_URL": url,
            "CLAUDE_MEMORY_GRAPH_TOKEN": TOKEN,
            "CLAUDE_MEMORY_SYNC_POLL_SECONDS": "3600",
            "CLAUDE_MEMORY_SYNC_IDLE_POLL_SECONDS": "3600",
        }
        one, other = (Device.over_folder(base, name, base / "unused", **settings) for name in "ab")
        with one.daemon(), other.daemon() as daemon:
            taken = anyio.run(edits, one, other)
            memory_used = resident_megabytes(daemon.pid)
    figures: dict[str, Any] = {"seconds": taken, "daemon_rss_mb": memory_used}
    rows = [
        ("edit to the other cache", f"median {statistics.median(taken):.2f} s   max {max(taken):.2f} s"),
        ("memory of the daemon (RSS)", f"{memory_used:.0f} MB"),
    ]
    report("onedrive_push", rows, figures)


if __name__ == "__main__":
    main()
