"""What the model sees of this product, shown by the real Claude Code client.

Runs where REAL_CLAUDE_CODE names a folder with `drive_claude.py` (it drives the client offline along a plan) and
CLAUDE_CODE_DIR the client's installation. The client is proprietary: it is no part of this project.
"""

import importlib.util
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
HARNESS = Path(os.environ.get("REAL_CLAUDE_CODE", "/nonexistent")) / "drive_claude.py"
pytestmark = [
    pytest.mark.skipif(not HARNESS.is_file(), reason="REAL_CLAUDE_CODE names no harness for the real client"),
    pytest.mark.timeout(300),
]
SERVER = "mcp__plugin_memory_memory__"


@pytest.fixture(scope="module")
def drive() -> Callable[..., Any]:
    specification = importlib.util.spec_from_file_location("drive_claude", HARNESS)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["drive_claude"] = module
    specification.loader.exec_module(module)
    run: Callable[..., Any] = module.drive
    return run


@pytest.fixture
def device(tmp_path: Path) -> dict[str, str]:
    for name in ("shared", "project", "user"):
        (tmp_path / name).mkdir()
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "CLAUDE_MEMORY_HOME": str(tmp_path / "home"),
        "CLAUDE_MEMORY_STORAGE_PATH": str(tmp_path / "shared"),
        "CLAUDE_MEMORY_DAEMON_AUTOSTART": "false",
    }


@pytest.fixture
def daemon(device: dict[str, str], tmp_path: Path) -> Iterator[None]:
    environment = {**os.environ, **device}
    command = [sys.executable, "-m", "command_line", "daemon", "run"]
    with (tmp_path / "daemon.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=log, stderr=log)
        try:
            while not (tmp_path / "home" / "daemon.sock").exists():
                assert process.poll() is None, (tmp_path / "daemon.log").read_text()
                time.sleep(0.05)
            yield
        finally:
            process.terminate()
            process.wait(20)


def session(drive: Callable[..., Any], device: dict[str, str], tmp_path: Path, prompt: str, plan: list[Any]) -> Any:
    seen = drive(
        prompt, plan, project_dir=tmp_path / "project", env=device, plugin_dirs=[ROOT / "deploy" / "claude-plugin"]
    )
    assert (seen.refused, seen.steps_left) == ([], 0)
    return seen


def test_the_plugin_offers_its_tools_in_the_first_turn_and_answers_in_markdown(
    drive: Callable[..., Any], device: dict[str, str], tmp_path: Path
) -> None:
    seen = session(drive, device, tmp_path, "Remember that tea is at four.", [
        {"tool": f"{SERVER}remember", "input": {"category": "preference", "content": "# Tea\n\nTea is at four."}},
        {"tool": f"{SERVER}recall", "input": {"query": "when is tea"}},
        {"tool": f"{SERVER}forget", "input": {"id": "ffffffff"}},
        {"text": "Noted."},
    ])  # fmt: skip
    stored, recalled, failed = seen.tool_results
    assert f"{SERVER}remember" in seen.tools
    assert "## plugin:memory:memory" in seen.context or "memory" in seen.context
    assert re.search(r"ID:\W*[0-9a-f-]{36}", stored)
    assert "Tea is at four." in recalled
    assert not recalled.lstrip().startswith("{")
    assert failed.is_error
    assert "list or recall" in failed


@pytest.mark.usefixtures("daemon")
def test_a_new_session_is_briefed_and_finds_what_was_fetched_before(
    drive: Callable[..., Any], device: dict[str, str], tmp_path: Path
) -> None:
    first = session(drive, device, tmp_path, "Remember the port.", [
        {"tool": f"{SERVER}remember", "input": {"category": "decision", "content": "Staging listens on port 3001."}},
        {"text": "Noted."},
    ])  # fmt: skip
    assert "Staging listens" not in first.context
    event = (
        '{"tool_name": "WebFetch", "tool_input": {"url": "https://example.org/w", "prompt": "widgets?"},'
        ' "tool_response": {"result": "# Widgets\\nframbozzles need oil", "code": 200}, "session_id": "s"}'
    )
    environment = {**os.environ, **device, "CLAUDE_PROJECT_DIR": str(tmp_path / "project")}
    hook = [sys.executable, "-m", "command_line", "hook", "post-tool-use"]
    subprocess.run(hook, input=event.encode(), env=environment, cwd=ROOT, check=True)
    second = session(drive, device, tmp_path, "What do widgets need?", [
        {"tool": f"{SERVER}search_documents", "input": {"query": "frambozzles"}},
        {"text": "Oil."},
    ])  # fmt: skip
    assert "Staging listens on port 3001." in second.context
    assert "frambozzles need oil" in second.tool_results[0]
    assert "https://example.org/w" in second.tool_results[0]
