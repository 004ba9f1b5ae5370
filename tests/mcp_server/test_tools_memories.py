"""What the model sees when it remembers, changes, forgets and takes back."""

import re

import pytest

from tests.mcp_server.world import Claude, World, id_of


async def test_remember_names_id_project_and_what_is_special(claude: Claude) -> None:
    answer = await claude.say(
        "remember", category="decision", content="# Use WAL\n\nReaders never block.", tags=["db", "sqlite"],
        priority="high", ttl="7d",
    )  # fmt: skip
    lines = answer.splitlines()
    assert lines[0] == "Remembered: Use WAL"
    assert id_of(answer)
    assert "Category: decision" in lines
    assert any(re.fullmatch(r"Project: widget \(.+, from working directory\)", line) for line in lines)
    assert "Tags: db, sqlite" in lines
    assert "Priority: high" in lines
    assert "Expires: 2026-12-07" in lines


async def test_what_is_normal_is_not_mentioned(claude: Claude) -> None:
    answer = await claude.say("remember", category="learning", content="Plain")
    assert "Priority" not in answer
    assert "Expires" not in answer
    assert "Tags" not in answer


async def test_a_global_memory_says_so(claude: Claude) -> None:
    answer = await claude.say("remember", category="preference", content="Dark mode", global_=True)
    assert "Project: global" in answer.splitlines()


async def test_remember_links_to_the_whole_memory(claude: Claude) -> None:
    result = await claude.call("remember", category="learning", content="Linked")
    assert [block.type for block in result.content] == ["text", "resource_link"]
    assert str(result.content[1].uri) == f"memory://{id_of(result.content[0].text)}"


async def test_a_title_is_put_above_the_content(claude: Claude, world: World) -> None:
    memory_id = await claude.remember("Readers never block.", title="Use WAL")
    memory = await world.cache.get(memory_id)
    assert memory.title == "Use WAL"
    assert memory.content.endswith("Readers never block.")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"category": "x"}, ["content is required", "remember"]),
        ({"content": "x"}, ["category is required"]),
        ({"category": "x", "content": ""}, ["empty"]),
        ({"category": "x", "content": "   \n"}, ["empty"]),
        ({"category": "../../x", "content": "x"}, ["category"]),
        ({"category": "", "content": "x"}, ["category"]),
        ({"category": "x", "content": "x", "ttl": "0d"}, ["0d", "1d"]),
        ({"category": "x", "content": "x", "ttl": "-3d"}, ["-3d"]),
        ({"category": "x", "content": "x", "ttl": "99999y"}, ["99999y"]),
        ({"category": "x", "content": "x", "ttl": "soon"}, ["soon"]),
        ({"category": "x", "content": "x", "priority": "urgent"}, ["priority", "'high', 'normal' or 'low'"]),
        ({"category": "x", "content": "x", "projct": "y"}, ["no argument 'projct'", "Did you mean project"]),
        ({"category": "x", "content": "x", "tags": 5}, ["tags"]),
        ({"category": "x", "content": "x", "global": True, "project": "y"}, ["either global or of one project"]),
        ({"category": "x", "content": "x", "project": "/no/such/dir"}, ["/no/such/dir"]),
        ({"category": "x", "content": "<private>all</private>"}, ["Nothing was stored"]),
    ],
)
async def test_bad_input_stores_nothing_and_says_what_would_do(
    claude: Claude, world: World, arguments: dict[str, object], says: list[str]
) -> None:
    answer = await claude.fails("remember", **arguments)
    for text in says:
        assert text in answer
    assert "Traceback" not in answer
    assert "pydantic" not in answer
    assert (await world.cache.status()).memories == 0


async def test_tags_given_as_text_are_a_list(claude: Claude, world: World) -> None:
    one = await claude.remember("a", tags="db, sqlite")
    two = await claude.remember("b", tags='["db", "sqlite"]')
    for memory_id in (one, two):
        assert (await world.cache.get(memory_id)).tags == ("db", "sqlite")
    assert "[db, sqlite]" in await claude.say("list")


async def test_private_parts_are_stored_nowhere(claude: Claude, world: World) -> None:
    memory_id = await claude.remember("The host is a.example. <PRIVATE >hunter2</private> Port 22.")
    assert "hunter2" not in (await world.cache.get(memory_id)).content
    dump = await world.cache.database.read(lambda c: "\n".join(map(str, c.iterdump())))
    assert "hunter2" not in dump


async def test_a_secret_is_pointed_out_by_its_name_not_by_its_text(claude: Claude) -> None:
    key = "AKIA" + "ABCDEFGHIJKLMNOP"
    answer = await claude.say("remember", category="learning", content=f"The key is {key}")
    assert "Note:" in answer
    assert key not in answer.split("ID:")[1]


async def test_update_changes_what_is_given_and_keeps_the_rest(claude: Claude, world: World) -> None:
    memory_id = await claude.remember("# Old\n\nText", category="decision", tags=["a"], ttl="7d")
    answer = await claude.say("update", id=memory_id[:8], content="# New\n\nOther", priority="low", ttl="none")
    assert answer.splitlines()[0] == "Updated content, priority, ttl: New"
    assert id_of(answer) == memory_id
    memory = await world.cache.get(memory_id)
    assert (memory.title, memory.category, memory.tags, memory.priority) == ("New", "decision", ("a",), "low")
    assert memory.expires_at is None


async def test_update_can_empty_the_tags_and_make_global(claude: Claude, world: World) -> None:
    memory_id = await claude.remember("text", tags=["a"])
    await claude.say("update", id=memory_id, tags=[], global_=True)
    memory = await world.cache.get(memory_id)
    assert memory.tags == ()
    assert memory.project_id is None


async def test_update_without_a_change_is_an_error(claude: Claude) -> None:
    memory_id = await claude.remember("text")
    assert "update needs something to change" in await claude.fails("update", id=memory_id)


@pytest.mark.parametrize("tool", ["update", "forget", "restore", "history", "get_related"])
async def test_ids_that_name_no_single_memory(claude: Claude, tool: str) -> None:
    more = {"title": "x"} if tool == "update" else {}
    await claude.remember("text")
    assert "too short" in await claude.fails(tool, id="ab", **more)
    assert "empty" in await claude.fails(tool, id="", **more)
    for wanted in ("ffffffff-0000-4000-8000-000000000000", "f" * 100_000):
        unknown = await claude.fails(tool, id=wanted, **more)
        assert "list or recall" in unknown or "trash" in unknown


async def test_an_ambiguous_prefix_names_the_candidates(claude: Claude, world: World) -> None:
    ids = iter(["12345678-0000-4000-8000-000000000001", "12345678-0000-4000-8000-000000000002"])
    world.cache._new_id = lambda: next(ids)
    await claude.remember("first of two")
    await claude.remember("second of two")
    answer = await claude.fails("forget", id="1234")
    assert "first of two" in answer
    assert "second of two" in answer
    assert (await world.cache.status()).memories == 2


async def test_forget_names_the_title_and_restore_brings_it_back(claude: Claude, world: World) -> None:
    memory_id = await claude.remember("# Wrong idea\n\nText")
    answer = await claude.say("forget", id=memory_id)
    assert answer.startswith("Forgotten: Wrong idea")
    assert "30 days" in answer
    assert "No memories found" in await claude.say("recall", query="wrong idea")
    again = await claude.fails("forget", id=memory_id)
    assert "trash" in again
    assert "restore brings it back" in await claude.fails("update", id=memory_id[:8], title="x")
    assert "restore" in again
    assert "Restored: Wrong idea" in await claude.say("restore", id=memory_id)
    assert (await world.cache.get(memory_id)).content == "# Wrong idea\n\nText"


async def test_history_shows_earlier_texts_and_restore_takes_one(claude: Claude, world: World) -> None:
    memory_id = await claude.remember("first text")
    await claude.say("update", id=memory_id, content="second text")
    shown = await claude.say("history", id=memory_id)
    assert "1 earlier version" in shown
    assert "first text" in shown
    revision = int(re.search(r"Revision (\d+)", shown)[1])
    await claude.say("restore", id=memory_id, revision=revision)
    assert (await world.cache.get(memory_id)).content == "first text"
    assert "revision" in await claude.fails("restore", id=memory_id, revision=99999)


async def test_history_of_an_unchanged_memory(claude: Claude) -> None:
    memory_id = await claude.remember("only text")
    assert "No earlier versions" in await claude.say("history", id=memory_id)


async def test_undo_takes_back_a_forget_and_an_update(claude: Claude, world: World) -> None:
    memory_id = await claude.remember("first text")
    await claude.say("update", id=memory_id, content="second text")
    await claude.say("forget", id=memory_id)
    assert "Undone: forget" in await claude.say("undo_last_change")
    assert (await world.cache.get(memory_id)).content == "second text"
    assert "Undone: update" in await claude.say("undo_last_change")
    assert (await world.cache.get(memory_id)).content == "first text"


async def test_undo_takes_back_a_remember_and_then_says_that_there_is_nothing(claude: Claude, world: World) -> None:
    await claude.remember("text")
    assert "Undone: remember" in await claude.say("undo_last_change")
    assert (await world.cache.status()).memories == 0
    assert "no change to undo" in await claude.fails("undo_last_change")
