"""The entry points: what is imported when, and how every command ends."""

import argparse
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import dispatch
from memory_cache.cache import MemoryCache
from memory_cache.models import Draft
from tests.daemon.processes import COMMAND, PATIENCE, ROOT, Device, eventually


@pytest.fixture
def device(tmp_path: Path) -> Device:
    return Device(tmp_path)


def run(device: Device, *arguments: str, **options: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*COMMAND, *arguments], env=device.environment, capture_output=True, text=True, timeout=PATIENCE, **options
    )  # type: ignore[call-overload, no-any-return]


def test_every_command_is_where_the_table_says() -> None:
    class Names(list[str]):
        def add_parser(self, name: str, **_: object) -> argparse.ArgumentParser:
            self.append(name)
            return argparse.ArgumentParser()

    registered = {}
    for module in sorted({path.stem for path in Path(dispatch.__file__).parent.glob("*.py")}):
        source = (Path(dispatch.__file__).parent / f"{module}.py").read_text("utf-8")
        if "\ndef register(" in source:
            names = Names()
            importlib.import_module(f"command_line.{module}").register(names)
            registered |= dict.fromkeys(names, module)
    assert registered == dispatch.COMMANDS


def test_help_names_every_command_and_explains_each(device: Device) -> None:
    shown = run(device, "--help")
    assert shown.returncode == 0
    for command in dispatch.COMMANDS:
        assert f"\n    {command} " in shown.stdout or f"\n    {command}\n" in shown.stdout
    assert run(device).returncode == 2
    assert "usage: claude-memory sync" in run(device, "sync", "--help").stdout


def test_wrong_usage_ends_with_two(device: Device) -> None:
    for arguments in (["no-such-command"], ["sync", "--no-such-option"], ["daemon"], ["recall", "--limit", "0", "x"]):
        ended = run(device, *arguments)
        assert ended.returncode == 2, arguments
        assert ended.stderr
        assert "Traceback" not in ended.stderr
        assert ended.stdout == ""
        told = run(device, *arguments, "--json")
        assert told.returncode == 2
        assert set(json.loads(told.stdout)["error"]) == {"title", "message", "hint"}


@pytest.mark.parametrize(
    "arguments",
    [["list", "--limit", "9" * 20], ["recall", "x", "--since-days", "9" * 9], ["trash", "--purge", "9" * 12]],
)
def test_a_number_beyond_all_counting_is_no_fault(device: Device, arguments: list[str]) -> None:
    assert run(device, *arguments).returncode == 0


@pytest.mark.parametrize("place", ["missing/export.json", "."])
def test_an_export_without_a_place_says_which_one_is_missing(device: Device, tmp_path: Path, place: str) -> None:
    ended = run(device, "export", "--output", str(tmp_path / place))
    assert ended.returncode == 2
    assert str(tmp_path) in ended.stderr
    assert "Name a file in a folder that exists." in ended.stderr


def test_the_version_is_told(device: Device) -> None:
    assert run(device, "--version").stdout.startswith("claude-memory ")


def imported_by(device: Device, *arguments: str) -> set[str]:
    code = f"import sys; sys.argv[1:] = {list(arguments)!r}; from command_line.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code],
        env=device.environment, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, input="{}",
    )  # fmt: skip
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}


@pytest.mark.parametrize(
    "arguments",
    [
        ["remember", "--category", "learning", "--global", "A fact"],
        ["recall", "fact"],
        ["daemon", "status"],
        ["status"],
        ["--version"],
    ],
)
def test_no_command_imports_what_it_does_not_use(device: Device, arguments: list[str]) -> None:
    imported = imported_by(device, *arguments)
    assert "command_line.dispatch" in imported
    assert not imported & {"mcp", "msgraph", "azure.identity", "watchfiles", "uvicorn", "starlette", "rich"}


def test_a_hook_imports_next_to_nothing(device: Device) -> None:
    imported = imported_by(device, "hook", "post-compact")
    assert "command_line.hooks" in imported
    assert not imported & {"argparse", "asyncio", "anyio", "pydantic", "mcp", "command_line.dispatch"}


def test_another_package_of_our_name_is_refused_in_words(device: Device) -> None:
    foreign = device.base / "site"
    (foreign / "daemon").mkdir(parents=True)
    (foreign / "daemon" / "__init__.py").write_text("DaemonContext = None\n")
    environ = {**device.environment, "PYTHONPATH": f"{foreign}{os.pathsep}{ROOT}"}
    ended = subprocess.run(
        [*COMMAND, "status", "--json"], env=environ, capture_output=True, text=True, timeout=PATIENCE
    )
    assert ended.returncode == 1
    assert str(foreign / "daemon") in ended.stderr
    assert "uv tool install" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_reader_that_has_enough_is_no_failure(device: Device) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{' '.join(COMMAND)} daemon install --print systemd | head -1"],
        env=device.environment, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert "Traceback" not in done.stderr


def test_failures_are_json_too(device: Device) -> None:
    device.folder.rmdir()
    failed = device.run("sync", code=4)
    assert failed["error"]["title"]
    assert str(device.folder) in failed["error"]["message"]


def test_without_a_storage_sync_and_status_say_how_to_get_one(device: Device) -> None:
    device.environment["CLAUDE_MEMORY_STORAGE_PATH"] = ""
    assert "claude-memory up" in device.run("sync", code=2)["error"]["hint"]
    assert device.run("status")["storage"]["state"] == "not-set-up"


def test_sync_reports_and_status_shows_the_device(device: Device) -> None:
    device.remember("A fact")
    before = device.run("status")
    assert before["sync"]["last"] is None
    assert before["storage"]["state"] == "never"
    report = device.run("sync")
    assert report == {
        "uploaded": 1, "downloaded": 0, "merged": 0, "conflicts": 0, "deleted": 0, "held": 0,
        "requests": report["requests"], "pending": 0, "errors": [],
    }  # fmt: skip
    status = device.run("status")
    assert status["daemon"] == {"running": False, "pid": None}
    assert status["storage"] == {"backend": "folder", "root": str(device.folder), "state": "ok"}
    assert status["sync"]["last"]
    assert (status["sync"]["pending"], status["sync"]["held"], status["conflicts"]) == (0, 0, 0)
    assert status["login"] == "none"
    assert status["cache"]["memories"] == 1
    assert [found["name"] for found in status["devices"]] == [status["device"]["name"]]
    assert status["project"]["id"]
    assert status["version"]


def test_a_hand_written_file_is_taken_in_by_one_sync_without_a_daemon(device: Device) -> None:
    path = device.folder / "memories" / "by-hand.md"
    path.parent.mkdir(parents=True)
    path.write_text("# By hand\n\nText\n")
    device.run("sync")
    assert device.titles() == ["By hand"]
    assert path.read_text().endswith("# By hand\n\nText\n")
    assert path.read_text().startswith("---\n")


def test_many_deletes_are_held_until_they_are_confirmed(device: Device) -> None:

    async def remember(cache: MemoryCache) -> None:
        for number in range(15):
            await cache.remember(Draft(content=f"Fact {number}", category="learning"))

    device.cache(remember)
    device.run("sync")
    for path in list(device.folder.glob("memories/**/*.md"))[:14]:
        path.unlink()
    held = eventually(lambda: (report := device.run("sync", code=None))["held"] and report)
    assert held["held"] == 14
    assert device.run("sync", code=5)["held"] == 14
    assert device.run("status")["sync"]["held"] == 14
    assert len(device.titles()) == 15
    device.run("sync", "--confirm-deletes")
    assert len(device.titles()) == 1


def test_a_daemon_reports_the_round_that_was_asked_for(device: Device) -> None:
    with device.daemon():
        device.remember("A fact")
        assert device.run("sync", "--full")["pending"] == 0
        device.folder.rename(device.base / "away")
        failed = device.run("sync", code=4)
        assert failed["error"]["title"] == "Storage unreachable"


def test_daemon_install_prints_and_installs_nothing(device: Device) -> None:
    for manager in ("systemd", "launchd", "windows"):
        shown = subprocess.run(
            [*COMMAND, "daemon", "install", "--print", manager, "--json"],
            env=device.environment, capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
        if shown.returncode:  # a checkout that is not installed has no program to name
            assert "Not installed" in shown.stderr
        else:
            assert str(device.home) in json.loads(shown.stdout)["definition"]
    assert not (device.base / ".config").exists()
