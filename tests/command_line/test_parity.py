"""Whatever a tool does, a command does: every tool and every argument of it has its place in this table."""

import argparse

import pytest

from command_line.dispatch import COMMANDS, _parser
from mcp_server.tools import DECLARED

# Tool: the command, and for each argument the option or positional of the command that stands for it.
TABLE: dict[str, tuple[str, dict[str, str]]] = {
    "remember": ("remember", {
        "category": "--category", "content": "content", "tags": "--tags", "global": "--global",
        "priority": "--priority", "ttl": "--ttl", "project": "--project", "title": "--title",
    }),
    "recall": ("recall", {
        "query": "query", "category": "--category", "global": "--global", "all": "--all", "limit": "--limit",
        "tags": "--tags", "since_days": "--since-days", "max_tokens": "--limit",
        "titles": "--titles", "explain": "--explain",
    }),
    "get_context": ("context", {"limit": "--limit", "verbose": "--json"}),
    "list": ("list", {
        "category": "--category", "project": "--project", "projectOnly": "--project-only", "tag": "--tag",
        "limit": "--limit", "cursor": "--cursor",
    }),
    "update": ("update", {
        "id": "id", "content": "content", "tags": "--tags", "category": "--category", "priority": "--priority",
        "ttl": "--ttl", "global": "--global", "title": "--title",
    }),
    "forget": ("forget", {"id": "id"}),
    "status": ("status", {}),
    "search_documents": ("documents search", {
        "query": "query", "limit": "--limit", "project": "--project", "max_tokens": "--limit",
    }),
    "get_document": ("documents show", {"id": "id", "offset": "id", "max_tokens": "id"}),  # always whole
    "restore": ("restore", {"id": "id", "revision": "--revision"}),
    "history": ("history", {"id": "id"}),
    "undo_last_change": ("undo", {}),
    "link_memories": ("link", {"id1": "id1", "id2": "id2", "operation": "--unlink"}),
    "get_related": ("related", {"id": "id", "depth": "--depth"}),
    "merge_memories": ("merge", {"ids": "ids", "title": "--title"}),
    "visualize_graph": ("graph", {"fromId": "--from", "depth": "--depth"}),
    "cleanup": ("cleanup", {"dryRun": "--dry-run"}),
    "batch_tag": ("tag", {
        "tag": "tag", "operation": "--remove", "query": "--query", "category": "--category", "dryRun": "--dry-run",
    }),
    "batch_delete": ("delete", {
        "category": "--category", "expired": "--expired", "stale": "--stale", "query": "--query", "dryRun": "--yes",
    }),
    "get_statistics": ("stats", {}),
    "project_status": ("project-status", {"project": "project"}),
    "export_memories": ("export", {"format": "--format", "category": "--category"}),
    "list_conflicts": ("conflicts list", {"id": "--json"}),  # `conflicts show ID` shows one
    "resolve_conflict": ("conflicts resolve", {"id": "id", "keep": "--keep", "content": "--edit"}),
    "pattern_store": ("patterns store", {
        "description": "description", "category": "--category", "project": "--project", "example": "--example",
    }),
    "pattern_search": ("patterns search", {
        "query": "query", "category": "--category", "project": "--project", "min_count": "--min-count",
        "limit": "--limit",
    }),
    "pattern_mature": ("patterns mature", {
        "min_count": "--min-count", "category": "--category", "exclude_created": "--with-skills",
    }),
    "pattern_mark_as_skill": ("patterns mark", {"pattern_ids": "ids"}),
    "configure_storage": ("storage", {"action": "ACTION", "index": "ACTION", "path": "ACTION"}),
}  # fmt: skip


def command(words: str) -> argparse.ArgumentParser:
    parser = _parser(list(COMMANDS))
    for word in words.split():
        (actions,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
        parser = actions.choices[word]
    return parser


def test_every_tool_has_a_command() -> None:
    assert {declared.name for declared in DECLARED} == TABLE.keys()


@pytest.mark.parametrize("declared", DECLARED, ids=lambda declared: declared.name)
def test_the_command_takes_what_the_tool_takes(declared) -> None:  # type: ignore[no-untyped-def]
    words, arguments = TABLE[declared.name]
    assert declared.build().parameters["properties"].keys() == arguments.keys()
    parser = command(words)
    known = {name for action in parser._actions for name in (*action.option_strings, action.dest, action.metavar)}
    assert "--json" in known
    assert set(arguments.values()) <= known


@pytest.mark.parametrize("action", ["list", "select", "custom", "reset"])
def test_the_storage_actions_are_those_of_the_tool(action: str) -> None:
    assert command(f"storage {action}")
