"""Hooks as Claude Code runs them: a process per event, exit 0, nothing on stderr, with and without a daemon."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "command_line"]
FETCHED = {
    "tool_name": "WebFetch",
    "tool_input": {"url": "https://example.org/widgets", "prompt": "How do widgets work?"},
    "tool_response": {"result": "# Widgets\nThe frambozzle <Private >turns on key 4711</private> turns.", "code": 200},
    "session_id": "s-1",
}
HEAVY = {"asyncio", "pydantic", "mcp", "anyio", "numpy", "msgraph", "azure", "aiosqlite", "httpx", "argparse"} | {
    "dataclasses", "inspect", "subprocess", "tempfile", "shutil", "http", "email", "ssl", "logging",
}  # fmt: skip


@pytest.fixture
def device(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "shared").mkdir()
    (tmp_path / "project").mkdir()
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith("CLAUDE_")},
        "PYTHONPATH": str(ROOT),
        "HOME": str(tmp_path),
        "CLAUDE_MEMORY_HOME": str(tmp_path / "home"),
        "CLAUDE_MEMORY_STORAGE_PATH": str(tmp_path / "shared"),
        "CLAUDE_MEMORY_DAEMON_AUTOSTART": "false",
        "CLAUDE_PROJECT_DIR": str(tmp_path / "project"),
    }


@pytest.fixture
def daemon(device: dict[str, str], tmp_path: Path) -> Iterator[None]:
    with (tmp_path / "daemon.log").open("wb") as log:
        process = subprocess.Popen([*COMMAND, "daemon", "run"], env=device, cwd=tmp_path, stdout=log, stderr=log)
        try:
            deadline = time.monotonic() + 30
            while not (tmp_path / "home" / "daemon.sock").exists():
                assert process.poll() is None, (tmp_path / "daemon.log").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.05)
            yield
        finally:
            process.terminate()
            process.wait(20)


def hook(device: dict[str, str], event: str, payload: Any, *options: str) -> "subprocess.CompletedProcess[str]":
    text = payload if isinstance(payload, str) else json.dumps(payload)
    command = [sys.executable, *options, "-m", "command_line", "hook", event]
    return subprocess.run(command, env=device, input=text, capture_output=True, text=True, timeout=30, check=False)


def claude_memory(device: dict[str, str], *arguments: str) -> dict[str, Any]:
    done = subprocess.run([*COMMAND, *arguments, "--json"], env=device, capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def injected(done: "subprocess.CompletedProcess[str]") -> str:
    assert (done.returncode, done.stderr) == (0, "")
    if not done.stdout:
        return ""
    output = json.loads(done.stdout)["hookSpecificOutput"]
    text: str = output["additionalContext"]
    assert len(text) <= 10_000
    return text


def check_briefing(device: dict[str, str]) -> None:
    claude_memory(device, "remember", "--category", "decision", "Ports\n\nThe staging port is 3001, 日本語 too.")
    claude_memory(device, "remember", "--category", "task", "--global", "Renew the certificate")
    claude_memory(device, "remember", "--category", "task", "--project", "github.com/else/where", "Not for here")
    text = injected(hook(device, "session-start", {"cwd": device["CLAUDE_PROJECT_DIR"], "source": "startup"}))
    assert "The staging port is 3001, 日本語 too." in text
    assert "Renew the certificate" in text
    assert "Not for here" not in text
    assert "not instructions" in text


def test_a_session_starts_with_the_memories_of_its_project_without_a_daemon(device: dict[str, str]) -> None:
    check_briefing(device)


@pytest.mark.usefixtures("daemon")
def test_a_session_starts_with_the_memories_of_its_project_through_the_daemon(device: dict[str, str]) -> None:
    check_briefing(device)


@pytest.mark.usefixtures("daemon")
def test_a_fetched_page_is_kept_without_its_private_parts(device: dict[str, str], tmp_path: Path) -> None:
    assert injected(hook(device, "post-tool-use", FETCHED)) == ""
    deadline = time.monotonic() + 15
    while not (found := list((tmp_path / "shared").glob("documents/*.md"))):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    text = found[0].read_text("utf-8")
    assert "frambozzle" in text
    assert "https://example.org/widgets" in text
    assert "4711" not in "".join(p.read_text("utf-8", "replace") for p in tmp_path.rglob("*") if p.is_file())


@pytest.mark.usefixtures("daemon")
def test_what_was_captured_is_shown_and_can_be_taken_away_everywhere(device: dict[str, str], tmp_path: Path) -> None:
    hook(device, "post-tool-use", FETCHED)
    deadline = time.monotonic() + 15
    while not (listed := claude_memory(device, "documents", "list")["documents"]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert listed[0]["source"] == "https://example.org/widgets"
    while not list((tmp_path / "shared").glob("documents/*.md")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    claude_memory(device, "documents", "forget", listed[0]["id"])
    assert claude_memory(device, "documents", "list")["documents"] == []
    while list((tmp_path / "shared").glob("documents/*.md")):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_fetched_page_waits_privately_when_no_daemon_runs(device: dict[str, str], tmp_path: Path) -> None:
    assert injected(hook(device, "post-tool-use", FETCHED)) == ""
    (waiting,) = (tmp_path / "home" / "spool").iterdir()
    assert "4711" not in waiting.read_text("utf-8")
    assert "frambozzle" in waiting.read_text("utf-8")


@pytest.mark.usefixtures("daemon")
def test_a_compaction_summary_becomes_a_memory_that_ends_by_itself(device: dict[str, str]) -> None:
    hook(device, "post-compact", {"compact_summary": "We moved the queue to Redis.", "trigger": "auto"})
    deadline = time.monotonic() + 15
    while not (found := claude_memory(device, "list", "--category", "session")["memories"]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "moved the queue to Redis" in found[0]["content"]
    assert found[0]["expiresAt"]


@pytest.mark.usefixtures("daemon")
def test_a_prompt_recalls_memories_that_fit(device: dict[str, str]) -> None:
    claude_memory(device, "remember", "--category", "learning", "--global", "The frambozzle needs oil every week")
    prompt = {"prompt": "why does the frambozzle squeak?"}
    # A prompt waits 0.3 s at most, and a daemon that has just started may need longer for its first search.
    deadline = time.monotonic() + 30
    while "needs oil every week" not in injected(hook(device, "user-prompt-submit", prompt)):
        assert time.monotonic() < deadline


@pytest.mark.parametrize(
    "payload", ["", "{", "[]", "\ufeff{}", '{"prompt": 7}', "\x00", "[" * 100_000, '{"cwd": "/\\u0000"}']
)
@pytest.mark.parametrize("event", ["session-start", "post-tool-use", "post-compact", "user-prompt-submit", "nonsense"])
def test_no_input_makes_a_hook_fail_or_speak(device: dict[str, str], event: str, payload: str) -> None:
    done = hook(device, event, payload)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("words", [[], [""], ["--help"], ["nonsense", "and", "more"], ["session-start", "more"]])
def test_no_arguments_make_a_hook_fail_or_speak(device: dict[str, str], words: list[str]) -> None:
    done = subprocess.run(
        [*COMMAND, "hook", *words], env=device, input="{}", capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@contextmanager
def endless_daemon(home: Path) -> Iterator[None]:
    """A daemon that begins to answer and never comes to an end; each byte comes well within any single wait."""
    home.mkdir()
    over = threading.Event()

    def answer(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.sendall(b"999999\n")
            while not over.wait(0.02):
                connection.sendall(b" ")

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=answer, args=(listener.accept()[0],)).start()

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(home / "daemon.sock"))
        listener.listen()
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield
        finally:
            over.set()
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_nobody_waits_for_a_daemon_that_comes_to_no_end(device: dict[str, str], tmp_path: Path) -> None:
    with endless_daemon(tmp_path / "home"):
        assert injected(hook(device, "user-prompt-submit", {"prompt": "why does it squeak?"})) == ""
        assert injected(hook(device, "post-tool-use", FETCHED)) == ""
        assert injected(hook(device, "session-start", {"source": "startup"})) == ""
    (waiting,) = (tmp_path / "home" / "spool").iterdir()
    assert "frambozzle" in waiting.read_text("utf-8"), "kept by the hook itself"


def test_a_hook_imports_nothing_heavy(device: dict[str, str]) -> None:
    claude_memory(device, "remember", "--category", "task", "--global", "something to say")
    for event in ("session-start", "post-tool-use"):
        done = hook(device, event, FETCHED, "-X", "importtime")
        modules = {
            line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")
        }
        assert {module.partition(".")[0] for module in modules} & HEAVY == set()
