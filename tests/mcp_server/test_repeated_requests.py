"""A request that comes twice because its server was killed is carried out once and answered as it would have been."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mcp_server.conversation import REPEATED
from mcp_server.tools import DECLARED
from memory_cache import conflicts, files, requests
from memory_cache.conflicts import ConflictRecord
from memory_cache.models import Change, Draft, Memory
from memory_cache.requests import Request, serving
from tests.mcp_server.test_connection import ENVELOPE, HELLO, READY, Peer, connected
from tests.mcp_server.world import START, World

KEY = "0" * 32
Call = tuple[str, dict[str, Any]]


async def plain(world: World, title: str = "# One") -> str:
    return (await world.cache.remember(Draft(content=title, category="learning"))).memory.id


async def remembers(world: World) -> Call:
    return "remember", {"category": "learning", "content": "# New", "global": True}


async def updates(world: World) -> Call:
    return "update", {"id": await plain(world), "content": "# Changed"}


async def forgets(world: World) -> Call:
    return "forget", {"id": await plain(world)}


async def restores(world: World) -> Call:
    memory_id = await plain(world)
    await world.cache.forget(memory_id)
    return "restore", {"id": memory_id}


async def undoes(world: World) -> Call:
    memory_id = await plain(world)
    for text in ("# Two", "# Three"):
        await world.cache.update(memory_id, Change(content=text))
    return "undo_last_change", {}


async def links(world: World) -> Call:
    return "link_memories", {"id1": await plain(world), "id2": await plain(world, "# Two")}


async def merges(world: World) -> Call:
    return "merge_memories", {"ids": [await plain(world), await plain(world, "# Two")]}


async def cleans(world: World) -> Call:
    await world.cache.remember(Draft(content="# Short", category="learning", ttl="1d"))
    world.clock.pass_days(2)
    return "cleanup", {}


async def tags(world: World) -> Call:
    await plain(world)
    return "batch_tag", {"tag": "new"}


async def deletes(world: World) -> Call:
    await plain(world, "# Doomed")
    return "batch_delete", {"query": "doomed", "dryRun": False}


async def resolves(world: World) -> Call:
    memory = await world.cache.get(await plain(world, "# Mine"))
    record = ConflictRecord(memory.id, memory.path, "laptop", START, None, b"# Theirs\n")

    def add(connection: Any) -> str:
        files.add(connection, "conflicts/00000001-00000002.json", conflicts.encode(record))
        return conflicts.listed(connection)[0].id

    return "resolve_conflict", {"id": await world.cache.database.write(add), "keep": "both"}


async def notes_a_pattern(world: World) -> Call:
    return "pattern_store", {"description": "Run the tests before each commit", "category": "testing"}


async def marks_a_pattern(world: World) -> Call:
    from memory_cache import patterns

    sighting = await world.cache.database.write(
        lambda c: patterns.store(
            c, description="Run the tests first", category="x", project=None, example=None, device="a", now=START
        )
    )
    return "pattern_mark_as_skill", {"pattern_ids": [sighting.pattern.id]}


async def configures(world: World) -> Call:
    return "configure_storage", {"action": "custom", "path": str(world.project)}


CHANGING: list[Callable[[World], Awaitable[Call]]] = [
    remembers, updates, forgets, restores, undoes, links, merges, cleans, tags, deletes, resolves, notes_a_pattern,
    marks_a_pattern, configures,
]  # fmt: skip


async def state(world: World) -> Any:
    """Everything that a change could change."""
    return await world.cache.database.read(
        lambda c: [
            [tuple(row) for row in c.execute(query)]
            for query in (
                "SELECT path, content FROM files ORDER BY path",
                "SELECT memory_id, content FROM trash ORDER BY trash_id",
                "SELECT memory_id, content FROM revisions ORDER BY revision_id",
                "SELECT action, undone FROM changes ORDER BY change_id",
                "SELECT occurrence_id FROM pattern_occurrences ORDER BY 1",
            )
        ]
    )


async def asked(peer: Peer, call: Call, *, modern: bool, **meta: Any) -> dict[str, Any]:
    if not modern:
        await peer.send(HELLO)
        await peer.answer(1)
        await peer.send(READY)
    name, arguments = call
    params = {"name": name, "arguments": arguments, "_meta": {**(ENVELOPE if modern else {}), **meta}}
    await peer.send({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params})
    return (await peer.answer("a"))["result"]  # type: ignore[arg-type]


@pytest.mark.parametrize("modern", [True, False], ids=["modern", "legacy"])
@pytest.mark.parametrize("prepare", CHANGING, ids=lambda prepare: prepare.__name__)
async def test_a_call_sent_again_changes_nothing_more_and_gets_the_same_answer(
    world: World, prepare: Callable[[World], Awaitable[Call]], modern: bool
) -> None:
    call = await prepare(world)
    async with connected(world, session_key=KEY) as peer:
        first = await asked(peer, call, modern=modern)
    assert not first.get("isError"), first
    after = await state(world)
    async with connected(world, session_key=KEY) as peer:
        again = await asked(peer, call, modern=modern, **{REPEATED: True})
    assert again["content"] == first["content"]
    assert await state(world) == after


def test_every_tool_that_changes_something_is_tried_here() -> None:
    changing = {declared.name for declared in DECLARED if not declared.annotations.read_only_hint}
    assert len(changing) == len(CHANGING)


async def test_a_call_that_never_arrived_is_carried_out_when_it_is_sent_again(world: World) -> None:
    async with connected(world, session_key=KEY) as peer:
        answer = await asked(peer, await remembers(world), modern=True, **{REPEATED: True})
    assert "Remembered: New" in answer["content"][0]["text"]
    assert len((await world.cache.list(world.everything())).memories) == 1


async def test_a_server_that_is_slower_than_its_successor_changes_nothing(world: World) -> None:
    call = await remembers(world)
    for meta in ({REPEATED: True}, {}):
        async with connected(world, session_key=KEY) as peer:
            await asked(peer, call, modern=True, **meta)
    assert len((await world.cache.list(world.everything())).memories) == 1


async def test_a_client_that_uses_an_id_twice_is_taken_at_its_word(world: World) -> None:
    call = await remembers(world)
    for _ in range(2):
        async with connected(world, session_key=KEY) as peer:
            await asked(peer, call, modern=True)
    assert len((await world.cache.list(world.everything())).memories) == 2


@pytest.mark.parametrize("key", ["1" * 32, None])
async def test_requests_of_other_sessions_are_others(world: World, key: str | None) -> None:
    call = await remembers(world)
    async with connected(world, session_key=KEY) as peer:
        await asked(peer, call, modern=True)
    async with connected(world, **({"session_key": key} if key else {})) as peer:
        await asked(peer, call, modern=True, **{REPEATED: True})
    assert len((await world.cache.list(world.everything())).memories) == 2


async def test_a_failed_call_is_tried_again(world: World) -> None:
    with serving(Request("k", repeated=True)):
        memory_id = await plain(world)
        with pytest.raises(Exception, match=r"reserved|category"):
            await world.cache.update(memory_id, Change(category="../x"))
        changed = await world.cache.update(memory_id, Change(category="task"))
    assert changed.category == "task"


async def test_what_is_noted_holds_no_text_and_goes_after_an_hour_or_with_the_trash(world: World) -> None:
    async def noted() -> list[str]:
        rows = await world.cache.database.read(lambda c: c.execute("SELECT result FROM requests").fetchall())
        return [row["result"] for row in rows]

    with serving(Request("a", repeated=False)):
        await plain(world, "# Title\n\nconfidential")
    assert len(await noted()) == 1
    assert "confidential" not in (await noted())[0]
    world.clock.pass_days(0.1)
    with serving(Request("b", repeated=False)):
        await plain(world)
    assert len(await noted()) == 1
    world.clock.pass_days(31)
    await world.cache.purge_trash(30)
    assert await noted() == []


async def test_only_so_many_are_kept(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "KEPT", 3)
    for number in range(9):
        with serving(Request(str(number), repeated=False)):
            await plain(world, f"# {number}")
    kept = await world.cache.database.read(lambda c: c.execute("SELECT count(*) FROM requests").fetchone()[0])
    assert kept == 3


async def test_a_long_undo_is_answered_once_too(world: World) -> None:
    for number in range(450):
        await plain(world, f"# Note {number}")
    await world.cache.batch_tag("all")
    with serving(Request("k", repeated=True)):
        first = await world.cache.undo_last_change()
        again = await world.cache.undo_last_change()
    assert len(first.memories) == 450
    assert [memory.id for memory in again.memories] == [memory.id for memory in first.memories]
    assert isinstance(again.memories[0], Memory)
