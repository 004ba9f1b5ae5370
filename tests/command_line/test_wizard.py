"""`claude-memory setup` as a person meets it: questions on a terminal, each with an answer to take."""

import json
import os
import pty
import time
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.command_line.person import Person
from tests.graph_emulator import Account, Emulator
from tests.graph_emulator.certificate import loopback_tls

PATIENCE = 60.0


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    made = Person(tmp_path)
    yield made
    made.end()


def converse(person: Person, *arguments: str, answers: list[tuple[str, str]]) -> tuple[int, str]:
    """Run a command on a terminal; wait for each question, and answer it. The exit code and all that was shown."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(person.home)
        os.execve(person.program, [str(person.program), *arguments], {**person.environment, "TERM": "dumb"})  # noqa: S606
    shown, asked = "", 0
    os.set_blocking(terminal, False)
    deadline = time.monotonic() + PATIENCE
    while (ended := os.waitpid(pid, os.WNOHANG)) == (0, 0):
        with suppress(OSError):
            shown += os.read(terminal, 65536).decode()
        if answers and answers[0][0] in shown[asked:]:
            asked = len(shown)
            os.write(terminal, f"{answers.pop(0)[1]}\n".encode())
        assert time.monotonic() < deadline, shown
        time.sleep(0.02)
    with suppress(OSError):
        shown += os.read(terminal, 65536).decode()
    os.close(terminal)
    assert answers == [], shown
    return os.waitstatus_to_exitcode(ended[1]), shown


def test_enter_at_every_question_ends_with_a_memory_that_works(person: Person) -> None:
    (person.home / "OneDrive").mkdir()
    (person.home / "OneDrive - Acme").mkdir()
    chosen = person.home / "OneDrive - Acme" / "Apps" / "ClaudeMemory"
    code, shown = converse(person, "setup", answers=[
        ("Where shall memories be kept?", ""), ("Which folder?", str(chosen)), ("as a service", ""),
        ("Claude Code?", ""), ("Claude Desktop?", ""),
    ])  # fmt: skip
    assert code == 0, shown
    assert f"Found: {person.home / 'OneDrive' / 'Apps' / 'ClaudeMemory'}" in shown
    assert f"Found: {chosen}" in shown
    person.run("remember", "--category", "learning", "--global", "From the wizard")
    person.run("sync")
    assert list(chosen.glob("memories/**/*from-the-wizard*.md"))
    assert [call[:2] for call in person.calls()].count(["mcp", "add-json"]) == 1
    assert not (person.home / ".config" / "Claude").exists(), "Claude Desktop is not here, so it is not told"


def test_onedrive_asks_for_the_app_and_logs_in(person: Person, tmp_path: Path) -> None:
    context, authority = loopback_tls(tmp_path)
    with Emulator(Account.PERSONAL, tls=context) as emulator:
        person.environment |= {
            "CLAUDE_MEMORY_GRAPH_URL": emulator.url, "AZURE_AUTHORITY_HOST": emulator.origin,
            "SSL_CERT_FILE": str(authority), "CLAUDE_MEMORY_ONEDRIVE_PLAIN_TOKEN_CACHE": "true",
            "CLAUDE_MEMORY_ONEDRIVE_PUSH": "false",
        }  # fmt: skip
        app = "11111111-2222-3333-4444-555555555555"
        code, shown = converse(person, "setup", "--no-service", "--no-claude-code", "--no-desktop", answers=[
            ("Where shall memories be kept?", "onedrive"), ("Application (client) ID", app), ("accounts", "consumers"),
        ])  # fmt: skip
        assert code == 0, shown
        assert "enter the code" in shown
        assert "Logged in as emulated@example.com." in shown
        settings = tomllib.loads((person.device / "config.toml").read_text())
        assert settings["onedrive"] == {"client_id": app, "tenant": "consumers"}
        person.run("remember", "--category", "learning", "--global", "Into the cloud")
        person.run("sync")
        assert json.loads(person.run("status", "--json").stdout)["sync"]["pending"] == 0
        # Who is logged in is not asked again.
        code, shown = converse(person, "setup", "--yes", "--backend", "onedrive", "--no-service", answers=[])
        assert code == 0, shown
        assert "enter the code" not in shown
