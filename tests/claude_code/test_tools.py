"""The tools as the model of a real client gets them: in the first turn, as readable markdown, with errors that help."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp_server.tools import DECLARED
from tests.claude_code.test_real_client import SERVER, session

FIRST = {"remember", "recall", "get_context"}
"""What a session begins with: there with its whole definition from the first turn."""


def step(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": f"{SERVER}{tool}", "input": {name.rstrip("_"): value for name, value in arguments.items()}}


def later(tool: str, arguments: Callable[[list[str]], dict[str, Any]]) -> dict[str, Any]:
    """A call whose arguments come from the results so far."""
    return {"tool": f"{SERVER}{tool}", "input": arguments}


def id_in(result: str) -> str:
    found = re.search(r"ID:\W*([0-9a-f-]{36}|[0-9a-f]{32})", result)
    assert found, result
    return found[1]


def test_every_tool_is_known_in_the_first_turn_and_the_first_ones_are_whole(
    drive: Callable[..., Any], device: dict[str, str], tmp_path: Path
) -> None:
    for _ in range(3):  # on a busy machine the client may ask the model before it has heard the server's instructions
        seen = session(drive, device, tmp_path, "Hello", [{"text": "Hello."}])
        if "# MCP Server Instructions" in seen.context:
            break
    own = {name.removeprefix(SERVER) for name in (*seen.tools, *seen.deferred_tools) if name.startswith(SERVER)}
    assert own == {declared.name for declared in DECLARED}
    whole = {name.removeprefix(SERVER): text for name, text in seen.tools.items() if name.startswith(SERVER)}
    assert set(whole) >= FIRST
    for declared in DECLARED:
        if declared.name in whole:
            assert whole[declared.name] == " ".join((declared.function.__doc__ or "").split())
    assert "Search it (recall, or get_context for an overview of this project)" in seen.context


def test_what_tools_answer_reaches_the_model_as_the_markdown_it_is(
    drive: Callable[..., Any], device: dict[str, str], tmp_path: Path
) -> None:
    seen = session(drive, device, tmp_path, "Remember all of this.", [
        step("remember", category="decision", content="# Use WAL\n\nReaders never `block`.", tags=["sqlite"]),
        step("remember", category="task", content="# Measure it\n\nNext week.", priority="high", ttl="2w"),
        later("link_memories", lambda done: {"id1": id_in(done[0]), "id2": id_in(done[1])}),
        step("recall", query="readers"),
        step("list"),
        step("get_context"),
        later("update", lambda done: {"id": id_in(done[0]), "tags": ["sqlite", "wal"]}),
        later("history", lambda done: {"id": id_in(done[0])}),
        step("visualize_graph"),
        step("pattern_store", description="Run the benchmark before and after", category="speed"),
        later("forget", lambda done: {"id": id_in(done[1])}),
        later("restore", lambda done: {"id": id_in(done[1])}),
        step("status"),
        {"text": "Done."},
    ])  # fmt: skip
    results = seen.tool_results
    assert not [result for result in results if result.is_error]
    first, second = id_in(results[0]), id_in(results[1])
    expected = [
        f"Remembered: Use WAL\nID: {first}\nCategory: decision\nProject: project (",
        f"Remembered: Measure it\nID: {second}\nCategory: task\n",
        f"Linked: `{first[:8]}` Use WAL and `{second[:8]}` Measure it",
        f"**ID:** {first}\ndecision · tags: sqlite · project project · updated ",
        f"`{second[:8]}` Measure it",
        "## Open tasks\n\n### Measure it",
        f"Updated tags: Use WAL\nID: {first}\n",
        "### Revision ",
        '```mermaid\ngraph LR\n  m0["',
        "Noted a new pattern: Run the benchmark before and after\nID: ",
        f"Forgotten: Measure it\nID: {second}\n",
        f"Restored: Measure it\nID: {second}",
        "# Memory status\n- 2 memories, 0 expired, 0 in the trash\n",
    ]
    for result, text in zip(results, expected, strict=True):
        assert text in result
        assert '{"' not in result, "no JSON around the text"
    assert "```markdown\n# Use WAL\n\nReaders never `block`.\n```" in results[3]
    assert "Priority: high" in results[1]


def test_errors_reach_the_model_and_say_what_to_do_next(
    drive: Callable[..., Any], device: dict[str, str], tmp_path: Path
) -> None:
    seen = session(drive, device, tmp_path, "Do it wrong.", [
        step("forget", id="ffffffff"),
        step("remember", category="../x", content="text"),
        step("remember", category="task", content="text", ttl="0d"),
        step("update", id="ffffffff"),
        step("get_document", id="ffffffff"),
        step("pattern_mark_as_skill", pattern_ids=["ffffffff"]),
        step("batch_delete"),
        step("resolve_conflict", id="ffffffff", keep="mine"),
        {"text": "I see."},
    ])  # fmt: skip
    expected = [
        "No memory has the id 'ffffffff'. Use list or recall to find the id of a memory.",
        "This category cannot be used: it must be one plain folder name. Use one of project, decision",
        "It must be at least 1d",
        "update needs something to change. Pass content, tags, category, priority, ttl, global or title.",
        "search_documents",
        "pattern_search finds patterns and their ids.",
        "Give at least one of category, expired, stale or query.",
        "There is no open conflict with this id.",
    ]
    for result, text in zip(seen.tool_results, expected, strict=True):
        assert result.is_error
        assert text in result
