"""A session that writes without end and prints a line for every write that was acknowledged to it."""

import json
import os
import random
import sys

import anyio

from memory_cache import settings
from memory_cache.cache import open_cache
from memory_cache.home import Home
from memory_cache.models import Change, Draft


async def main(seed: int) -> None:
    """Remember, update and forget at random; `seed` names the texts as well."""
    chosen = random.Random(seed)
    home = Home.current()
    async with open_cache(home, settings.load(home, os.environ)) as cache:
        mine: list[str] = []
        number = 0
        while True:
            number += 1
            marker = f"marker-{seed}-{number}"
            action = chosen.choice(("remember", "remember", "update", "forget")) if len(mine) > 3 else "remember"
            if action == "remember":
                memory = (await cache.remember(Draft(content=f"# {marker}\n\nline\n", category="learning"))).memory
                mine.append(memory.id)
            elif action == "update":
                memory = await cache.update(chosen.choice(mine), Change(content=f"# {marker}\n\nchanged\n"))
            else:
                memory = await cache.forget(mine.pop(chosen.randrange(len(mine))))
                marker = ""
            print(json.dumps({"action": action, "id": memory.id, "marker": marker}), flush=True)


anyio.run(main, int(sys.argv[1]))
