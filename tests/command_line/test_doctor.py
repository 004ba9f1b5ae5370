"""Doctor sees what is wrong, names the cure, and mends without losing anything."""

import ast
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from command_line import checks
from command_line.checks import ERROR, OK, WARNING, Facts

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
HEALTHY: dict[str, Any] = {"now": NOW, "version": "1", "home": "/h", "daemon": {"version": "1", "pid": 7}}
MOMENT = (NOW - timedelta(days=9)).isoformat()
CASES: list[tuple[dict[str, Any], str, str, str]] = [
    ({"settings_error": "Unknown key x."}, "settings", ERROR, "The settings are wrong"),
    ({"daemon": None}, "daemon", WARNING, "No daemon runs"),
    ({"daemon": None, "stale_socket": True}, "daemon", WARNING, "a dead one has left its socket"),
    ({"daemon": None, "lock_held_by": "process 9"}, "daemon", ERROR, "A daemon holds the lock and does not answer"),
    ({"daemon": {"version": "0"}}, "daemon", WARNING, "The daemon is of version"),
    ({"cache_error": ("The cache cannot be opened.", "x")}, "cache", ERROR, "The cache cannot be opened"),
    (
        {"storage_problem": ("The storage folder /s is missing or not mounted.", "x")},
        "storage",
        ERROR,
        "is missing or not mounted",
    ),
    ({"storage_writable": False, "location": "/s"}, "storage", ERROR, "cannot be written"),
    (
        {"mirrored_folder": "/o"},
        "two sync programs",
        WARNING,
        "A OneDrive client on this machine syncs the same memories",
    ),
    ({"pending": 3}, "sync", ERROR, "changes wait; the last round was"),
    ({"held": 40}, "sync", WARNING, "deletes are held"),
    (
        {"problems": [("a.md", "duplicate-id", "Two files carry the id 1.")]},
        "duplicate id",
        WARNING,
        "Two files carry the id",
    ),
    ({"left_out": {"memories/l.md": "a symbolic link"}}, "file", WARNING, "is left out"),
    ({"conflicts": 2}, "conflicts", WARNING, "conflicts are open"),
    ({"clock_skew": -90.0}, "clock", WARNING, "The clock is"),
    ({"home_free": 1_000_000}, "disk space", WARNING, "MB are free"),
    ({"open_to_others": ["/h"]}, "permissions", WARNING, "Other users may read"),
    ({"devices": [{"id": "2", "name": "attic", "last_round": MOMENT}]}, "devices", WARNING, "was last in step on"),
    ({"spooled": 50}, "hooks", WARNING, "captured events wait for a daemon"),
    ({"registrations": [("Claude Code", "/gone", False)]}, "Claude Code", ERROR, "which does not exist"),
]


def test_a_healthy_device_has_nothing_to_mend() -> None:
    assert {check.state for check in checks.judge(Facts(**HEALTHY))} == {OK}


@pytest.mark.parametrize(("wrong", "name", "state", "says"), CASES, ids=[case[3][:30] for case in CASES])
def test_each_fault_is_named_with_its_cure_and_explained_in_the_docs(
    wrong: dict[str, Any], name: str, state: str, says: str
) -> None:
    found = [check for check in checks.judge(Facts(**{**HEALTHY, **wrong})) if check.state != OK]
    assert [(check.name, check.state) for check in found] == [(name, state)]
    assert says in found[0].message
    assert found[0].hint
    # Numbers and names differ; the words that stay are in the page.
    page = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
    assert any(part.strip() and part.strip() in page for part in re.split(r"[0-9/]+", says)), says


def test_one_change_is_one_change() -> None:
    told = [check.message for check in checks.judge(Facts(**{**HEALTHY, "pending": 1})) if check.name == "sync"]
    assert told[0].startswith("1 change waits")


def told_in(path: Path) -> list[str]:
    """What a module tells of faults, word for word: of each message the longest part that does not vary."""
    found = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        message: ast.expr | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Check", "Finding"):
            texts = [ast.unparse(argument) for argument in node.args]
            words = {"Check": (1, 2), "Finding": (0, 2)}[node.func.id]
            if len(texts) > 2 and texts[words[0]] not in ("OK", "'ok'"):
                message = node.args[words[1]]
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
            if any(isinstance(t, ast.Attribute) and t.attr.endswith(("_problem", "_error")) for t in node.targets):
                message = node.value.elts[0]
        elif (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "message") or (
            isinstance(node, ast.keyword) and node.arg == "message"
        ):
            message = node.value
        parts = message.values if isinstance(message, ast.JoinedStr) else [message]
        fixed = [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]
        if fixed:
            found.append(max(fixed, key=len).strip(" .:;(),"))
    return found


@pytest.mark.parametrize(
    "module",
    [
        "command_line/checks.py", "command_line/examination.py", "storage_backends/onedrive/check_up.py",
        "storage_backends/onedrive/login.py",
    ],
)  # fmt: skip
def test_every_message_that_doctor_has_is_explained_in_the_docs(module: str) -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
    told = [text for text in told_in(ROOT / module) if text]
    assert len(told) >= 3, "the messages are found"
    assert [text for text in told if text not in page] == []


class Device:
    """A home and a storage folder, used through real commands."""

    def __init__(self, base: Path) -> None:
        self.folder = base / "shared"
        self.home = base / "home"
        self.folder.mkdir()
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("CLAUDE_")},
            "HOME": str(base), "PYTHONPATH": str(ROOT),
            "CLAUDE_MEMORY_HOME": str(self.home), "CLAUDE_MEMORY_STORAGE_PATH": str(self.folder),
        }  # fmt: skip

    def run(self, *arguments: str, codes: tuple[int, ...] = (0,)) -> Any:
        command = [sys.executable, "-m", "command_line", *arguments, "--json"]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode in codes, done.stdout + done.stderr
        return json.loads(done.stdout)

    def states(self, *arguments: str) -> dict[str, str]:
        report = self.run("doctor", *arguments, codes=(0, 1))
        return {check["name"]: check["state"] for check in report["checks"]}


@pytest.fixture
def device(tmp_path: Path) -> Device:
    return Device(tmp_path)


def test_what_can_be_no_memory_is_named(device: Device) -> None:
    place = device.folder / "memories"
    place.mkdir()
    (place / "whole.md").write_text("read")
    (place / "link.md").symlink_to(place / "whole.md")
    (place / "a\\b.md").write_text("not read")
    named = [check["message"] for check in device.run("doctor", codes=(0, 1))["checks"] if check["name"] == "file"]
    assert len(named) == 2
    assert any("link.md is left out: a symbolic link" in message for message in named)


def test_repair_settles_duplicate_ids_and_touches_no_other_line(device: Device) -> None:
    text = "---\nid: 11111111-2222-4333-8444-555555555555\ncategory: x # mine\n---\n# {}\n"
    place = device.folder / "memories" / "x"
    place.mkdir(parents=True)
    for name in "ab":
        (place / f"{name}.md").write_text(text.format(name))
    (place / "broken.md").write_text("---\nid: [\n---\nhand-written\n")
    device.run("sync")
    assert device.states()["duplicate id"] == WARNING
    assert "duplicate id" not in device.states("--repair")
    first, second = ((place / f"{name}.md").read_text() for name in "ab")
    assert first == text.format("a")
    assert second.splitlines()[1] != first.splitlines()[1]
    assert second.splitlines()[2:] == text.format("b").splitlines()[2:]
    assert (place / "broken.md").read_text() == "---\nid: [\n---\nhand-written\n"


def test_repair_of_a_damaged_cache_keeps_what_was_never_uploaded_and_deletes_nothing(device: Device) -> None:
    device.run("remember", "--category", "learning", "--global", "in the storage")
    device.run("sync")
    device.run("remember", "--category", "learning", "--global", "only here")
    before = sorted(device.folder.rglob("*.md"))
    cache = device.home / "cache.sqlite3"
    data = bytearray(cache.read_bytes())
    data[4096 * 3 : 4096 * 3 + 300] = os.urandom(300)
    cache.write_bytes(data)
    device.run("doctor", "--repair", codes=(0, 1))
    texts = {memory["content"].strip() for memory in device.run("list")["memories"]}
    assert "in the storage" in texts
    assert set(before) <= set(device.folder.rglob("*.md"))


def test_a_missing_folder_is_named_and_nothing_is_deleted(device: Device) -> None:
    device.run("remember", "--category", "learning", "--global", "stays")
    device.run("sync")
    device.folder.rename(device.folder.with_name("elsewhere"))
    assert device.states()["storage"] == ERROR
    assert device.run("list")["memories"][0]["content"].strip() == "stays"


@pytest.mark.skipif(os.name == "nt", reason="Windows has access lists instead of modes")
def test_repair_closes_what_others_may_read(device: Device) -> None:
    device.run("list")
    (device.home / "cache.sqlite3").chmod(0o644)
    assert device.states()["permissions"] == WARNING
    assert device.states("--repair")["permissions"] == OK
    assert (device.home / "cache.sqlite3").stat().st_mode & 0o777 == 0o600
