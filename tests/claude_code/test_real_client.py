"""What the model sees of this product, shown by the real Claude Code client (see `conftest`)."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SERVER = "mcp__plugin_memory_memory__"


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
