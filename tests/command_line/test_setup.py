"""Setup does what it says and uninstall takes it back; memories are never part of that."""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command_line.person import Person


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    made = Person(tmp_path)
    yield made
    made.end()


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


def test_without_a_service_manager_the_daemon_runs_all_the_same_and_setup_says_so(person: Person) -> None:
    said = person.run("setup", "--yes", "--path", str(person.home / "notes"), "--service").stdout
    assert "claude-memory daemon install" in said
    running = json.loads(person.run("daemon", "status", "--json").stdout)
    assert f"the daemon runs in the background (process {running['pid']})" in said
    assert running["auto_started"] is False, "it does not end by itself"
    assert "storage" in person.run("status").stdout
    person.run("uninstall")
    assert json.loads(person.run("daemon", "status", "--json").stdout)["running"] is False


def test_a_service_definition_is_printed_for_this_platform_and_others(person: Person) -> None:
    assert "[Service]" in person.run("daemon", "install", "--print").stdout
    assert "<plist" in person.run("daemon", "install", "--print", "launchd").stdout
    assert "<Task" in person.run("daemon", "install", "--print", "windows").stdout
    assert person.files() == {}


def test_setup_twice_is_setup_once(person: Person) -> None:
    def written() -> dict[str, bytes]:
        moving = ("cache.sqlite3", "daemon.", "notes/")  # what a running daemon writes
        return {name: text for name, text in person.files().items() if not any(part in name for part in moving)}

    person.run("setup", "--yes", "--path", str(person.home / "notes"))
    first, running = written(), person.run("daemon", "status", "--json").stdout
    person.run("setup", "--yes", "--path", str(person.home / "notes"))
    assert written() == first
    assert json.loads(person.run("daemon", "status", "--json").stdout)["pid"] == json.loads(running)["pid"]


def test_uninstall_without_the_claude_command_says_what_is_left_and_how_it_goes(person: Person) -> None:
    person.run("setup", "--yes", "--path", str(person.home / "notes"), "--no-service")
    known = person.home / ".claude.json"
    known.write_text(json.dumps({"mcpServers": {"memory": {"command": "/x/claude-memory", "args": ["mcp"]}}}))
    plugins = person.home / ".claude" / "plugins" / "installed_plugins.json"
    plugins.parent.mkdir(parents=True)
    plugins.write_text(json.dumps({"version": 2, "plugins": {"memory@claude-onedrive-memory": []}}))
    before = known.read_text()
    (person.tools / "claude").rename(person.tools / "gone")
    said = person.run("uninstall").stdout
    assert "claude mcp remove --scope user memory" in said
    assert "claude plugin uninstall memory@claude-onedrive-memory" in said
    assert known.read_text() == before


def test_who_has_the_plugin_gets_no_second_server_entry(person: Person) -> None:
    plugins = person.home / ".claude" / "plugins" / "installed_plugins.json"
    plugins.parent.mkdir(parents=True)
    plugins.write_text(json.dumps({"version": 2, "plugins": {"memory@claude-onedrive-memory": []}}))
    assert "Claude Code" not in person.run("setup", "--dry-run").stdout


def test_onedrive_without_an_app_registration_says_where_one_comes_from(person: Person) -> None:
    done = person.run("setup", "--backend", "onedrive", "--yes", code=2)
    assert "--client-id" in done.stderr
    assert "docs/onedrive.md" in done.stderr
    assert person.files() == {}


def test_a_login_for_which_nobody_is_there_is_left_to_do_and_all_else_is_done(person: Person) -> None:
    choice = ["setup", "--backend", "onedrive", "--client-id", "1111-2222", "--tenant", "consumers", "--no-service"]
    assert json.loads(person.run(*choice, "--json", "--dry-run").stdout)["login"] == "needed"
    assert person.files() == {}
    done = person.run(*choice, "--yes", code=3)
    assert "claude-memory login" in done.stderr
    settings = tomllib.loads((person.device / "config.toml").read_text())
    assert settings["storage"]["backend"] == "onedrive"
    assert settings["onedrive"] == {"client_id": "1111-2222", "tenant": "consumers"}
    assert [call for call in person.calls() if call[:2] == ["mcp", "add-json"]]
    again = person.run("setup", "--backend", "onedrive", "--yes", "--json", "--no-service", code=3)
    assert json.loads(again.stdout)["login"] == "needed"
    assert tomllib.loads((person.device / "config.toml").read_text()) == settings, "what was told once stays"


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


def test_what_ends_a_daemon_that_nobody_watches_is_in_the_log_that_one_command_names(person: Person) -> None:
    person.environment["CLAUDE_MEMORY_STORAGE_BACKEND"] = "floppy"
    person.run("daemon", "run", "--background", code=2)
    log = Path(json.loads(person.run("daemon", "status", "--json").stdout)["log"])
    assert str(log) in person.run("daemon", "status").stdout
    assert "storage.backend" in json.loads(log.read_text().splitlines()[-1])["error"]
