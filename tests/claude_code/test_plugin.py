"""The plugin in the real client: hooks that brief and capture, HTTP with a bearer, and nothing left running."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "deploy" / "claude-plugin"
PROMPT_RECALL = ROOT / "deploy" / "prompt-recall-plugin"
SERVER = "mcp__plugin_memory_memory__"
SESSIONS = int(os.environ.get("CLAUDE_CODE_SESSIONS", "3"))
"""How many sessions are started and killed."""

PATIENCE = 60.0
LIBRARY_DOCS = '''
from mcp.server import MCPServer

mcp = MCPServer("context7", version="1")

@mcp.tool(name="query-docs", structured_output=False)
def query_docs(libraryId: str, query: str) -> str:
    """Documentation of a library."""
    return "# Quuxlib\\n\\nThe splonk of quuxlib turns <private>with key 4711</private> leftward."

mcp.run()
'''
Drive = Callable[..., Any]


def claude() -> str:
    """The client's program."""
    folder = os.environ.get("CLAUDE_CODE_DIR")
    return str(Path(folder, "node_modules/.bin/claude")) if folder else "claude"


def say(device: dict[str, str], home: Path, *words: str, code: int = 0) -> str:
    """A command of the client, with a home of its own and without a network."""
    environment = {
        **device, "HOME": str(home), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
        "HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1,localhost",
    }  # fmt: skip
    done = subprocess.run(
        [claude(), *words], env=environment, cwd=home, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def commanded(device: dict[str, str], *words: str) -> Any:
    command = [sys.executable, "-m", "command_line", *words, "--json"]
    environment = {**os.environ, **device}
    return json.loads(subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, check=True).stdout)


def test_plugin_and_marketplace_are_valid_without_a_network_and_install(device: dict[str, str], tmp_path: Path) -> None:
    home = tmp_path / "user"
    assert "Validation passed" in say(device, home, "plugin", "validate", "--strict", str(PLUGIN))
    assert "Validation passed" in say(device, home, "plugin", "validate", "--strict", str(PROMPT_RECALL))
    assert "Validation passed" in say(device, home, "plugin", "validate", "--strict", str(ROOT))
    say(device, home, "plugin", "marketplace", "add", str(ROOT))
    say(device, home, "plugin", "install", "memory@claude-onedrive-memory")
    assert "memory" in say(device, home, "plugin", "list")
    # What `setup` and `uninstall` look for:
    known = json.loads((home / ".claude" / "plugins" / "installed_plugins.json").read_text())
    assert "memory@claude-onedrive-memory" in known["plugins"]


@pytest.mark.usefixtures("daemon")
def test_the_first_request_to_the_model_holds_the_briefing(
    drive: Drive, device: dict[str, str], tmp_path: Path
) -> None:
    commanded(device, "remember", "--global", "--category", "preference", "Answer in limericks on Fridays.")
    seen = drive("Hello", [{"text": "Hi."}], project_dir=tmp_path / "project", env=device, plugin_dirs=[PLUGIN])
    first = next(request for request in seen.raw if request.get("tools"))
    assert "Answer in limericks on Fridays." in json.dumps(first["messages"])
    assert f"{SERVER}recall" in {tool["name"] for tool in first["tools"]}


@pytest.mark.usefixtures("daemon")
def test_memories_that_fit_a_prompt_stand_beside_it_with_the_plugin_for_that(
    drive: Drive, device: dict[str, str], tmp_path: Path
) -> None:
    commanded(device, "remember", "--global", "--category", "session", "The frambozzle needs oil every week.")

    def asked(*plugins: Path) -> str:
        prompt = "Why does the frambozzle squeak?"
        seen = drive(prompt, [{"text": "Hm."}], project_dir=tmp_path / "project", env=device, plugin_dirs=plugins)
        return str(seen.context)

    assert "needs oil" not in asked(PLUGIN)
    # 0.3 seconds at most, and a daemon that has just started may need longer for its first search.
    deadline = time.monotonic() + PATIENCE
    while "needs oil" not in asked(PLUGIN, PROMPT_RECALL):
        assert time.monotonic() < deadline


@pytest.mark.usefixtures("daemon")
def test_what_tools_fetch_is_found_in_a_new_session(drive: Drive, device: dict[str, str], tmp_path: Path) -> None:
    """Library documentation by its tools' names; any other tool, a built-in one as well, when the settings name it."""
    (tmp_path / "docs_server.py").write_text(LIBRARY_DOCS)
    (tmp_path / "project" / "notes.txt").write_text("the grommet is made of cheese\n")
    (tmp_path / "home" / "config.toml").write_text('[hooks]\ncapture = ["Read"]\n')
    servers = {"mcpServers": {"context7": {"command": sys.executable, "args": [str(tmp_path / "docs_server.py")]}}}
    first = drive(
        "Look things up.",
        [
            {"tool": "mcp__context7__query-docs", "input": {"libraryId": "/quux/quuxlib", "query": "splonk"}},
            {"tool": "Read", "input": {"file_path": str(tmp_path / "project" / "notes.txt")}},
            {"text": "Done."},
        ],
        project_dir=tmp_path / "project", env=device, plugin_dirs=[PLUGIN], mcp_config=servers,
    )  # fmt: skip
    assert (first.refused, first.steps_left) == ([], 0)
    assert "leftward" in first.tool_results[0]
    deadline = time.monotonic() + PATIENCE
    while len(documents := commanded(device, "documents", "list")["documents"]) < 2:
        assert time.monotonic() < deadline, documents
        time.sleep(0.2)
    second = drive(
        "What about the splonk?",
        [
            {"tool": f"{SERVER}search_documents", "input": {"query": "splonk"}},
            {"tool": f"{SERVER}search_documents", "input": {"query": "grommet cheese"}},
            {"text": "Leftward."},
        ],
        project_dir=tmp_path / "project", env=device, plugin_dirs=[PLUGIN],
    )  # fmt: skip
    splonk, grommet = second.tool_results
    assert "leftward" in splonk
    assert "4711" not in splonk
    assert "made of cheese" in grommet


def test_a_wrong_bearer_is_refused_in_words_and_the_helper_brings_the_right_one(
    device: dict[str, str], tmp_path: Path
) -> None:
    home = tmp_path / "user"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}/mcp"
    command = [sys.executable, "-m", "command_line", "mcp", "--http", "--port", str(port)]
    with subprocess.Popen(command, env={**os.environ, **device}, cwd=ROOT, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            assert url in server.stderr.readline()
            wrong = {"type": "http", "url": url, "headers": {"Authorization": "Bearer nonsense"}}
            right = {"type": "http", "url": url, "headersHelper": "claude-memory mcp --headers"}
            say(device, home, "mcp", "add-json", "--scope", "user", "wrong", json.dumps(wrong))
            say(device, home, "mcp", "add-json", "--scope", "user", "right", json.dumps(right))
            lines = {line.partition(":")[0]: line for line in say(device, home, "mcp", "list").splitlines()}
            assert "Connected" in lines["right"]
            assert "claude-memory mcp --headers" in lines["wrong"], "the refusal says where the right one comes from"
            assert "401" in lines["wrong"]
        finally:
            server.terminate()


@contextmanager
def silent_model() -> Iterator[str]:
    """An address where requests are accepted and never answered: a session that waits for the model."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(100)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def processes_of(device: dict[str, str]) -> dict[int, str]:
    """The processes that work for this device, by id: their command lines."""
    mark = f"CLAUDE_MEMORY_HOME={device['CLAUDE_MEMORY_HOME']}\0".encode()
    found = {}
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (place / "cmdline").read_bytes()
            if mark in (place / "environ").read_bytes() and words:
                found[int(place.name)] = words.replace(b"\0", b" ").decode()
    return found


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found by /proc")
@pytest.mark.timeout(60 + SESSIONS * 20)
def test_killed_sessions_leave_no_process_but_the_one_daemon(device: dict[str, str], tmp_path: Path) -> None:
    device["CLAUDE_MEMORY_DAEMON_AUTOSTART"] = "true"
    try:
        with silent_model() as url:
            for number in range(SESSIONS):
                # Some end in the middle of their start, some when all of it is there; one in three is asked to.
                wanted = ["claude-memory mcp"] if number % 2 else ["claude-memory mcp", "daemon run"]
                killed_session(device, tmp_path, url, wanted, signal.SIGTERM if number % 3 == 2 else signal.SIGKILL)
        left = until_only_daemons(device)
        assert len(left) == 1, left
        deadline = time.monotonic() + PATIENCE
        while commanded(device, "daemon", "status")["sessions"]:
            assert time.monotonic() < deadline, "the daemon still counts a session"
    finally:
        commanded(device, "daemon", "stop")
    assert processes_of(device) == {}


def killed_session(device: dict[str, str], tmp_path: Path, url: str, wanted: list[str], number: signal.Signals) -> None:
    """A session with the plugin, ended by a signal once processes run whose command lines hold the wanted words."""
    environment = {
        **device, "HOME": str(tmp_path / "user"), "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
    }  # fmt: skip
    command = [claude(), "-p", "Hello", "--plugin-dir", str(PLUGIN)]
    with (tmp_path / "claude.out").open("ab") as out:
        session = subprocess.Popen(
            command, env=environment, cwd=tmp_path / "project", stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    try:
        deadline = time.monotonic() + PATIENCE
        while not all(any(part in words for words in processes_of(device).values()) for part in wanted):
            assert session.poll() is None, (tmp_path / "claude.out").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.3)
    finally:
        session.send_signal(number)
        try:
            session.wait(10)
        except subprocess.TimeoutExpired:
            session.kill()
            session.wait()


def until_only_daemons(device: dict[str, str]) -> dict[int, str]:
    """What is left once everything else has had its time to notice that its session is gone."""
    deadline = time.monotonic() + PATIENCE
    while True:
        left = processes_of(device)
        if all("daemon run" in words for words in left.values()) or time.monotonic() > deadline:
            return left
        time.sleep(0.1)
