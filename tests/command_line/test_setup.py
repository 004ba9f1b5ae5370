"""Setup does what it says and uninstall takes it back; memories are never part of that."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CLAUDE = """#!{python}
import json, pathlib, sys
log = pathlib.Path(__file__).with_name("claude-calls.jsonl")
calls = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
known = any(c[:2] == ["mcp", "add-json"] for c in calls) and not any(c[:2] == ["mcp", "remove"] for c in calls)
with log.open("a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
sys.exit(0 if sys.argv[1:3] != ["mcp", "get"] or known else 1)
"""


class Person:
    """A user with a home directory of their own, a `claude` command that notes its calls, and no service manager."""

    def __init__(self, base: Path) -> None:
        self.home = base / "user"
        self.tools = base / "tools"
        self.home.mkdir()
        self.tools.mkdir()
        claude = self.tools / "claude"
        claude.write_text(CLAUDE.format(python=sys.executable))
        claude.chmod(0o755)
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{self.tools}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
        }

    def run(self, *arguments: str, code: int = 0) -> "subprocess.CompletedProcess[str]":
        command = [str(Path(sys.executable).with_name("claude-memory")), *arguments]
        done = subprocess.run(
            command, env=self.environment, cwd=self.home, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def files(self) -> dict[str, bytes]:
        return {str(p.relative_to(self.home)): p.read_bytes() for p in sorted(self.home.rglob("*")) if p.is_file()}

    def calls(self) -> list[list[str]]:
        log = self.tools / "claude-calls.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return Person(tmp_path)


def desktop(person: Person) -> Path:
    return person.home / ".config" / "Claude" / "claude_desktop_config.json"


def test_memories_are_not_kept_around_the_cache(person: Person, tmp_path: Path) -> None:
    person.environment["CLAUDE_MEMORY_HOME"] = str(tmp_path / "notes" / "device")
    for folder in (tmp_path / "notes", tmp_path / "notes" / "device"):
        refused = person.run("setup", "--yes", "--backend", "folder", "--path", str(folder), code=2)
        assert "holds this device's own files" in refused.stderr
        assert not (tmp_path / "notes" / "device" / "config.toml").exists()
        person.run("storage", "custom", str(folder), code=2)
        person.environment["CLAUDE_MEMORY_STORAGE_PATH"] = str(folder)
        assert "holds this device's own files" in person.run("sync", code=2).stderr
        assert not (folder / "devices").exists()
        del person.environment["CLAUDE_MEMORY_STORAGE_PATH"]


def test_a_dry_run_changes_nothing_and_names_every_change(person: Person) -> None:
    done = person.run("setup", "--dry-run", "--desktop", "--service")
    assert person.files() == {}
    for part in ("ClaudeMemory", "config.toml", "claude-memory.service", "Claude Code", "claude_desktop_config.json"):
        assert part in done.stdout


def test_setup_and_uninstall_leave_nothing_but_memories(person: Person) -> None:
    person.run("setup", "--yes", "--path", str(person.home / "notes"), "--desktop")
    person.run("remember", "--category", "learning", "--global", "Left behind on purpose")
    before = person.files()
    assert ".config/systemd/user/claude-memory.service" in before
    entry = json.loads(desktop(person).read_text())["mcpServers"]["memory"]
    assert Path(entry["command"]).is_absolute()
    (added,) = [call for call in person.calls() if call[:2] == ["mcp", "add-json"]]
    assert json.loads(added[-1])["alwaysLoad"] is True
    person.run("uninstall")
    after = person.files()
    assert [name for name in after if not name.startswith("notes/")] == []
    (memory,) = [name for name in after if name.startswith("notes/memories/")]
    assert b"Left behind on purpose" in after[memory]
    assert ["mcp", "remove", "--scope", "user", "memory"] in person.calls()


def test_without_a_service_manager_setup_says_how_the_daemon_starts(person: Person) -> None:
    said = person.run("setup", "--yes", "--path", str(person.home / "notes"), "--service").stdout
    assert "systemctl --user enable --now" in said
    assert "claude-memory daemon start" in said


def test_a_service_definition_is_printed_for_this_platform_and_others(person: Person) -> None:
    assert "[Service]" in person.run("daemon", "install", "--print").stdout
    assert "<plist" in person.run("daemon", "install", "--print", "launchd").stdout
    assert "<Task" in person.run("daemon", "install", "--print", "windows").stdout
    assert person.files() == {}


def test_setup_twice_is_setup_once(person: Person) -> None:
    person.run("setup", "--yes", "--path", str(person.home / "notes"))
    first = person.files()
    person.run("setup", "--yes", "--path", str(person.home / "notes"))
    assert person.files() == first


def test_uninstall_keeps_what_the_storage_has_not_got(person: Person) -> None:
    person.run("setup", "--yes", "--path", str(person.home / "notes"), "--no-service")
    person.run("remember", "--category", "learning", "--global", "Only on this device")
    (person.home / "notes").rename(person.home / "unmounted")
    done = person.run("uninstall", code=1)
    assert "has not got" in done.stderr
    assert "Only on this device" in person.run("list").stdout


def test_other_entries_of_claude_desktop_stay(person: Person) -> None:
    desktop(person).parent.mkdir(parents=True)
    others: dict[str, Any] = {"theme": "dark", "mcpServers": {"other": {"command": "x"}}}
    desktop(person).write_text("\ufeff" + json.dumps(others), "utf-8")
    person.run("setup", "--yes", "--no-service", "--no-claude-code")
    assert set(json.loads(desktop(person).read_text())["mcpServers"]) == {"other", "memory"}
    person.run("uninstall")
    assert json.loads(desktop(person).read_text()) == others


def test_a_broken_desktop_configuration_is_left_as_it_is(person: Person) -> None:
    desktop(person).parent.mkdir(parents=True)
    desktop(person).write_text("{ not json")
    done = person.run("setup", "--yes", "--no-service", "--no-claude-code", code=1)
    assert "not valid JSON" in done.stderr
    assert desktop(person).read_text() == "{ not json"


def test_the_older_servers_folder_is_offered(person: Person) -> None:
    store = person.home / "My Drive x" / "Apps" / "ClaudeMemory"
    (store / "memories").mkdir(parents=True)
    config = person.home / ".claude" / "odsp-memory" / "config.json"
    config.parent.mkdir(parents=True)
    config.write_text(json.dumps({"oneDrivePath": str(person.home / "My Drive x"), "isCustomPath": False}))
    assert str(store) in person.run("setup", "--dry-run").stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--path", "/nowhere/at/all"], "does not exist"),
        (["--backend", "ftp"], "invalid choice"),
        (["--path", "/etc/hostname"], "is a file"),
    ],
)
def test_answers_that_cannot_be_used_change_nothing(person: Person, arguments: list[str], says: str) -> None:
    done = person.run("setup", "--yes", *arguments, code=2)
    assert says in done.stderr
    assert person.files() == {}
