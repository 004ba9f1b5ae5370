"""The loops live through whatever happens around them. Real database, real engine, a store in memory."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest

from daemon import loops
from daemon.loops import Job, LoopHealth, SyncLoop, run_job
from daemon.notify import Progress
from daemon.round_report import RoundReport
from daemon.schedule import Pace
from daemon.service import engine_maker
from memory_cache import health
from memory_cache.cache import MemoryCache, open_cache
from memory_cache.clock import utc_now
from memory_cache.errors import CacheDamaged, SettingsError
from memory_cache.home import Home
from memory_cache.models import Draft, SyncHealth
from memory_cache.settings import Settings
from storage_backends.base import StorageBackend
from storage_backends.errors import LoginRequired, Throttled, Unreachable
from storage_backends.in_memory import InMemoryStorage, InMemoryStore

QUICK = Pace(poll=600.0, idle_poll=600.0, debounce=0.01)


@dataclass
class World:
    """A cache, a store, and the faults that the store shows at the moment."""

    home: Home
    cache: MemoryCache
    store: InMemoryStore = field(default_factory=InMemoryStore)
    fault: Callable[[str], Awaitable[None]] | None = None
    openings: int = 0
    calls: list[str] = field(default_factory=list)
    fail_to_open: Exception | None = None

    async def intercept(self, phase: Literal["before", "after"], call: str, subject: str) -> None:
        if phase == "before":
            self.calls.append(call)
            if self.fault is not None:
                await self.fault(call)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[StorageBackend]:
        self.openings += 1
        if self.fail_to_open is not None:
            raise self.fail_to_open
        async with InMemoryStorage(self.store, intercept=self.intercept) as backend:
            yield backend

    async def loop(self, **changed: Any) -> SyncLoop:
        make = await engine_maker(self.cache, "1")
        arguments: dict[str, Any] = {"make_engine": make, "pace": QUICK, "progress": Progress(), **changed}
        file = self.home.cache_file
        return SyncLoop(self.cache.database, self.open, cache_file=file, backend_name="memory", **arguments)

    async def remember(self, text: str) -> None:
        await self.cache.remember(Draft(content=text, category="learning"))

    def stored(self) -> int:
        return sum(path.startswith("memories/") for path in self.store.files())


@asynccontextmanager
async def a_world(home: Path) -> AsyncIterator[World]:
    async with open_cache(Home(home), Settings()) as cache:
        yield World(Home(home), cache)


async def until(what: Callable[[], Any]) -> None:
    with anyio.fail_after(30):
        while not what():  # noqa: ASYNC110 - the state of another task
            await anyio.sleep(0.01)


@asynccontextmanager
async def running(loop: SyncLoop) -> AsyncIterator[None]:
    async with anyio.create_task_group() as group:
        group.start_soon(loop.run)
        yield
        group.cancel_scope.cancel()


def in_a_world(home: Path, main: Callable[[World], Awaitable[None]]) -> None:
    async def run() -> None:
        async with a_world(home) as world:
            await main(world)

    anyio.run(run)


async def outcome_of(loop: SyncLoop, **options: bool) -> RoundReport | Exception | None:
    asked = loop.request(full=options.get("full", False), confirm_deletes=False)
    with anyio.fail_after(30):
        await asked.done.wait()
    return asked.outcome


def test_changes_of_this_device_and_of_others_are_noticed(tmp_path: Path) -> None:
    async def main(world: World) -> None:
        loop = await world.loop()
        async with running(loop):
            await until(lambda: loop.sync.state == "ok")
            await world.remember("From a session of the daemon")
            await until(lambda: world.stored() == 1)
            # Another process writes into the same cache.
            async with open_cache(Home(tmp_path), Settings()) as other:
                await other.remember(Draft(content="From another process", category="learning"))
            await until(lambda: world.stored() == 2)
            world.store.put("memories/learning/x.md", b"---\nid: 0d3f7a3e-0000-4000-8000-000000000001\n---\nHello\n")
            with anyio.fail_after(30):
                while (await world.cache.status()).memories != 3:  # noqa: ASYNC110 - the state of another task
                    await anyio.sleep(0.02)

    in_a_world(tmp_path, main)


def test_an_idle_loop_asks_the_storage_for_nothing(tmp_path: Path) -> None:
    async def main(world: World) -> None:
        loop = await world.loop()
        async with running(loop):
            await world.remember("One")
            await until(lambda: world.stored() == 1)
            await outcome_of(loop)
            await until(lambda: not loop.running)
            await anyio.sleep(1.2)  # the echoes of our own writes
            calls = loop.calls
            await anyio.sleep(1.0)
            assert loop.calls == calls

    in_a_world(tmp_path, main)


def test_a_request_at_any_moment_is_served_at_once(tmp_path: Path) -> None:
    """Also one that comes while a round is just being prepared."""

    async def main(world: World) -> None:
        loop = await world.loop()
        read, asked = world.cache.database.read, []

        async def asking_meanwhile(function: Any) -> Any:
            result = await read(function)
            if function is loops.unsent and len(asked) < 3:
                asked.append(loop.request(full=False, confirm_deletes=False))
            return result

        world.cache.database.read = asking_meanwhile  # type: ignore[method-assign]
        async with running(loop):
            await until(lambda: len(asked) == 3)
            with anyio.fail_after(10):
                for request in asked:
                    await request.done.wait()

    in_a_world(tmp_path, main)


def test_a_failed_round_is_told_and_tried_again(tmp_path: Path) -> None:
    async def main(world: World) -> None:
        async def down(call: str) -> None:
            if call == "changes":
                raise Unreachable("No network.", "Check the cable.")

        world.fault = down
        loop = await world.loop()
        async with running(loop):
            assert isinstance(await outcome_of(loop), Unreachable)
            await until(lambda: loop.sync.state == "unreachable")
            stored = await world.cache.database.read(health.read)
            assert (stored.state, stored.message, stored.hint) == ("unreachable", "No network.", "Check the cable.")
            assert loop.health.failures > 0
            world.fault = None
            await until(lambda: loop.sync.state == "ok")
            assert loop.health.failures == 0

    in_a_world(tmp_path, main)


def test_a_fault_of_the_program_does_not_end_the_loop(tmp_path: Path) -> None:
    class Broken:
        rounds = 0

        async def round(self, *, full: bool = False, confirm_deletes: bool = False) -> RoundReport:
            self.rounds += 1
            if self.rounds == 1:
                raise KeyError("a bug")
            return RoundReport()

    async def main(world: World) -> None:
        loop = await world.loop(make_engine=lambda backend: Broken())
        async with running(loop):
            await until(lambda: loop.sync.state == "failed")
            assert "KeyError" in loop.sync.message
            assert "a bug" not in loop.sync.message
            assert isinstance(await outcome_of(loop), RoundReport)
            assert loop.sync.state == "ok"

    in_a_world(tmp_path, main)


def test_a_pause_is_kept_and_survives_a_restart(tmp_path: Path) -> None:
    async def main(world: World) -> None:
        async def slow_down(call: str) -> None:
            if call == "changes":
                raise Throttled("Too many requests.", retry_after=3600)

        world.fault = slow_down
        for restart in range(2):
            loop = await world.loop()
            async with running(loop):
                await until(lambda loop=loop: loop.sync.state == "throttled")  # type: ignore[misc]
                await anyio.sleep(0.05)
                world.calls.clear()
                refused = await outcome_of(loop)
                assert isinstance(refused, Throttled)
                assert refused.retry_after is not None
                assert 3500 < refused.retry_after <= 3600
                await world.remember(f"Written during the pause {restart}")
                await anyio.sleep(0.5)
                assert [call for call in world.calls if call != "wait_for_change"] == []
            world.fault = None

    in_a_world(tmp_path, main)


def test_a_pause_that_is_over_holds_nothing_back(tmp_path: Path) -> None:
    async def main(world: World) -> None:
        past = SyncHealth(state="throttled", throttled_until=utc_now() - timedelta(seconds=1))
        await world.cache.database.write(lambda connection: health.report(connection, past))
        loop = await world.loop()
        async with running(loop):
            await until(lambda: loop.sync.state == "ok")

    in_a_world(tmp_path, main)


def test_a_storage_that_does_not_open_is_tried_again_and_taken_when_it_does(tmp_path: Path) -> None:
    async def main(world: World) -> None:
        world.fail_to_open = LoginRequired("Log in first.")
        loop = await world.loop()
        async with running(loop):
            await until(lambda: loop.sync.state == "needs-login")
            assert isinstance(await outcome_of(loop), LoginRequired)
            world.fail_to_open = None
            loop.reopen()
            await until(lambda: loop.sync.state == "ok")
            opened = world.openings
            loop.reopen()
            await until(lambda: world.openings == opened + 1)
            assert isinstance(await outcome_of(loop), RoundReport)

    in_a_world(tmp_path, main)


def test_a_storage_that_cannot_be_opened_is_not_tried_over_and_over(tmp_path: Path) -> None:
    async def main(world: World) -> None:
        world.fail_to_open = SettingsError("No storage has been chosen yet.")
        async with running(await world.loop()):
            await until(lambda: world.openings)
            await anyio.sleep(0.5)
            assert world.openings == 1

    in_a_world(tmp_path, main)


def test_a_call_that_never_comes_back_ends_the_round_and_not_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loops, "STALLED_SECONDS", 0.2)

    async def main(world: World) -> None:
        async def hang(call: str) -> None:
            if call == "changes":
                await anyio.sleep_forever()

        world.fault = hang
        loop = await world.loop()
        async with running(loop):
            assert isinstance(await outcome_of(loop), Unreachable)
            world.fault = None
            assert isinstance(await outcome_of(loop), RoundReport)

    in_a_world(tmp_path, main)


def test_a_long_round_that_gets_on_is_not_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "STALLED_SECONDS", 0.4)

    async def main(world: World) -> None:
        async def slow(call: str) -> None:
            if call == "create":
                await anyio.sleep(0.1)

        for number in range(36):
            await world.remember(f"Memory {number}")
        world.fault = slow
        loop = await world.loop()
        async with running(loop):
            report = await outcome_of(loop)
            assert isinstance(report, RoundReport)
            assert world.stored() == 36

    in_a_world(tmp_path, main)


def test_a_damaged_cache_ends_the_loop(tmp_path: Path) -> None:
    class Damaged:
        async def round(self, *, full: bool = False, confirm_deletes: bool = False) -> RoundReport:
            raise CacheDamaged("The cache is damaged.")

    async def main(world: World) -> None:
        loop = await world.loop(make_engine=lambda backend: Damaged())
        with pytest.raises(CacheDamaged), anyio.fail_after(30):
            await loop.run()

    in_a_world(tmp_path, main)


def test_after_a_sleep_of_the_machine_everything_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fulls: list[bool] = []

    class Noting:
        async def round(self, *, full: bool = False, confirm_deletes: bool = False) -> RoundReport:
            fulls.append(full)
            return RoundReport()

    real_time, real_sleep = loops.time.time, anyio.sleep
    slept = 0.0
    monkeypatch.setattr(loops.time, "time", lambda: real_time() + slept)
    monkeypatch.setattr(loops.anyio, "sleep", lambda seconds: real_sleep(min(seconds, 0.05)))

    async def main(world: World) -> None:
        nonlocal slept
        loop = await world.loop(make_engine=lambda backend: Noting())
        async with running(loop):
            await until(lambda: fulls == [False])
            slept = 3600.0
            await until(lambda: fulls == [False, True])

    in_a_world(tmp_path, main)


def test_at_the_end_a_round_is_finished_and_none_begun(tmp_path: Path) -> None:
    async def main(world: World) -> None:
        release = anyio.Event()

        async def hold(call: str) -> None:
            if call == "create":
                await release.wait()

        world.fault = hold
        await world.remember("One")
        loop = await world.loop()
        async with running(loop), anyio.create_task_group() as group:
            await until(lambda: "create" in world.calls)
            group.start_soon(loop.finish, 30)
            await anyio.sleep(0.05)
            release.set()
        assert world.stored() == 1
        assert not loop.running

    in_a_world(tmp_path, main)


def test_a_round_that_does_not_end_in_time_is_cut_off_and_goes_on_next_time(tmp_path: Path) -> None:
    async def main(world: World) -> None:
        async def hang(call: str) -> None:
            if call == "create":
                await anyio.sleep_forever()

        world.fault = hang
        await world.remember("One")
        loop = await world.loop()
        async with running(loop):
            await until(lambda: "create" in world.calls)
            await loop.finish(0.05)
            assert loop.running
        world.fault = None
        loop = await world.loop()
        async with running(loop):
            await until(lambda: world.stored() == 1)

    in_a_world(tmp_path, main)


def test_a_job_survives_failures_and_follows_changes(tmp_path: Path) -> None:
    runs: list[int] = []

    async def work() -> None:
        runs.append(len(runs))
        if len(runs) == 1:
            raise sqlite3.OperationalError("database is locked")

    async def main(world: World) -> None:
        state = LoopHealth()
        job = Job("job", work, every=0.05, on_change=True)
        async with anyio.create_task_group() as group:
            group.start_soon(run_job, job, world.cache.database, Progress(), state)
            await until(lambda: state.failures == 1)
            assert state.last_error == "OperationalError"
            await until(lambda: len(runs) >= 3 and state.failures == 0)
            assert state.last_ok
            group.cancel_scope.cancel()

    in_a_world(tmp_path, main)
