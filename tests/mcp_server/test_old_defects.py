"""Each defect of the older server that a tool could show, as the model would meet it."""

import json
from pathlib import Path

import anyio
import pytest
from mcp import Client

from memory_cache import files
from memory_cache.models import Filter, Project
from tests.mcp_server.world import Claude, World, id_of, make_repository, text_of


async def stored(world: World) -> list[str]:
    """The content of every memory, and each one is backed by a file of its own."""
    page = await world.cache.list(world.everything(), limit=500)
    paths = await world.cache.database.read(
        lambda c: [row[0] for row in c.execute("SELECT path FROM files WHERE kind = 'memory' AND content IS NOT NULL")]
    )
    assert len(paths) == len(set(paths)) == len(page.memories)
    return sorted(memory.content for memory in page.memories)


async def test_twenty_parallel_remembers_in_one_session_lose_nothing(claude: Claude, world: World) -> None:
    answers: list[str] = []

    async def one(number: int) -> None:
        answers.append(await claude.say("remember", category="learning", content=f"note {number}"))

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(one, number)
    assert len({id_of(answer) for answer in answers}) == 20
    assert await stored(world) == sorted(f"note {number}" for number in range(20))


async def test_same_title_category_and_day_are_two_memories(claude: Claude, world: World) -> None:
    await claude.remember("# Title\n\nfirst", category="decision")
    await claude.remember("# Title\n\nsecond", category="decision")
    assert await stored(world) == ["# Title\n\nfirst", "# Title\n\nsecond"]


@pytest.mark.parametrize("title", ["データベース設計", "Дизайн базы", "🙂🙂", "???", "CON", "a" * 300])
async def test_titles_of_any_script_make_files_of_their_own(claude: Claude, world: World, title: str) -> None:
    await claude.remember(f"# {title}\n\none")
    await claude.remember(f"# {title}\n\ntwo")
    assert len(await stored(world)) == 2


async def test_merging_a_memory_with_itself_deletes_nothing(claude: Claude, world: World) -> None:
    memory_id = await claude.remember("# Only one")
    await claude.fails("merge_memories", ids=[memory_id, memory_id])
    assert len(await stored(world)) == 1


async def test_forgetting_an_empty_id_forgets_nothing(claude: Claude, world: World) -> None:
    await claude.remember("first")
    for empty in ("", " ", "\n"):
        assert "empty" in await claude.fails("forget", id=empty)
    assert len(await stored(world)) == 1


async def test_deleting_by_query_spares_high_priority_memories_that_do_not_match(claude: Claude, world: World) -> None:
    await claude.remember("the important one", priority="high")
    await claude.remember("the obsolete one")
    await claude.say("batch_delete", query="obsolete", dryRun=False)
    assert await stored(world) == ["the important one"]


async def test_high_priority_lifts_a_match_and_makes_none(claude: Claude, world: World) -> None:
    await claude.remember("unrelated matter", priority="high")
    world.clock.pass_days(3)  # short notes of one occasion count as each other's context
    await claude.remember("zebra crossing")
    answer = await claude.say("recall", query="zebra")
    assert "unrelated" not in answer
    assert "No memories found" in await claude.say("recall", query="quokka")


async def test_front_matter_inside_the_content_stays_content(claude: Claude, world: World) -> None:
    content = "---\nid: 00000000-0000-4000-8000-000000000000\ncategory: evil\npriority: high\n---\nbody"
    memory_id = await claude.remember(content, category="decision")
    memory = await world.cache.get(memory_id)
    assert (memory.id, memory.category, memory.priority) == (memory_id, "decision", "normal")
    assert memory.content == content


@pytest.mark.parametrize("opening", ["---js\n", "---coffee\n", "--- !!python/object/apply:os.system\n"])
async def test_executable_front_matter_never_runs(claude: Claude, world: World, tmp_path: Path, opening: str) -> None:
    victim = tmp_path / "victim"
    content = f"{opening}require('fs').writeFileSync('{victim}', 'x')\n['touch {victim}']\n---\nbody"
    memory_id = await claude.remember(content)
    assert memory_id in await claude.say("recall", query="body")
    await world.cache.database.write(lambda c: files.add(c, "memories/learning/hand.md", content.encode()))
    await claude.say("list")
    await claude.say("export_memories")
    assert not victim.exists()


async def test_credentials_of_the_remote_are_stored_and_shown_nowhere(claude: Claude, world: World) -> None:
    make_repository(world.project, "https://user:TOKEN123@github.com/Acme/Widget.git")
    answer = await claude.say("remember", category="learning", content="text")
    assert "github.com/acme/widget" in answer
    for text in (answer, await claude.say("status"), await claude.say("project_status"), await claude.say("recall")):
        assert "TOKEN123" not in text
    assert "TOKEN123" not in await world.cache.database.read(lambda c: "\n".join(map(str, c.iterdump())))


async def test_an_old_id_with_a_credential_matches_and_is_not_written_again(claude: Claude, world: World) -> None:
    old = (
        b"---\nid: 11111111-0000-4000-8000-000000000000\ncategory: learning\ntags: []\n"
        b"created: 2024-01-05T10:00:00.000Z\nupdated: 2024-01-05T10:00:00.000Z\n"
        b"projectId: 'user:TOKEN123@github.com/Acme/Widget'\nprojectName: Widget\n---\nold needle\n"
    )
    await world.cache.database.write(lambda c: files.add(c, "memories/learning/old.md", old))
    answer = await claude.say("remember", category="learning", content="new needle", project="widget")
    assert "TOKEN123" not in answer
    memory = await world.cache.get(id_of(answer))
    assert memory.project_id == "github.com/acme/widget"
    listed = await claude.say("list", project="https://github.com/acme/widget.git", projectOnly=True)
    assert "old needle" in listed
    assert "new needle" in listed


@pytest.mark.parametrize("category", ["../../x", "..", "a/b", "a\\b", "/abs", "con", "x\0y", "."])
async def test_a_category_never_leaves_the_store(claude: Claude, world: World, category: str) -> None:
    result = await claude.call("remember", category=category, content="text")
    paths = await world.cache.database.read(lambda c: [row[0] for row in c.execute("SELECT path FROM files")])
    for path in paths:
        assert path.startswith("memories/")
        assert ".." not in path.split("/")
    assert result.is_error == (paths == [])


async def test_the_body_is_searched_and_not_only_its_beginning(claude: Claude) -> None:
    await claude.remember("# Title\n\n" + "filler " * 400 + "\n\nthe quokka lives here")
    assert "quokka" in await claude.say("recall", query="quokka")


async def test_the_global_filter_is_applied_before_the_limit(claude: Claude) -> None:
    await claude.remember("needle global", global_=True)
    for number in range(15):
        await claude.remember(f"needle here {number}")
    assert "needle global" in await claude.say("recall", query="needle", global_=True, limit=1)


async def test_a_file_with_tags_as_one_string_is_listed(claude: Claude, world: World) -> None:
    old = (
        b"---\nid: 11111111-0000-4000-8000-000000000000\ncategory: learning\ntags: sqlite\n"
        b"created: 2024-01-05\nupdated: 2024-01-05\n---\nold\n"
    )
    await world.cache.database.write(lambda c: files.add(c, "memories/learning/old.md", old))
    assert "old [sqlite]" in await claude.say("list")
    assert "tags: sqlite" in await claude.say("recall")


@pytest.mark.parametrize("ttl", ["0d", "0w", "-1d", "1.5d", "d", "7", "7x", "1000000y", " "])
async def test_a_lifetime_of_nothing_or_for_ever_is_an_error_in_remember_and_update(
    claude: Claude, world: World, ttl: str
) -> None:
    await claude.fails("remember", category="task", content="x", ttl=ttl)
    memory_id = await claude.remember("x")
    await claude.fails("update", id=memory_id, ttl=ttl)
    assert (await world.cache.get(memory_id)).expires_at is None


async def test_hand_edits_are_visible_at_once(claude: Claude, world: World) -> None:
    memory_id = await claude.remember("before")
    row = await world.cache.database.read(lambda c: tuple(c.execute("SELECT file_id, content FROM files").fetchone()))
    edited = bytes(row[1]).replace(b"before", b"edited by hand")
    await world.cache.database.write(lambda c: files.write(c, row[0], edited))
    assert "edited by hand" in await claude.say("recall", query=memory_id)


async def test_two_servers_on_one_cache_see_each_others_writes(world: World) -> None:
    async with Client(world.server()) as one, Client(world.server(), mode="legacy") as other:
        await one.call_tool("remember", {"category": "learning", "content": "shared needle"})
        seen = await other.call_tool("recall", {"query": "needle"})
        assert "shared needle" in text_of(seen)


async def test_exported_json_is_valid_whatever_the_content(claude: Claude) -> None:
    await claude.remember('quotes " and \\ and \u2028 and 日本 and \x07')
    exported = json.loads(await claude.say("export_memories"))
    assert exported[0]["content"].startswith('quotes " and \\')


async def test_a_project_filter_sees_both_spellings(claude: Claude, world: World) -> None:
    await claude.say("remember", category="learning", content="one", project="git@github.com:Acme/Widget.git")
    await claude.say("remember", category="learning", content="two", project="https://github.com/acme/widget")
    page = await world.cache.list(Filter(), limit=10)
    assert {memory.project_id for memory in page.memories} == {"github.com/acme/widget"}
    assert isinstance(await world.server().session.project(None, "github.com/ACME/widget"), Project)
