"""One eventful round, ended at each of its moments in turn: nothing is lost, whichever it was."""

import asyncio
import random

from tests.simulation import people
from tests.simulation.fate import Violation
from tests.simulation.script import Script
from tests.simulation.stores import SimulatedStorage
from tests.simulation.world import Result, World


async def eventful_round(world: World, dies_at: int | None) -> bool:
    """Everything that a round can have to do at once on one device; whether it was killed."""
    one, two = world.devices
    chance = random.Random(7)
    for _ in range(4):
        people.remember(one, chance)
    await one.round()
    await two.round()
    paths = [path for path in one.texts() if path.startswith("memories/")]
    for device in (one, two):
        people.use(device, "update", random.Random(paths[0]))  # the same lines on both
    world.fate.elapsed += 5
    people.use(two, "update", chance)
    people.remember(two, chance)
    people.forget(two, random.Random(3))
    people.by_hand("copy", one.store, world.book, random.Random(5), paths[2], "somebody")
    people.by_hand("edit", one.store, world.book, random.Random(5), paths[3], "somebody")
    one.store.put("memories/by hand.md", people.line(world.book, chance).encode())
    world.book.save("somebody", [], one.store.files()["memories/by hand.md"])
    world.fate.elapsed += 5
    await one.round()
    return await two.round(dies_at=dies_at) == "Killed"


def outcome(dies_at: int | None) -> tuple[bool, str | None, int]:
    world = World(Script("plain", devices=2, seed=1, steps=()))

    async def play() -> tuple[bool, str | None]:
        killed = await eventful_round(world, dies_at)
        result = Result(None, [])
        try:
            await world.come_to_rest(result)
        except Violation as violation:
            return killed, str(violation)
        return killed, None

    killed, violation = asyncio.run(play())
    return killed, violation, world.cloud.writes


def test_a_round_killed_at_any_of_its_moments_loses_nothing() -> None:
    moment = 0
    killed = True
    while killed:
        moment += 1
        killed, violation, _ = outcome(moment)
        assert violation is None, f"killed at moment {moment}"
    assert moment > 40, "the round was eventful"


def test_any_answer_of_the_storage_may_get_lost(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    answered = SimulatedStorage._answered
    _, _, writes = outcome(None)
    for number in range(writes + 1):
        countdown = [number]

        def lose(self, item, what, countdown=countdown):  # type: ignore[no-untyped-def]
            countdown[0] -= 1
            calm = "-- faults stop" in self.life.fate.trace
            self.weather.lost_answer = 1.0 if countdown[0] == 0 and not calm else 0.0
            return answered(self, item, what)

        monkeypatch.setattr(SimulatedStorage, "_answered", lose)
        assert outcome(None)[1] is None, f"the answer to write {number} got lost"
