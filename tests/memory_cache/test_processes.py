"""Several processes on one cache: nobody's write is lost, nobody gets an error."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from memory_cache.cache import open_cache
from memory_cache.home import Home
from memory_cache.models import Filter
from memory_cache.settings import Settings

pytestmark = pytest.mark.anyio

PROCESSES, WRITES = 4, 50

SCRIPT = """
    import asyncio, pathlib, sys
    from memory_cache.cache import open_cache
    from memory_cache.home import Home
    from memory_cache.models import Change, Draft, Filter
    from memory_cache.settings import Settings

    async def main(root, number):
        async with open_cache(Home(pathlib.Path(root)), Settings()) as cache:
            print("ready", flush=True)
            sys.stdin.readline()
            async def one(n):
                remembered = await cache.remember(Draft(content=f"memory {number}-{n}", category="task"))
                await cache.recall(f"memory {number}", filter=Filter())
                return remembered.memory.id
            for id in await asyncio.gather(*(one(n) for n in range(%d))):
                print(id, flush=True)
            shared = (await cache.list(Filter(category="decision"))).memories[0]
            for n in range(10):
                await cache.update(shared.id, Change(add_tags=(f"tag-{number}-{n}",)))
    asyncio.run(main(sys.argv[1], sys.argv[2]))
"""


async def test_four_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    from memory_cache.models import Draft

    async with open_cache(Home(tmp_path), Settings()) as cache:
        shared = (await cache.remember(Draft(content="shared", category="decision"))).memory
    code = textwrap.dedent(SCRIPT) % WRITES
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    outputs = []
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        outputs.append(worker.communicate(timeout=100))
    assert [(worker.returncode, errors) for worker, (_, errors) in zip(workers, outputs, strict=True)] == [
        (0, "")
    ] * PROCESSES
    told = [memory_id for out, _ in outputs for memory_id in out.split()]
    assert len(told) == len(set(told)) == PROCESSES * WRITES
    async with open_cache(Home(tmp_path), Settings(), examine=True) as cache:
        stored = (await cache.list(Filter(category="task"), limit=1000)).memories
        assert {memory.id for memory in stored} == set(told)
        assert len({memory.path for memory in stored}) == PROCESSES * WRITES
        assert len((await cache.get(shared.id)).tags) == PROCESSES * 10
        assert await cache.problems() == []
