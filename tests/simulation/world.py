"""Carries a script out, lets everything come to rest, and checks what must hold."""

import asyncio
import random
from collections.abc import Coroutine
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from tests.simulation import invariants, people
from tests.simulation.book import Book, id_of
from tests.simulation.devices import SimulatedDevice
from tests.simulation.fate import Fate, Life, Violation, leaves
from tests.simulation.profiles import PROFILES, Profile
from tests.simulation.script import Script, Step
from tests.simulation.stores import SimulatedStore, Weather
from tests.simulation.sync_client import SyncClient

_CALM_ROUNDS = 12


@dataclass
class Result:
    """What a run came to: the violation, if there was one, and what happened."""

    violation: str | None
    trace: list[str]
    rounds_to_rest: int = 0
    writes: int = 0
    conflicts: int = 0


@dataclass
class World:
    """Devices, stores, people, time."""

    script: Script
    fate: Fate = field(init=False)
    book: Book = field(default_factory=Book)
    profile: Profile = field(init=False)
    cloud: SimulatedStore = field(init=False)
    devices: list[SimulatedDevice] = field(default_factory=list)
    clients: list[SyncClient] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fate = Fate(random.Random(self.script.seed))
        self.profile = PROFILES[self.script.profile]
        self.cloud = SimulatedStore("cloud", self.fate, **self.profile.traits)
        for number in range(self.script.devices):
            name = f"dev{number}"
            store = (
                SimulatedStore(f"folder-{name}", self.fate, **self.profile.traits)
                if self.profile.replicas
                else self.cloud
            )
            device = SimulatedDevice(name, self.fate, self.book, store)
            if self.profile.clocks:
                device.ahead = timedelta(seconds=self.fate.random.choice((0, -300, 400, 86400, -40 * 86400)))
            self.devices.append(device)
            if self.profile.replicas:
                self.clients.append(SyncClient(f"DESKTOP-{name.upper()}", store, self.cloud, Life(self.fate, name)))

        self.book.in_step = self._in_step

    def _in_step(self, memory_id: str) -> bool:
        """Whether all the world holds one and the same file of this memory, and nobody has anything else in mind."""
        texts = [dict(store.files()) for store in self._stores()] + [device.texts() for device in self.devices]
        found = [[(path, data) for path, data in files.items() if id_of(data) == memory_id] for files in texts]
        if any(len(same) != 1 or same != found[0] for same in found):
            return False
        path = found[0][0][0]
        query = "SELECT 1 FROM files WHERE path = ? AND content_hash IS base_hash AND sent_hash IS NULL"
        return all(device.connection.execute(query, (path,)).fetchone() for device in self.devices)

    async def run(self) -> Result:
        """The whole run."""
        result = Result(None, self.fate.trace)
        try:
            for number, step in enumerate(self.script.steps):
                self.fate.note(f"-- {number} {step}")
                await self._step(step)
                self.fate.elapsed += 1.5
            await self.come_to_rest(result)
        except (Violation, BaseExceptionGroup) as error:
            found = leaves(error)[0]
            if not isinstance(found, Violation):
                raise found from error
            result.violation = str(found)
        finally:
            for device in self.devices:
                device.connection.close()
        result.writes = sum(store.writes for store in self._stores())
        result.conflicts = sum(path.startswith("conflicts/") for path in self.cloud.files())
        return result

    def _stores(self) -> list[SimulatedStore]:
        return [self.cloud, *(client.folder for client in self.clients)]

    async def _step(self, step: Step) -> None:
        chance = random.Random(step.seed)
        device = self.devices[step.device % len(self.devices)]
        match step.kind:
            case "use":
                people.use_device(device, chance)
            case "by_hand":
                people.use_folder(device.store, self.book, chance, f"somebody at {device.name}")
            case "sync":
                await self._sync(device, chance)
            case "client" if self.clients:
                await self.clients[step.device % len(self.clients)].run()
            case "time":
                self.fate.elapsed += chance.choice((0.5, 5, 60, 1000, 90000))
            case "weather":
                self._change_weather(device, chance)
            case "mount":
                # A device that knows nothing of the store cannot tell an empty mount point from a new store.
                self.book.gone.clear()
                device.weather.root = chance.choice(("gone", "empty", "there") if device.counted_files() else ("gone",))
            case "expire":
                device.store.expire_cursors()
            case "full":
                await device.round(full=True)
            case "cache":
                device.lose_cache(None)
            case "snapshot":
                self._snapshot(device)
            case "clock":
                device.ahead = timedelta(seconds=chance.choice((0, -7200, 3600, 40 * 86400, -400 * 86400)))
            case _:
                await self._rarer_step(step.kind, device, chance)

    async def _rarer_step(self, kind: str, device: SimulatedDevice, chance: random.Random) -> None:
        match kind:
            case "twins":
                async with asyncio.TaskGroup() as group:
                    group.create_task(device.round())
                    group.create_task(device.twin().round())
            case "update":
                people.use(device, "update", chance)
            case "forget":
                people.forget(device, chance)
            case "many":
                for _ in range(12 if device.counted_files() < 30 else 0):
                    people.remember(device, chance)
            case "mass_delete":
                self._mass_delete(device, chance)

    async def _sync(self, device: SimulatedDevice, chance: random.Random) -> None:
        """A round of one or of several devices at once, tools at work meanwhile, perhaps a death in the middle."""
        crowd = [device]
        if chance.random() < 0.4:
            crowd = chance.sample(self.devices, chance.randrange(1, len(self.devices) + 1))
        jobs: list[Coroutine[Any, Any, object]] = []
        for member in crowd:
            dies_at = chance.randrange(1, 60) if chance.random() < self.profile.kills else None
            jobs.append(member.round(dies_at=dies_at))
            if chance.random() < 0.3:
                jobs.append(self._meanwhile(member, random.Random(chance.random())))
        if self.clients and chance.random() < 0.3:
            jobs.append(chance.choice(self.clients).run())
        async with asyncio.TaskGroup() as group:
            for job in jobs:
                group.create_task(job)

    async def _meanwhile(self, device: SimulatedDevice, chance: random.Random) -> None:
        for _ in range(chance.randrange(2, 40)):
            await asyncio.sleep(0)
        if chance.random() < 0.7:
            people.use_device(device, chance)
        else:
            people.use_folder(device.store, self.book, chance, f"somebody at {device.name}")

    def _change_weather(self, device: SimulatedDevice, chance: random.Random) -> None:
        root = device.weather.root
        device.weather = Weather(root=root)
        for name, probability in self.profile.weather.items():
            if chance.random() < 0.5:
                setattr(device.weather, name, probability)
        device.weather.refused_names = chance.random() < 0.3
        if device.life is not None and device.engine is not None:
            device.engine = None  # a new process takes the new weather

    def _snapshot(self, device: SimulatedDevice) -> None:
        """Keep the cache's state, or go back to the state kept before (a restored backup)."""
        if device.saved is None:
            device.saved = device.connection.serialize()
        else:
            device.lose_cache(device.saved)
            device.saved = None

    def _mass_delete(self, device: SimulatedDevice, chance: random.Random) -> None:
        doomed = [path for path in device.store.files() if path.startswith("memories/")]
        for path in doomed[: chance.randrange(1, len(doomed) + 1) if doomed else 0]:
            self.book.delete("mass delete", device.store.files()[path])
            self.book.save("mass delete", [device.store.files()[path]], None)
            device.store.remove(path)

    async def come_to_rest(self, result: Result) -> None:
        """Faults stop. After a bounded number of rounds nothing more is written, and everybody has the same."""
        self.fate.note("-- faults stop")
        for device in self.devices:
            device.weather = Weather()
            device.engine = None
        self.fate.elapsed += 100_000  # every enumeration is overdue, every hand-written file is quiet
        for number in range(_CALM_ROUNDS):
            self.fate.elapsed += 30
            before = self._state()
            for client in self.clients:
                await client.run()
            reports = [await device.round(full=number == 0, confirm=True) for device in self.devices]
            invariants.no_failed_rounds(reports)
            if before == self._state() and number > 0:
                result.rounds_to_rest = number
                break
        else:
            raise Violation(f"I1: still changing after {_CALM_ROUNDS} rounds without faults")
        invariants.all_in_step(self.devices, self._stores())
        invariants.nothing_lost(self.book, self.cloud)
        invariants.nothing_resurrected(self.book, self.cloud)
        invariants.few_writes(sum(s.writes for s in self._stores()), len(self.script.steps), len(self.devices))

    def _state(self) -> list[dict[str, bytes]]:
        return [dict(store.files()) for store in self._stores()] + [device.texts() for device in self.devices]


def run(script: Script) -> Result:
    """Carry out one script."""
    return asyncio.run(World(script).run())
