"""A run as data: steps that do not depend on one another, so that any of them can be left out."""

import random
from dataclasses import dataclass

from tests.simulation.profiles import PROFILES


@dataclass(frozen=True)
class Step:
    """One step. `device` counts modulo the number of devices; `seed` is the step's own chance."""

    kind: str
    device: int
    seed: int


@dataclass(frozen=True)
class Script:
    """All that a run depends on."""

    profile: str
    devices: int
    seed: int
    steps: tuple[Step, ...]

    def source(self) -> str:
        """The script as Python, for a regression test."""
        steps = "\n".join(f"        Step({s.kind!r}, {s.device}, {s.seed})," for s in self.steps)
        head = f"    {self.profile!r},\n    devices={self.devices},\n    seed={self.seed},\n"
        return f"Script(\n{head}    steps=(\n{steps}\n    ),\n)"


def draw(profile: str, seed: int) -> Script:
    """The script of this seed."""
    chance = random.Random(f"{profile} {seed}")
    weights = PROFILES[profile].steps
    kinds = chance.choices(list(weights), list(weights.values()), k=chance.randrange(15, 45))
    steps = [Step(kind, chance.randrange(12), chance.randrange(2**32)) for kind in kinds]
    return Script(profile, chance.choice((2, 2, 2, 3, 3, 4)), seed, tuple(steps))
