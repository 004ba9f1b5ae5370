"""OneDrive beside plain httpx: `python -m benchmarks.onedrive_pull [COUNT] [RUNS]`.

Each in its own process against one emulator of Graph in another: a first pull of COUNT memories (5,000), idle
rounds, rounds with one change. `plain` is httpx and json with nothing else; `backend` is our storage backend alone;
`device` is the whole: cache, search index, engine. They take turns RUNS times (2), and the best of each counts. A
heartbeat of 5 ms in the same event loop shows its longest stall. The last rows set the ways to read one page of
delta side by side: httpx and json, the SDK's adapter and json, the SDK's models.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.devices import ROOT, percentile, report

PARALLEL, ROUNDS, CHANGES, BEAT = 6, 50, 10, 0.005
TOKEN = "emulator-token"


@contextmanager
def emulator(count: int) -> Iterator[str]:
    """An emulator with so many memories; its base URL."""
    environment = {**os.environ, "MEMORIES": str(count), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.graph_emulator"]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


class Heartbeat:
    """Longest pauses between two beats of the event loop, in milliseconds beyond the beat itself."""

    def __init__(self) -> None:
        self.late: list[float] = []

    async def run(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(BEAT)
            self.late.append((time.perf_counter() - before - BEAT) * 1000)


async def measured(
    work: dict[str, Callable[[], Awaitable[None]]], change: Callable[[int], Awaitable[None]]
) -> dict[str, Any]:
    """Run pull, idle rounds and rounds with one change; figures of each."""
    figures: dict[str, Any] = {}
    beat = Heartbeat()
    beating = asyncio.create_task(beat.run())
    for key, times in (("pull", 1), ("idle", ROUNDS), ("change", CHANGES)):
        wall, cpu = [], []
        if key == "pull":
            await work["warm"]()
            beat.late.clear()
        for number in range(times):
            if key == "change":
                await change(number)
            begun, used = time.perf_counter(), time.process_time()
            await work["pull" if key == "pull" else "round"]()
            wall.append(time.perf_counter() - begun)
            cpu.append(time.process_time() - used)
        figures[key] = {"wall": percentile(wall, 0.5), "cpu": sum(cpu) / len(cpu)}
        figures[f"{key}_stall_ms"] = max(beat.late, default=0.0)
        figures[f"{key}_stall_p99_ms"] = percentile(beat.late or [0.0], 0.99)
        beat.late.clear()
    beating.cancel()
    figures["rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return figures


def changer(url: str) -> Callable[[int], Awaitable[None]]:
    """Another client that writes one memory."""
    import httpx

    client = httpx.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, trust_env=False)

    async def change(number: int) -> None:
        path = f"{url}/me/drive/root:/Apps/ClaudeMemory/memories/learning/changed.md:/content"
        text = f"---\nid: 00000000-0000-4000-8000-000000000000\ncategory: learning\n---\n\nTurn {number}\n"
        (await client.put(path, content=text.encode())).raise_for_status()

    return change


async def plain(url: str) -> dict[str, Any]:
    """httpx and json, nothing else."""
    import httpx

    client = httpx.AsyncClient(
        headers={"Authorization": f"Bearer {TOKEN}"}, follow_redirects=True, trust_env=False, timeout=60
    )
    files: dict[str, bytes] = {}
    state = {"link": ""}

    async def follow() -> None:
        items: dict[str, Any] = {}
        while True:
            page = json.loads((await client.get(state["link"])).content)
            items.update({item["id"]: item for item in page["value"] if "file" in item})
            state["link"] = page.get("@odata.nextLink") or page["@odata.deltaLink"]
            if "@odata.deltaLink" in page:
                break
        waiting = iter(items)

        async def fetch() -> None:
            for item_id in waiting:
                files[item_id] = (await client.get(f"{url}/me/drive/items/{item_id}/content")).content

        await asyncio.gather(*(fetch() for _ in range(PARALLEL)))

    async def warm() -> None:
        root = json.loads((await client.get(f"{url}/me/drive/special/approot")).content)
        state["link"] = f"{url}/me/drive/items/{root['id']}/delta"

    figures = await measured({"warm": warm, "pull": follow, "round": follow}, changer(url))
    figures["files"] = len(files)
    return figures


async def backend(url: str) -> dict[str, Any]:
    """Our storage backend alone."""
    from storage_backends.onedrive import OneDriveSettings, open_onedrive

    files: dict[str, bytes] = {}
    cursor: list[str | None] = [None]
    environ = {"CLAUDE_MEMORY_GRAPH_URL": url, "CLAUDE_MEMORY_GRAPH_TOKEN": TOKEN}
    with tempfile.TemporaryDirectory() as temporary:
        async with open_onedrive(OneDriveSettings(push=False), Path(temporary), environ) as storage:

            async def follow() -> None:
                items: set[str] = set()
                while True:
                    page = await storage.changes(cursor[0])
                    items |= {item.item_id for item in page.items}
                    cursor[0] = page.cursor
                    if not page.more:
                        break
                waiting = iter(items)

                async def fetch() -> None:
                    for item_id in waiting:
                        files[item_id] = (await storage.read(item_id)).data

                await asyncio.gather(*(fetch() for _ in range(PARALLEL)))

            async def warm() -> None:
                await storage.scope()

            figures = await measured({"warm": warm, "pull": follow, "round": follow}, changer(url))
    figures["files"] = len(files)
    return figures


async def device(url: str) -> dict[str, Any]:
    """Cache, index, engine and backend, as in the daemon."""
    from daemon.engine import SyncEngine
    from daemon.round_context import Device
    from memory_cache.cache import open_cache
    from memory_cache.home import Home
    from memory_cache.settings import Settings
    from storage_backends.open import open_onedrive

    environ = {"CLAUDE_MEMORY_GRAPH_URL": url, "CLAUDE_MEMORY_GRAPH_TOKEN": TOKEN}
    with tempfile.TemporaryDirectory() as temporary:
        home = Home(Path(temporary) / "home")
        home.ensure()
        async with (
            open_cache(home, Settings()) as cache,
            open_onedrive({"push": False}, login_dir=home.login_dir, environ=environ) as storage,
        ):
            engine = SyncEngine(cache.database, storage, Device("bench", "bench"))

            async def turn() -> None:
                await engine.round()

            async def warm() -> None:
                await storage.scope()

            figures = await measured({"warm": warm, "pull": turn, "round": turn}, changer(url))
            figures["files"] = (await cache.status()).memories
    return figures


async def pages(url: str) -> dict[str, Any]:
    """CPU of one page of delta, read in three ways: an idle page, and one of 200 items."""
    import httpx

    from storage_backends.onedrive.settings import Endpoint
    from storage_backends.onedrive.tokens import GivenToken
    from storage_backends.onedrive.transport import Transport

    client = httpx.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, trust_env=False)
    root = json.loads((await client.get(f"{url}/me/drive/special/approot")).content)
    drive = root["parentReference"]["driveId"]
    full = f"{url}/drives/{drive}/items/{root['id']}/delta"
    idle = json.loads((await client.get(f"{full}?token=latest")).content)["@odata.deltaLink"]
    transport = Transport(Endpoint(url, "", TOKEN), GivenToken(TOKEN))

    async def by_httpx(link: str) -> None:
        json.loads((await client.get(link)).content)

    async def by_adapter(link: str) -> None:
        (await transport.send("GET", link)).json()

    await by_adapter(idle)
    from msgraph import GraphServiceClient

    builder = GraphServiceClient(request_adapter=(await transport._start())._adapter).drives.by_drive_id(drive).items
    delta = builder.by_drive_item_id(root["id"]).delta

    async def by_models(link: str) -> None:
        assert await delta.with_url(link).get() is not None

    figures: dict[str, Any] = {}
    for name, read in (("httpx", by_httpx), ("adapter", by_adapter), ("models", by_models)):
        for size, link in (("idle", idle), ("full", full)):
            first = time.process_time()
            await read(link)
            figures[f"{name}_{size}_first_ms"] = (time.process_time() - first) * 1000
            used = time.process_time()
            for _ in range(20):
                await read(link)
            figures[f"{name}_{size}_ms"] = (time.process_time() - used) * 1000 / 20
    await transport.aclose()
    return figures


WORKERS = {"plain": plain, "backend": backend, "device": device, "pages": pages}


def run_worker(name: str, url: str) -> dict[str, Any]:
    """One worker in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.onedrive_pull", "--worker", name, url],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def best(results: list[Any]) -> Any:
    """The smallest of each figure."""
    if isinstance(results[0], dict):
        return {key: best([result[key] for result in results]) for key in results[0]}
    return min(results)


def main() -> None:
    """Measure and report."""
    if sys.argv[1:2] == ["--worker"]:
        print(json.dumps(asyncio.run(WORKERS[sys.argv[2]](sys.argv[3]))))
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    taken: dict[str, list[dict[str, Any]]] = {name: [] for name in WORKERS}
    for _ in range(runs):
        for name in WORKERS:
            with emulator(count) as url:
                taken[name].append(run_worker(name, url))
    figures: dict[str, Any] = {"memories": count, "runs": runs}
    figures |= {name: best(results) for name, results in taken.items()}
    report(f"onedrive_pull_{count}", _rows(figures), figures)


def _rows(figures: dict[str, Any]) -> list[tuple[str, str]]:
    base = figures["plain"]
    rows: list[tuple[str, str]] = []
    for key, label in (("pull", "first pull"), ("idle", "idle round"), ("change", "round with one change")):
        for name in ("plain", "backend", "device"):
            wall, cpu = figures[name][key]["wall"], figures[name][key]["cpu"]
            unit, scale = ("s", 1) if key == "pull" else ("ms", 1000)
            ratio = wall / base[key]["wall"]
            rows.append(
                (f"{label}, {name}", f"{wall * scale:.2f} {unit}   {ratio:.2f} x plain   {cpu * scale:.2f} {unit} CPU")
            )
    for name in ("plain", "backend", "device"):
        own = figures[name]
        stalls = "   ".join(f"{key} {own[f'{key}_stall_ms']:.0f} ms" for key in ("pull", "idle", "change"))
        rows.append((f"memory and longest stalls, {name}", f"{own['rss_mb']:.0f} MiB   {stalls}"))
    pages = figures["pages"]
    for size, label in (("idle", "page of delta, idle"), ("full", "page of delta, 200 items")):
        for name in ("httpx", "adapter", "models"):
            first, later = pages[f"{name}_{size}_first_ms"], pages[f"{name}_{size}_ms"]
            rows.append((f"{label}, {name}", f"{later:.2f} ms CPU   first {first:.0f} ms"))
    return rows


if __name__ == "__main__":
    main()
