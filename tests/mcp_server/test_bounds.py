"""With 5,000 memories, large ones among them, no tool passes what clients accept, and each says how to get the rest."""

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from sqlite3 import Connection
from typing import Any

import pytest
from mcp import Client

from mcp_server.budget import ASKED_TOKENS, HARD_CHARACTERS, tokens
from memory_cache import conflicts, document_file, documents, files, patterns, text_format
from memory_cache.conflicts import ConflictRecord
from memory_cache.documents import Caps
from memory_cache.models import Project
from tests.mcp_server.world import START, Claude, World, open_world

COUNT = 5000
TEXT = "cache index queue retry token socket schema replica worker commit branch deploy metric alert budget"
WORDS = TEXT.split()


def memory_id(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


def fill(connection: Connection) -> None:
    """A store of years: several projects and categories, links, tags, expiries, long and short texts."""
    for number in range(COUNT):
        words = " ".join(WORDS[(number * step) % len(WORDS)] for step in range(1, 8))
        length = 400 if number % 200 == 0 else 1
        body = f"# Note {number} about {words}\n\n" + "\n".join([f"needle {words} line {n}" for n in range(length)])
        moment = START - timedelta(minutes=number)
        data = text_format.render(
            id=memory_id(number), category=("task", "decision", "learning", "preference", "project")[number % 5],
            tags=[f"tag{number % 300}", "common"], created=moment, updated=moment, body=body,
            project_id=f"github.com/acme/p{number % 40}" if number % 3 else None,
            project_name=f"p{number % 40}" if number % 3 else None,
            priority="high" if number % 10 == 0 else "normal",
            expires_at=START - timedelta(days=1) if number % 25 == 0 else None,
            related_to=[memory_id(number - 1), memory_id(number // 2)] if number % 2 else [],
        )  # fmt: skip
        files.add(connection, f"memories/x/2026-01-01-note-{number}.md", data)
    for number in range(60):
        path = f"memories/x/2026-01-01-note-{number}.md"
        record = ConflictRecord(memory_id(number), path, "desktop", START, None, b"other " * 3000)
        files.add(connection, f"conflicts/{number:08x}-00000000.json", conflicts.encode(record))
        document = document_file.DocumentFile(
            title=f"Doc {number}", content=f"needle {number} " + "text " * 1500, type="library-docs", source="x",
            source_tool="y", created=START, updated=START,
        )  # fmt: skip
        documents.store(connection, document, synced=True, caps=Caps(), now=START)
        description = f"needle pattern number {number} " + " ".join(WORDS) + f" {number}" * 9
        for example in range(3):
            project = Project(id=f"github.com/acme/q{number}", key=f"github.com/acme/q{number}", name="q")
            patterns.store(
                connection, description=description, category="c", project=project, example="example " * 200,
                device="d", now=START + timedelta(seconds=example),
            )  # fmt: skip


@pytest.fixture(scope="module")
async def full(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    async with open_world(tmp_path_factory.mktemp("bounds")) as world:
        await world.cache.database.write(fill)
        yield world


@pytest.fixture(scope="module")
async def claude(full: World) -> AsyncIterator[Claude]:
    async with Client(full.server()) as client:
        yield Claude(client)


READING: list[tuple[str, dict[str, Any]]] = [
    ("recall", {"query": "needle", "all": True}),
    ("recall", {"query": "needle queue", "all": True, "limit": 1000, "max_tokens": ASKED_TOKENS}),
    ("recall", {"all": True, "limit": 1000, "max_tokens": ASKED_TOKENS}),
    ("recall", {}),
    ("list", {}),
    ("list", {"limit": 200}),
    ("get_context", {}),
    ("get_context", {"limit": 50, "verbose": True}),
    ("cleanup", {"dryRun": True}),
    ("status", {}),
    ("get_related", {"id": memory_id(1), "depth": 10}),
    ("batch_tag", {"tag": "new", "dryRun": True}),
    ("batch_delete", {"category": "task"}),
    ("batch_delete", {"query": "needle"}),
    ("get_statistics", {}),
    ("visualize_graph", {}),
    ("visualize_graph", {"fromId": memory_id(7), "depth": 10}),
    ("export_memories", {}),
    ("export_memories", {"format": "markdown"}),
    ("project_status", {}),
    ("project_status", {"project": "p1"}),
    ("history", {"id": memory_id(3)}),
    ("list_conflicts", {}),
    ("list_conflicts", {"id": "00000003-00000000"}),
    ("search_documents", {"query": "needle"}),
    ("search_documents", {"query": "needle", "limit": 100, "max_tokens": ASKED_TOKENS}),
    ("pattern_search", {"query": "needle pattern", "limit": 100}),
    ("pattern_mature", {}),
]
LARGE = {"max_tokens", "limit"}


@pytest.mark.parametrize(("tool", "arguments"), READING, ids=lambda value: value if isinstance(value, str) else "")
async def test_no_answer_passes_the_caps(claude: Claude, tool: str, arguments: dict[str, Any]) -> None:
    answer = await claude.say(tool, **arguments)
    assert len(answer) <= HARD_CHARACTERS + 100
    assert tokens(answer) <= 25_000
    if not LARGE & set(arguments) and "id" not in arguments:
        assert tokens(answer) <= 2600, "more than about 2,000 tokens without being asked for"
    assert "characters left out; ask for less" not in answer, "the last guard had to cut"


async def test_what_was_left_out_is_counted_and_reachable(claude: Claude) -> None:
    assert "more match: raise limit" in await claude.say("recall", query="needle", all_=True)
    assert "more: call list" in await claude.say("list")
    assert "would be relevant" in await claude.say("get_context")
    assert "more" in (await claude.say("batch_delete", category="task")).splitlines()[-2]


async def test_exports_are_whole(claude: Claude) -> None:
    answer = await claude.say("export_memories")
    path = Path(answer.split("exported to ")[1].split(" (")[0])
    assert len(json.loads(path.read_text("utf-8"))) == COUNT


async def test_every_memory_is_reached_page_by_page(claude: Claude) -> None:
    seen = 0
    cursor: str | None = None
    while True:
        answer = await claude.say("list", limit=200, **({"cursor": cursor} if cursor else {}))
        seen += answer.count("\n- `")
        if "more: call list" not in answer:
            break
        cursor = answer.rsplit('cursor="', 1)[1].split('"')[0]
    assert seen == COUNT


async def test_tagging_and_untagging_all(claude: Claude) -> None:
    living = COUNT - COUNT // 25
    assert f"{living:,} memories got the tag everywhere" in await claude.say("batch_tag", tag="everywhere")
    answer = await claude.say("undo_last_change")
    assert tokens(answer) <= 2600
    assert "No memory meets" not in answer
    assert "No memories found" in await claude.say("list", tag="everywhere")


async def test_resources_and_prompts_stay_bounded(claude: Claude) -> None:
    contents = (await claude.client.read_resource("memory://list")).contents[0]
    assert len(contents.text) <= HARD_CHARACTERS + 1000
    assert contents.meta["more"] > 4000
    assert len((await claude.client.list_resources()).resources) <= 60
    for name, arguments in (("recall", {"query": "needle"}), ("project_briefing", {}), ("weekly_review", {})):
        text = (await claude.client.get_prompt(name, arguments)).messages[0].content.text
        assert tokens(text) <= 8000, name
