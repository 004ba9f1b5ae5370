"""Documents and patterns as the model sees them."""

import stat
from pathlib import Path

import pytest

from mcp_server.budget import tokens
from memory_cache import documents
from memory_cache.document_file import DocumentFile
from memory_cache.documents import Caps
from tests.mcp_server.world import START, Claude, World, hex_id_of


async def fetch(
    world: World, content: str, *projects: str, source: str = "/vercel/next.js", tool: str = "context7"
) -> str:
    """A document as a hook leaves it; its id."""
    title = content.splitlines()[0].lstrip("# ")
    document = DocumentFile(
        title=title, content=content, type="library-docs", source=source, source_tool=tool, created=START,
        updated=START, projects=projects, metadata={"prompt": "How does it work?"},
    )  # fmt: skip
    now = world.clock()
    stored, _ = await world.cache.database.write(
        lambda c: documents.store(c, document, synced=True, caps=Caps(), now=now)
    )
    return stored


async def test_a_hit_shows_source_tool_title_age_and_a_snippet_and_counts(claude: Claude, world: World) -> None:
    document = await fetch(world, "# Routing\n\nThe app router maps folders to routes.", "github.com/acme/widget")
    world.clock.pass_days(3)
    answer = await claude.say("search_documents", query="app router")
    assert '1 document for "app router"' in answer
    assert hex_id_of(answer) == document
    for text in (
        "### 1. Routing", "source /vercel/next.js", "by context7", "library-docs", "fetched 2026-11-30 (3 days ago)",
        "access_count 1", "maps folders to routes", "not instructions", "get_document",
    ):  # fmt: skip
        assert text in answer
    assert "access_count 2" in await claude.say("search_documents", query="app router")


async def test_old_documents_are_said_to_be_old(claude: Claude, world: World) -> None:
    await fetch(world, "# Routing\n\nThe app router.")
    world.clock.pass_days(60)
    assert "may be outdated" in await claude.say("search_documents", query="router")


async def test_documents_of_all_tools_are_found_and_a_project_narrows(claude: Claude, world: World) -> None:
    await fetch(world, "# One\n\nneedle", "github.com/acme/widget")
    await fetch(world, "# Two\n\nneedle", source="https://example.org/two", tool="webfetch")
    both = await claude.say("search_documents", query="needle")
    assert "2 documents" in both
    assert "by webfetch" in both
    one = await claude.say("search_documents", query="needle", project="github.com/acme/widget")
    assert "1 document for" in one
    assert "Two" not in one


async def test_the_full_text_in_pieces(claude: Claude, world: World) -> None:
    text = "# Long\n\n" + "\n".join(f"line number {number}" for number in range(5000))
    document = await fetch(world, text)
    found = await claude.say("search_documents", query="number 4321")
    assert tokens(found) <= 2100
    answer = await claude.say("get_document", id=document[:8])
    assert "How does it work?" in answer
    assert tokens(answer) < 8500
    seen = answer
    while "goes on." in answer:
        offset = int(answer.rsplit("offset=", 1)[1].split(" ")[0])
        answer = await claude.say("get_document", id=document, offset=offset, max_tokens=20000)
        seen += answer
    for number in (0, 2500, 4999):
        assert f"line number {number}" in seen


async def test_document_errors(claude: Claude, world: World) -> None:
    assert "No documents found" in await claude.say("search_documents", query="nothing")
    assert "query is empty" in await claude.fails("search_documents", query=" ")
    assert "query is required" in await claude.fails("search_documents")
    assert "search_documents finds documents" in await claude.fails("get_document", id="ffffffff")
    assert "too short" in await claude.fails("get_document", id="ab")
    document = await fetch(world, "# Short\n\nx")
    assert "offset" in await claude.fails("get_document", id=document, offset=10**6)


@pytest.mark.parametrize("query", ["next.js", "what's new", "C#", "a,b", "react AND", "NOT", '"', "日本"])
async def test_any_query_over_documents_is_text(claude: Claude, world: World, query: str) -> None:
    await fetch(world, "# Something\n\ntext")
    await claude.say("search_documents", query=query)


async def test_the_third_sighting_says_that_a_skill_can_be_made(claude: Claude) -> None:
    text = "Write a failing test before fixing a bug"
    first = await claude.say("pattern_store", description=text, category="testing", example="test_login failed first")
    assert first.startswith("Noted a new pattern")
    assert "Seen 1 time" in first
    second = await claude.say(
        "pattern_store", description="Before fixing a bug write a test that fails", category="testing"
    )
    assert second.startswith("Seen again")
    assert hex_id_of(second) == hex_id_of(first)
    assert "skill" not in second
    third = await claude.say("pattern_store", description=text, category="testing")
    assert "Seen 3 times" in third
    assert "a skill can be made of it" in third


async def test_patterns_are_searched_filtered_and_listed_when_mature(claude: Claude) -> None:
    text = "Write a failing test before fixing a bug"
    for _ in range(3):
        pattern = hex_id_of(await claude.say("pattern_store", description=text, category="testing"))
    await claude.say("pattern_store", description="Rebase the branch before a review", category="git", project="acme")
    found = await claude.say("pattern_search", query="failing test")
    assert hex_id_of(found) == pattern
    assert "ready to become a skill" in found
    assert "No patterns found" in await claude.say("pattern_search", query="failing test", category="git")
    assert "No patterns found" in await claude.say("pattern_search", query="rebase", min_count=2)
    mature = await claude.say("pattern_mature")
    assert "## testing" in mature
    assert pattern in mature
    assert "Rebase" not in mature
    assert "No pattern has been seen 9 times" in await claude.say("pattern_mature", min_count=9)


async def test_marking_writes_a_draft_into_the_home_and_shows_it(claude: Claude, world: World) -> None:
    example = "```python\nassert broken()\n```\nthen the fix"
    for _ in range(3):
        answer = await claude.say(
            "pattern_store", description='Write a "failing" test: before fixing', category="testing", example=example
        )
    pattern = hex_id_of(answer)
    marked = await claude.say("pattern_mark_as_skill", pattern_ids=[pattern[:10]])
    assert "1 pattern marked as a skill." in marked
    path = Path(marked.split("Draft: ")[1].split("\n")[0])
    assert path.is_relative_to(world.home.root / "skills")
    assert path.name == "SKILL.md"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text("utf-8")
    assert text in marked + "\n"
    assert 'description: "Write a \\"failing\\" test: before fixing"' in text
    assert "assert broken()" in text
    path.write_text("worked on", "utf-8")
    await claude.say("pattern_mark_as_skill", pattern_ids=pattern)
    assert path.read_text("utf-8") == "worked on"
    assert "No pattern has been seen" in await claude.say("pattern_mature")
    assert pattern in await claude.say("pattern_mature", exclude_created=False)
    assert not list(world.project.iterdir())


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("pattern_store", {"description": "short", "category": "x"}, "10 to 1000"),
        ("pattern_store", {"description": "x" * 1001, "category": "x"}, "10 to 1000"),
        ("pattern_store", {"description": "long enough text", "category": "x", "example": "short"}, "10 to 2000"),
        ("pattern_store", {"description": "long enough text"}, "category is required"),
        ("pattern_store", {"description": "long enough text", "category": "../x"}, "category"),
        ("pattern_search", {}, "query is required"),
        ("pattern_search", {"query": "x", "limit": 0}, "limit"),
        ("pattern_mature", {"min_count": 0}, "min_count"),
        ("pattern_mark_as_skill", {"pattern_ids": []}, "empty"),
        ("pattern_mark_as_skill", {"pattern_ids": ["ffffffff"]}, "No pattern has the id"),
        ("pattern_mark_as_skill", {}, "pattern_ids is required"),
    ],
)
async def test_pattern_errors(claude: Claude, tool: str, arguments: dict[str, object], says: str) -> None:
    assert says in await claude.fails(tool, **arguments)
