"""Repetition and pauses around any backend: nothing is done twice, nobody is pestered, and the contract still holds."""

import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

import anyio
import pytest

from storage_backends.errors import (
    AlreadyExists,
    ItemBusy,
    NotFound,
    PermanentError,
    StorageError,
    Throttled,
    Unreachable,
)
from storage_backends.in_memory import InMemoryStorage, InMemoryStore
from storage_backends.limit import FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, LimitedStorage
from storage_backends.open import open_backend
from storage_backends.retry import RetryingStorage, RetryPolicy

from .contract import Move, NewDevice, StorageContract


class Line:
    """An interceptor that fails the next calls, and counts."""

    def __init__(self) -> None:
        self.failures: list[StorageError] = []
        self.phase: Literal["before", "after"] = "before"
        self.calls: list[str] = []

    async def __call__(self, phase: Literal["before", "after"], call: str, subject: str) -> None:
        if phase == "before":
            self.calls.append(call)
        if phase == self.phase and self.failures:
            raise self.failures.pop(0)


class Time:
    """A clock that only sleeping, or the test, moves on."""

    def __init__(self) -> None:
        self.now = 1_000_000.0
        self.monotonic = 50.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self.now += seconds
        self.monotonic += seconds


@pytest.fixture
def store() -> InMemoryStore:
    return InMemoryStore()


@pytest.fixture
def line() -> Line:
    return Line()


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def retrying(store: InMemoryStore, line: Line, time: Time) -> RetryingStorage:
    return RetryingStorage(InMemoryStorage(store, intercept=line), sleep=time.sleep, chance=lambda: 1.0)


@pytest.fixture
def limited(store: InMemoryStore, line: Line, time: Time) -> LimitedStorage:
    return LimitedStorage(
        InMemoryStorage(store, intercept=line),
        clock=lambda: time.now,
        monotonic=lambda: time.monotonic,
        sleep=time.sleep,
    )


class TestWrapped(StorageContract):
    """The contract holds through both wrappers."""

    @pytest.fixture
    def new_device(self, store: InMemoryStore) -> NewDevice:
        return lambda: RetryingStorage(LimitedStorage(InMemoryStorage(store)))

    @pytest.fixture
    def move(self, store: InMemoryStore) -> Move:
        async def move(path: str, new_path: str) -> None:
            store.move(path, new_path)

        return move


# Repetition

READS: dict[str, Callable[[RetryingStorage, str], Awaitable[object]]] = {
    "scope": lambda device, _: device.scope(),
    "changes": lambda device, _: device.changes(None),
    "stat": lambda device, item_id: device.stat(item_id),
    "find": lambda device, _: device.find("a.md"),
    "read": lambda device, item_id: device.read(item_id),
}


@pytest.mark.parametrize("call", READS)
async def test_a_read_that_fails_in_passing_is_repeated_with_growing_pauses(
    store: InMemoryStore, line: Line, time: Time, retrying: RetryingStorage, call: str
) -> None:
    item = store.put("a.md", b"x")
    line.failures = [Unreachable("one"), ItemBusy("two"), Unreachable("three")]
    await READS[call](retrying, item.item_id)
    assert line.calls == [call] * 4
    assert time.slept == [0.5, 1.0, 2.0]


async def test_a_read_that_keeps_failing_is_given_up(line: Line, time: Time, retrying: RetryingStorage) -> None:
    line.failures = [Unreachable(str(number)) for number in range(9)]
    with pytest.raises(Unreachable, match="3"):
        await retrying.scope()
    assert len(line.calls) == RetryPolicy().attempts


async def test_a_write_with_unknown_outcome_is_never_repeated(
    store: InMemoryStore, line: Line, retrying: RetryingStorage
) -> None:
    line.phase = "after"  # done, and the answer lost
    line.failures = [Unreachable("lost")]
    with pytest.raises(Unreachable):
        await retrying.create("a.md", b"x")
    item = await retrying.find("a.md")
    line.failures = [Unreachable("lost")]
    with pytest.raises(Unreachable):
        await retrying.update(item.item_id, b"y", item.version)
    item = await retrying.stat(item.item_id)
    line.failures = [Unreachable("lost")]
    with pytest.raises(Unreachable):
        await retrying.delete(item.item_id, item.version)
    assert [call for call in line.calls if call in ("create", "update", "delete")] == ["create", "update", "delete"]
    assert store.files() == {}


@pytest.mark.parametrize("error", [NotFound("gone"), AlreadyExists("there"), Throttled("slow", retry_after=9)])
async def test_what_will_not_pass_by_itself_is_told_at_once(
    line: Line, time: Time, retrying: RetryingStorage, error: StorageError
) -> None:
    line.failures = [error]
    with pytest.raises(type(error)):
        await retrying.scope()
    assert line.calls == ["scope"]
    assert time.slept == []


def test_pauses_are_spread_and_bounded() -> None:
    policy = RetryPolicy(attempts=20, first_delay=1, longest_delay=10)
    assert [policy.delay(n, 0.0) for n in (1, 2, 3, 4, 5, 15)] == [0.5, 1, 2, 4, 5, 5]
    assert [policy.delay(n, 1.0) for n in (1, 2, 3, 4, 5, 15)] == [1, 2, 4, 8, 10, 10]


async def test_a_cancelled_pause_ends(line: Line, store: InMemoryStore) -> None:
    device = RetryingStorage(InMemoryStorage(store, intercept=line), RetryPolicy(first_delay=3600, longest_delay=3600))
    line.failures = [Unreachable("one")]
    with anyio.fail_after(10):
        with anyio.move_on_after(0.05) as scope:
            await device.scope()
        assert scope.cancelled_caught


# Pauses


async def test_one_throttled_call_stops_every_call_until_the_time_is_over(
    line: Line, time: Time, limited: LimitedStorage
) -> None:
    assert limited.throttled_until is None
    line.failures = [Throttled("slow", retry_after=60)]
    with pytest.raises(Throttled):
        await limited.scope()
    assert limited.throttled_until == time.now + 60
    time.advance(20)
    for call in (limited.create("a.md", b"x"), limited.changes(None), limited.delete("a", "v")):
        with pytest.raises(Throttled) as caught:
            await call
        assert caught.value.retry_after == 40
    assert line.calls == ["scope"]
    time.advance(40)
    assert limited.throttled_until is None
    await limited.create("a.md", b"x")


async def test_a_pause_survives_a_restart(store: InMemoryStore, line: Line, time: Time) -> None:
    device = LimitedStorage(
        InMemoryStorage(store, intercept=line),
        throttled_until=time.now + 30,
        clock=lambda: time.now,
        monotonic=lambda: time.monotonic,
    )
    with pytest.raises(Throttled):
        await device.scope()
    assert line.calls == []
    time.advance(31)
    await device.scope()


async def test_a_pause_without_a_time_grows_until_a_call_succeeds(
    line: Line, time: Time, limited: LimitedStorage
) -> None:
    pauses = []
    for _ in range(8):
        line.failures = [Throttled("slow")]
        with pytest.raises(Throttled) as caught:
            await limited.scope()
        pauses.append(caught.value.retry_after or 0)
        time.advance(pauses[-1])
    assert pauses[:3] == [FIRST_PAUSE_SECONDS, 2 * FIRST_PAUSE_SECONDS, 4 * FIRST_PAUSE_SECONDS]
    assert pauses[-1] == LONGEST_PAUSE_SECONDS
    await limited.scope()
    line.failures = [Throttled("slow")]
    with pytest.raises(Throttled) as caught:
        await limited.scope()
    assert caught.value.retry_after == FIRST_PAUSE_SECONDS


@pytest.mark.parametrize(
    ("wall", "monotonic"), [(-86_400.0, 61.0), (61.0, 0.0)], ids=["clock set back", "machine slept"]
)
async def test_a_pause_ends_whatever_one_of_the_clocks_does(
    line: Line, time: Time, limited: LimitedStorage, wall: float, monotonic: float
) -> None:
    line.failures = [Throttled("slow", retry_after=60)]
    with pytest.raises(Throttled):
        await limited.scope()
    time.now += wall
    time.monotonic += monotonic
    assert limited.throttled_until is None
    await limited.scope()


async def test_waiting_in_a_pause_asks_nobody(line: Line, time: Time, limited: LimitedStorage) -> None:
    line.failures = [Throttled("slow", retry_after=60)]
    with pytest.raises(Throttled):
        await limited.scope()
    assert not await limited.wait_for_change(25)
    assert not await limited.wait_for_change(300)
    assert time.slept == [25, 35]


# Opening


async def test_settings_name_a_folder(tmp_path: Path) -> None:
    async with open_backend("folder", path=tmp_path) as device:
        await device.create("a.md", b"x")
    assert (tmp_path / "a.md").read_bytes() == b"x"


@pytest.mark.parametrize("backend", ["folder", "onedrive", "ftp", ""])
def test_incomplete_settings_are_refused(backend: str) -> None:
    with pytest.raises(PermanentError):
        open_backend(backend)


def test_a_folder_is_opened_without_loading_what_only_onedrive_needs(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from storage_backends.open import open_backend;"
        f"open_backend('folder', path=Path({str(tmp_path)!r}));"
        "heavy = ('msgraph', 'azure', 'httpx', 'watchfiles', 'pydantic', 'numpy');"
        "print([name for name in heavy if name in sys.modules])"
    )
    project = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", script], cwd=project, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
