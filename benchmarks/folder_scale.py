"""10,000 memories in a folder: `python -m benchmarks.folder_scale [COUNT]`.

First sync, a rescan without changes, one change on its way to the other device's cache, remember and recall over
stdio, idle CPU and memory of the daemon; beside a plain loop that only reads the files. The processor's time of the
commands, and the daemon's per call, are printed as well: on a machine that does other work, trust those.
"""

import random
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import anyio

from benchmarks.devices import Device, cpu_seconds, percentile, report, resident_megabytes

IDLE_SECONDS = 60
CALLS = 100
_SETTLED_SECONDS = 4  # a file that was just written is read again by the next scan, however it looks
WORDS = (
    "deploy database index cache token branch review release build flaky container socket queue schema retry "
    "timeout backup parser printer network login invoice customer report memory worker thread module test "
    "service gateway staging production migration rollback cluster latency budget owner decision format editor"
).split()


def write_store(folder: Path, count: int) -> None:
    """A store as the product writes it: `count` memories of about 60 words."""
    chosen = random.Random(7)
    target = folder / "memories" / "learning"
    target.mkdir(parents=True)
    for number in range(count):
        memory_id = str(uuid.UUID(int=chosen.getrandbits(128), version=4))
        stamp = f"2026-{1 + number % 12:02}-{1 + number % 28:02}T10:00:00.000Z"
        body = " ".join(chosen.choices(WORDS, k=60))
        (target / f"{stamp[:10]}-note-{number}-{memory_id[:8]}.md").write_text(
            f'---\nid: {memory_id}\ncategory: learning\ntags:\n  - bench\ncreated: "{stamp}"\nupdated: "{stamp}"\n---\n'
            f"# Note {number}\n\n{body}\n",
            "utf-8",
        )


def plain_read(folder: Path) -> float:
    """Seconds that reading every file takes."""
    started = time.perf_counter()
    for path in folder.rglob("*.md"):
        path.read_bytes()
    return time.perf_counter() - started


def memories_in(device: Device) -> int:
    """How many memories the device's cache holds."""
    connection = sqlite3.connect(f"file:{device.home / 'cache.sqlite3'}?mode=ro", uri=True)
    try:
        return int(connection.execute("SELECT count(*) FROM memories").fetchone()[0])
    finally:
        connection.close()


def one_change(source: Device, target: Device, count: int) -> float:
    """Seconds from an edit on one device to the other device's cache."""
    connection = sqlite3.connect(f"file:{target.home / 'cache.sqlite3'}?mode=ro", uri=True)
    marker = f"marker{count}x"
    memory_id = str(connection.execute("SELECT id FROM memories ORDER BY id LIMIT 1 OFFSET ?", (count,)).fetchone()[0])
    source.run("update", memory_id, text=f"# Changed\n\n{marker}\n")
    started = time.perf_counter()
    try:
        while not connection.execute("SELECT 1 FROM memories WHERE body LIKE ?", (f"%{marker}%",)).fetchone():
            if time.perf_counter() - started > 30:
                raise RuntimeError("the change did not arrive within 30 s")
            time.sleep(0.01)
    finally:
        connection.close()
    return time.perf_counter() - started


async def calls_over_stdio(device: Device, daemon: int) -> dict[str, dict[str, Any]]:
    """Milliseconds of each remember and recall through the relay, and of the daemon's processor per call."""
    chosen = random.Random(11)
    found: dict[str, dict[str, Any]] = {}
    async with device.claude() as client:
        for tool in ("remember", "recall"):
            taken: list[float] = []
            before = 0.0
            for number in range(CALLS + 1):
                words = " ".join(chosen.choices(WORDS, k=4))
                values: dict[str, Any] = {"query": words, "all": True}
                if tool == "remember":
                    values = {"category": "learning", "content": f"Bench {number} {words}", "global": True}
                started = time.perf_counter()
                result = await client.call_tool(tool, values)
                taken.append((time.perf_counter() - started) * 1000)
                assert not result.is_error, result
                if number == 0:  # the first call of a daemon loads what the others use
                    before = cpu_seconds(daemon)
            cpu = 1000 * (cpu_seconds(daemon) - before) / CALLS
            found[tool] = {"first": taken[0], "milliseconds": taken[1:], "daemon_cpu": cpu}
    return found


def main() -> None:
    """Measure and report."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    figures: dict[str, Any] = {"memories": count}
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary)
        folder = base / "shared"
        write_store(folder, count)
        figures["plain_read"] = statistics.median(plain_read(folder) for _ in range(3))
        a, b = (Device.over_folder(base, name, folder) for name in "ab")
        time.sleep(_SETTLED_SECONDS)
        for key, device in (("first_sync", a), ("rescan", a), ("first_sync_other", b)):
            started, before = time.perf_counter(), _spent_by_children()
            device.run("sync")
            figures[key], figures[f"{key}_cpu"] = time.perf_counter() - started, _spent_by_children() - before
        assert memories_in(a) == count, memories_in(a)
        with a.daemon() as daemon, b.daemon():
            time.sleep(3)
            figures["change_to_other_device"] = [one_change(a, b, number) for number in range(10)]
            figures["calls"] = anyio.run(calls_over_stdio, a, daemon.pid)
            time.sleep(5)
            before = cpu_seconds(daemon.pid)
            time.sleep(IDLE_SECONDS)
            figures["idle_cpu_percent"] = 100 * (cpu_seconds(daemon.pid) - before) / IDLE_SECONDS
            figures["daemon_rss_mb"] = resident_megabytes(daemon.pid)
    report(f"folder_scale_{count}", _rows(figures), figures)


def _spent_by_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _rows(figures: dict[str, Any]) -> list[tuple[str, str]]:
    plain = figures["plain_read"]
    changes, calls = figures["change_to_other_device"], figures["calls"]
    rows = [("plain loop that reads the files", f"{plain:.2f} s")]
    for key, label in (
        ("first_sync", "first sync (whole command)"),
        ("rescan", "rescan without changes (whole command)"),
    ):
        rows.append(
            (label, f"{figures[key]:.2f} s   {figures[key] / plain:.1f} x plain   CPU {figures[f'{key}_cpu']:.2f} s")
        )
    rows.append(
        ("one change to the other cache", f"median {statistics.median(changes):.2f} s   max {max(changes):.2f} s")
    )
    for tool, found in calls.items():
        taken = found["milliseconds"]
        rows.append(
            (
                f"{tool} over stdio",
                f"p50 {percentile(taken, 0.5):.1f} ms   p95 {percentile(taken, 0.95):.1f} ms   min {min(taken):.1f} ms"
                f"   CPU of the daemon {found['daemon_cpu']:.1f} ms, its sync included",
            )
        )
    rows.append(("idle CPU of the daemon", f"{figures['idle_cpu_percent']:.2f} %"))
    rows.append(("memory of the daemon (RSS)", f"{figures['daemon_rss_mb']:.0f} MB"))
    return rows


if __name__ == "__main__":
    main()
