"""Tools that touch many memories at once: they show first, match strictly, and can be taken back."""

import itertools
import re

import pytest

from tests.mcp_server.world import Claude, World, id_of


async def alive(world: World) -> set[str]:
    return {memory.title for memory in (await world.cache.list(world.everything(), limit=200)).memories}


async def test_cleanup_moves_expired_ones_to_the_trash(claude: Claude, world: World) -> None:
    await claude.remember("stays")
    await claude.remember("goes", ttl="1d")
    assert await claude.say("cleanup") == "No memory is expired."
    world.clock.pass_days(2)
    shown = await claude.say("cleanup", dryRun=True)
    assert "1 expired memory:" in shown
    assert "goes" in shown
    assert "Nothing was changed" in shown
    assert await alive(world) == {"stays", "goes"}
    assert "1 expired memory moved to the trash" in await claude.say("cleanup")
    assert await alive(world) == {"stays"}


async def test_batch_tag_adds_and_removes(claude: Claude, world: World) -> None:
    one = await claude.remember("sqlite in WAL mode", category="decision")
    other = await claude.remember("postgres in a container", category="learning")
    assert "1 memory would get the tag db" in await claude.say("batch_tag", tag="db", query="SQLITE mode", dryRun=True)
    assert (await world.cache.get(one)).tags == ()
    assert "1 memory got the tag db" in await claude.say("batch_tag", tag="db", query="sqlite")
    assert "1 memory got the tag db" in await claude.say("batch_tag", tag="db")
    assert "No memory to change" in await claude.say("batch_tag", tag="db")
    assert {(await world.cache.get(memory_id)).tags for memory_id in (one, other)} == {("db",)}
    assert "1 memory lost the tag db" in await claude.say(
        "batch_tag", tag="db", operation="remove", category="decision"
    )
    assert (await world.cache.get(one)).tags == ()
    await claude.say("undo_last_change")
    assert (await world.cache.get(one)).tags == ("db",)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"tag": ""}, "tag"), ({}, "tag is required"), ({"tag": "x", "query": " "}, "query is empty"),
        ({"tag": "x", "operation": "drop"}, "'add' or 'remove'"),
    ],
)  # fmt: skip
async def test_batch_tag_errors(claude: Claude, arguments: dict[str, str], says: str) -> None:
    assert says in await claude.fails("batch_tag", **arguments)


async def test_batch_delete_shows_first_and_deletes_only_when_told_to(claude: Claude, world: World) -> None:
    await claude.remember("alpha draft", category="task")
    await claude.remember("beta final", category="task")
    await claude.remember("gamma draft", category="decision")
    shown = await claude.say("batch_delete", category="task", query="draft")
    assert "1 memory would go to the trash" in shown
    assert "alpha draft" in shown
    assert "dryRun=false" in shown
    assert len(await alive(world)) == 3
    done = await claude.say("batch_delete", category="task", query="draft", dryRun=False)
    assert "1 memory moved to the trash" in done
    assert await alive(world) == {"beta final", "gamma draft"}
    await claude.say("undo_last_change")
    assert len(await alive(world)) == 3


async def test_batch_delete_by_staleness_and_expiry(claude: Claude, world: World) -> None:
    await claude.remember("old")
    await claude.remember("kept by its expiry", ttl="1y")
    await claude.remember("over", ttl="2d")
    world.clock.pass_days(100)
    await claude.remember("fresh")
    assert "old" in await claude.say("batch_delete", stale=True, dryRun=False)
    assert "over" in await claude.say("batch_delete", expired=True, dryRun=False)
    assert await alive(world) == {"kept by its expiry", "fresh"}


async def test_batch_delete_without_a_condition_or_a_match(claude: Claude, world: World) -> None:
    await claude.remember("important", priority="high")
    assert "at least one of category, expired, stale or query" in await claude.fails("batch_delete")
    assert "at least one" in await claude.fails("batch_delete", dryRun=False)
    assert "query is empty" in await claude.fails("batch_delete", query="  ", dryRun=False)
    assert "No memory meets" in await claude.say("batch_delete", query="nonsense", dryRun=False)
    assert await alive(world) == {"important"}


async def test_links_go_both_ways_and_end(claude: Claude) -> None:
    one, other = await claude.remember("# One"), await claude.remember("# Other")
    assert (
        await claude.say("link_memories", id1=one, id2=other[:8]) == f"Linked: `{one[:8]}` One and `{other[:8]}` Other"
    )
    for near, far in ((one, other), (other, one)):
        answer = await claude.say("get_related", id=near)
        assert "1 memory related" in answer
        assert f"`{far[:8]}`" in answer
    assert "No longer linked" in await claude.say("link_memories", id1=one, id2=other, operation="unlink")
    assert "Nothing is linked" in await claude.say("get_related", id=one)
    assert "itself" in await claude.fails("link_memories", id1=one, id2=one)


async def test_related_to_a_depth(claude: Claude) -> None:
    ids = [await claude.remember(f"# Node {number}") for number in range(4)]
    for one, other in itertools.pairwise(ids):
        await claude.say("link_memories", id1=one, id2=other)
    assert "1 memory related" in await claude.say("get_related", id=ids[0])
    answer = await claude.say("get_related", id=ids[0], depth=3)
    assert "3 memories related" in answer
    assert "Node 3 — widget (3 links away)" in answer
    assert "depth" in await claude.fails("get_related", id=ids[0], depth=0)


async def test_merge_unites_and_can_be_taken_back(claude: Claude, world: World) -> None:
    one = await claude.remember("# Port\n\nIt is 3001.", tags=["a"])
    other = await claude.remember("# Port in dev\n\nIt is 3002.", tags=["b"])
    third = await claude.remember("# Refers")
    await claude.say("link_memories", id1=third, id2=other)
    answer = await claude.say("merge_memories", ids=[one, other], title="Ports")
    assert "Merged 2 memories into: Ports" in answer
    assert id_of(answer) == one
    memory = await world.cache.get(one)
    assert memory.tags == ("a", "b")
    for text in ("It is 3001.", "It is 3002.", "## Port in dev"):
        assert text in memory.content
    assert one in (await world.cache.get(third)).related_to
    await claude.say("undo_last_change")
    assert (await world.cache.get(other)).content == "# Port in dev\n\nIt is 3002."
    assert (await world.cache.get(one)).content == "# Port\n\nIt is 3001."


async def test_merge_errors(claude: Claude, world: World) -> None:
    one = await claude.remember("# One")
    assert "two" in await claude.fails("merge_memories", ids=[one])
    assert "itself" in await claude.fails("merge_memories", ids=[one, one])
    assert "itself" in await claude.fails("merge_memories", ids=[one, one[:8]])
    assert "No memory has the id" in await claude.fails("merge_memories", ids=[one, "ffffffff"])
    assert await alive(world) == {"One"}


async def test_the_graph_is_mermaid_with_each_link_once(claude: Claude) -> None:
    one = await claude.remember('# A "quoted" [title] (x) {y} <b> & `c`; #1 | \\ end')
    other = await claude.remember("# Other")
    assert "No memories are linked yet" in await claude.say("visualize_graph")
    await claude.say("link_memories", id1=one, id2=other)
    for arguments in ({}, {"fromId": one[:8]}, {"fromId": other, "depth": 1}):
        answer = await claude.say("visualize_graph", **arguments)
        assert "2 memories, 1 link." in answer
        diagram = answer.split("```mermaid\n")[1].split("\n```")[0].splitlines()
        assert diagram[0] == "graph LR"
        assert len([line for line in diagram if "---" in line]) == 1
        for line in diagram[1:3]:
            assert re.fullmatch(r'  m\d\["[^"\[\]{}()<>&`|\\]*"\]', line), line
    assert "No memory has the id" in await claude.fails("visualize_graph", fromId="ffffffff")
    assert "depth" in await claude.fails("visualize_graph", depth=99)
