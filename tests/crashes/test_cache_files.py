"""What may become of the cache's file, met by real processes: each ends in service or in a clear refusal, and nothing
that was in step is deleted elsewhere."""

import ctypes
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.daemon.processes import COMMAND, PATIENCE, Device, eventually

TITLES = [f"Memory number {number}" for number in range(3)]


def _whole(device: Device) -> dict[str, bytes]:
    return {str(path.relative_to(device.folder)): path.read_bytes() for path in (device.folder / "memories").rglob("*")
            if path.is_file()}  # fmt: skip


@pytest.fixture(scope="module")
def in_step(tmp_path_factory: pytest.TempPathFactory) -> Device:
    """A device with memories in step, and one that no storage has seen. Copied for each test."""
    made = Device(tmp_path_factory.mktemp("in-step"))
    for title in TITLES:
        made.remember(f"# {title}\n\ntext\n")
    made.run("sync")
    made.remember("# Only here\n\ntext\n")
    return made


@pytest.fixture
def device(in_step: Device, tmp_path: Path) -> Iterator[Device]:
    made = Device(tmp_path)
    shutil.copytree(in_step.home, made.home)
    shutil.copytree(in_step.folder, made.folder, dirs_exist_ok=True)
    before = _whole(made)
    yield made
    made.end()
    assert {path: data for path, data in _whole(made).items() if path in before} == before, "deleted or changed there"


def cache_of(device: Device) -> Path:
    return device.home / "cache.sqlite3"


def remove(device: Device) -> None:
    for part in device.home.glob("cache.sqlite3*"):
        part.unlink()


def remove_all_but_the_log(device: Device) -> None:
    with closing(sqlite3.connect(cache_of(device))) as connection:
        connection.execute("INSERT INTO meta VALUES ('in the log', 'x')")
        connection.commit()
        log = cache_of(device).with_name("cache.sqlite3-wal").read_bytes()
    cache_of(device).unlink()
    cache_of(device).with_name("cache.sqlite3-wal").write_bytes(log)


def cut(size: int) -> Callable[[Device], None]:
    def truncate(device: Device) -> None:
        os.truncate(cache_of(device), size)

    return truncate


def garble(device: Device) -> None:
    cache_of(device).write_bytes(b"no database at all " * 5000)


def garble_a_page(device: Device) -> None:
    data = bytearray(cache_of(device).read_bytes())
    data[8192:12288] = b"\xa5" * 4096
    cache_of(device).write_bytes(data)
    cache_of(device).with_name("cache.sqlite3.suspect").touch()


@pytest.mark.parametrize(
    "harm", [remove, remove_all_but_the_log, cut(0), cut(40960), garble, garble_a_page]
)  # fmt: skip
def test_a_removed_truncated_or_garbled_cache_ends_in_service(device: Device, harm: Callable[[Device], None]) -> None:
    harm(device)
    device.run("remember", "# Said afterwards\n\ntext", "--category", "learning", "--global")
    device.run("sync")
    assert {*TITLES, "Said afterwards"} <= set(device.titles())
    assert len(_whole(device)) >= 4


def test_an_older_schema_is_brought_up_to_date_and_everything_is_there(device: Device) -> None:
    first = sorted((Path(__file__).parents[2] / "memory_cache/migrations").glob("*.sql"))[0]
    now, old = cache_of(device), device.home / "old"
    with closing(sqlite3.connect(old)) as connection:
        connection.executescript(first.read_text("utf-8"))
        connection.execute("PRAGMA user_version = 1")
        connection.execute("ATTACH ? AS now", (str(now),))
        tables = connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            columns = [row[1] for row in connection.execute(f"PRAGMA main.table_info({table})")]
            known = {row[1] for row in connection.execute(f"PRAGMA now.table_info({table})")}
            names = ", ".join(column for column in columns if column in known)
            connection.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM now.{table}")
        connection.commit()
    remove(device)
    old.replace(now)
    found = device.run("recall", "number", "--limit", "10")
    assert set(TITLES) <= {hit["title"] for hit in found["hits"]}
    device.run("sync")
    assert len(_whole(device)) == 4


def test_a_newer_schema_is_refused_in_words_and_left_as_it_is(device: Device) -> None:
    with closing(sqlite3.connect(cache_of(device))) as connection:
        connection.execute("PRAGMA user_version = 999")
    before = cache_of(device).read_bytes()
    for command in (["recall", "number"], ["sync"], ["daemon", "start"]):
        refused = device.run(*command, code=1)
        assert "999" in str(refused) or "schema" in str(refused), refused
    assert cache_of(device).read_bytes() == before
    assert device.pid() is None


def test_a_folder_in_place_of_the_cache_is_refused_in_words(device: Device) -> None:
    remove(device)
    cache_of(device).mkdir()
    refused = device.run("recall", "number", code=1)
    assert refused["error"]["message"]
    assert refused["error"]["hint"]


def _obey_permissions() -> None:
    """Root may write anything; without these capabilities it may not."""
    if os.geteuid() == 0:
        library = ctypes.CDLL(None, use_errno=True)
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH; 24 is PR_CAPBSET_DROP
            if library.prctl(24, capability, 0, 0, 0):
                raise OSError(ctypes.get_errno(), "the capability cannot be dropped")


@pytest.mark.skipif(sys.platform != "linux", reason="permissions are dropped with Linux' means")
@pytest.mark.parametrize("path", ["cache.sqlite3", "."])
def test_a_cache_that_may_not_be_written_is_refused_in_words(device: Device, path: str) -> None:
    place = device.home / path
    mode = place.stat().st_mode
    before = cache_of(device).read_bytes()
    for part in device.home.glob("cache.sqlite3-*"):
        part.unlink()
    place.chmod(0o500 if place.is_dir() else 0o400)
    try:
        refused = subprocess.run(
            [*COMMAND, "remember", "# X", "--category", "learning", "--global"],
            env=device.environment, capture_output=True, text=True, timeout=PATIENCE, preexec_fn=_obey_permissions,
        )  # fmt: skip
    finally:
        place.chmod(mode)
    assert refused.returncode == 1
    assert "permission" in refused.stderr.lower()
    assert "Traceback" not in refused.stderr
    assert cache_of(device).read_bytes() == before
    device.run("sync")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    mounted = sys.platform == "linux" and os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", place], capture_output=True, check=False
    ).returncode == 0  # fmt: skip
    if not mounted:
        pytest.skip("a small disk can be made by root on Linux only")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def _fill(path: Path) -> None:
    with suppress(OSError), path.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096):
            pass


def test_a_full_disk_is_refused_in_words_and_afterwards_everything_goes_on(in_step: Device, small_disk: Path) -> None:
    device = Device(small_disk)
    shutil.copytree(in_step.home, device.home)
    shutil.copytree(in_step.folder, device.folder, dirs_exist_ok=True)
    before = _whole(device)
    device.titles()  # the search index and the log have their size
    filler = small_disk / "filler"
    _fill(filler)
    text = "# Too much\n\n" + "many words " * 20_000
    refused = device.run("remember", "-", "--category", "learning", "--global", text=text, code=1)
    assert "full" in str(refused["error"]), refused
    assert _whole(device) == before
    device.run("sync", code=None)
    assert _whole(device) == before
    filler.unlink()
    device.run("remember", "-", "--category", "learning", "--global", text=text)
    device.run("sync")
    assert {*TITLES, "Only here", "Too much"} <= set(device.titles())
    assert {path: data for path, data in _whole(device).items() if path in before} == before


def test_the_daemon_opens_a_removed_cache_anew_and_loses_nothing(device: Device) -> None:
    with device.daemon() as process:
        eventually(lambda: len(_whole(device)) == 4, "all in step")
        remove(device)
        eventually(lambda: cache_of(device).exists() and device.pid() == process.pid, "opened anew")
        eventually(lambda: set(device.titles()) >= {*TITLES, "Only here"}, "everything is back")
        device.remember("# Said afterwards\n\ntext\n")
        eventually(lambda: len(_whole(device)) == 5, "and it goes on")
        assert process.poll() is None


def test_what_only_a_removed_cache_held_is_handed_on_by_the_daemon(device: Device) -> None:
    away = device.base / "away"
    device.folder.rename(away)  # nothing can go out
    with device.daemon() as process:
        device.remember("# Said while offline\n\ntext\n")
        remove(device)
        eventually(lambda: cache_of(device).exists() and device.pid() == process.pid, "opened anew")
        eventually(lambda: {"Said while offline", "Only here"} <= set(device.titles()), "everything is back")
        away.rename(device.folder)
        eventually(lambda: len(_whole(device)) == 5, "it goes out")


@pytest.mark.parametrize("harm", [garble, cut(0)])
def test_the_daemon_repairs_a_cache_that_is_harmed_under_it(device: Device, harm: Callable[[Device], None]) -> None:
    with device.daemon() as process:
        eventually(lambda: len(_whole(device)) == 4, "all in step")
        harm(device)
        eventually(lambda: set(TITLES) <= set(_titles_if_any(device)), "everything is back")
        assert process.poll() is None
        device.run("sync")


def _titles_if_any(device: Device) -> list[str]:
    found = device.run("list", "--limit", "50", code=None)
    return [memory["title"] for memory in found.get("memories", [])]


def test_the_daemon_takes_a_cache_that_was_put_back_from_a_backup(device: Device) -> None:
    backup = cache_of(device).read_bytes()
    with device.daemon() as process:
        eventually(lambda: len(_whole(device)) == 4, "all in step")
        device.remember("# Newer than the backup\n\ntext\n")
        eventually(lambda: len(_whole(device)) == 5, "in step, too")
        remove(device)
        cache_of(device).with_name("restored").write_bytes(backup)
        cache_of(device).with_name("restored").replace(cache_of(device))
        eventually(lambda: {*TITLES, "Newer than the backup"} <= set(device.titles()), "everything is back")
        device.run("sync")
        assert process.poll() is None
        assert len(_whole(device)) == 5
