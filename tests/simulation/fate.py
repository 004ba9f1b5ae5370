"""Chance, time and death: everything in a run that is not the program's own doing comes from here."""

import asyncio
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

START = datetime(2026, 5, 4, 9, tzinfo=UTC)


class Killed(BaseException):
    """The process ended here, in the middle of what it did. Nothing of it runs any more."""


class Violation(Exception):
    """A guarantee does not hold."""


def leaves(error: BaseException) -> list[BaseException]:
    """The errors that a group holds, however deep; the error itself when it is none."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in leaves(inner)]
    return [error]


@dataclass
class Fate:
    """One run's chance and time. `trace` says in order what happened; two runs of one seed have the same."""

    random: random.Random
    elapsed: float = 0.0
    trace: list[str] = field(default_factory=list)

    def time(self) -> datetime:
        """True time, which no device knows."""
        return START + timedelta(seconds=self.elapsed)

    def note(self, text: str) -> None:
        """Write into the trace."""
        self.trace.append(text)

    async def others_first(self) -> None:
        """Let other tasks run for a random while."""
        for _ in range(self.random.choice((0, 0, 0, 1, 3))):
            await asyncio.sleep(0)


@dataclass
class Life:
    """One process. It counts the points at which it waits, and can be made to die at one of them."""

    fate: Fate
    name: str
    dies_at: int | None = None
    waits: int = 0
    dead: bool = False
    paused_until: float = 0.0

    async def wait(self, what: str) -> None:
        """A point at which the process waits for something, others run, and it may be killed."""
        await self.fate.others_first()
        self.waits += 1
        if self.dies_at is not None and self.waits >= self.dies_at and not self.dead:
            self.dead = True
            self.fate.note(f"{self.name} dies at {what}")
        if self.dead:
            raise Killed
