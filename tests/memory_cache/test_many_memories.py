"""Links, merges, batches, conflicts and undo: changes that touch several memories, whole or not at all."""

import sqlite3

import pytest

from memory_cache import batch, changes, conflicts, files
from memory_cache.cache import MemoryCache
from memory_cache.conflicts import ConflictRecord
from memory_cache.errors import AmbiguousId, InvalidInput, UnknownMemory
from memory_cache.models import Change, Filter, Memory
from memory_cache.search import recall
from memory_cache.search.vectors import VectorIndex

from .cache_fixtures import WIDGET, remember
from .store import NOW, Clock, derived, memory_file

pytestmark = pytest.mark.anyio


async def contents(cache: MemoryCache) -> dict[str, bytes]:
    rows = await cache.database.read(
        lambda c: c.execute("SELECT path, content FROM files WHERE content IS NOT NULL ORDER BY path").fetchall()
    )
    return {row[0]: row[1] for row in rows}


# --- links


async def test_a_link_counts_in_both_directions_and_ends_in_both(cache: MemoryCache) -> None:
    one, two = await remember(cache, "one"), await remember(cache, "two")
    linked = await cache.link(one.id[:8], two.id[:8])
    assert [memory.related_to for memory in linked] == [(two.id,), (one.id,)]
    assert await cache.link(one.id, two.id) == linked, "linking again changes nothing"
    assert [memory.id for memory, _ in await cache.related(two.id)] == [one.id]
    after = await cache.link(two.id, one.id, unlink=True)
    assert [memory.related_to for memory in after] == [(), ()]
    assert await cache.related(one.id) == []


async def test_a_memory_is_never_linked_to_itself(cache: MemoryCache) -> None:
    memory = await remember(cache)
    with pytest.raises(InvalidInput, match="itself"):
        await cache.link(memory.id, memory.id[:8])
    with pytest.raises(InvalidInput, match="itself"):
        await cache.update(memory.id, Change(add_links=(memory.id[:8],)))


async def test_related_goes_to_a_depth_each_memory_once_at_its_nearest(cache: MemoryCache) -> None:
    chain = [await remember(cache, f"m{n}") for n in range(5)]
    for left, right in [(0, 1), (1, 2), (2, 3), (3, 4), (0, 2)]:
        await cache.link(chain[left].id, chain[right].id)
    found = {memory.title: distance for memory, distance in await cache.related(chain[0].id, depth=3)}
    assert found == {"m1": 1, "m2": 1, "m3": 2, "m4": 3}
    assert len(await cache.related(chain[0].id, depth=1)) == 2
    nodes, edges = await cache.graph()
    assert len(nodes) == len(edges) == 5
    nodes, edges = await cache.graph(chain[4].id, depth=1)
    assert {memory.title for memory in nodes} == {"m3", "m4"}
    assert len(edges) == 1
    for depth in (0, 11):
        with pytest.raises(InvalidInput):
            await cache.related(chain[0].id, depth=depth)


async def test_links_to_what_is_gone_are_unseen_and_come_back_with_it(cache: MemoryCache) -> None:
    one, two = await remember(cache, "one"), await remember(cache, "two")
    await cache.link(one.id, two.id)
    await cache.forget(two.id)
    assert await cache.related(one.id) == []
    assert await cache.graph() == ([], [])
    await cache.restore(two.id)
    assert [memory.id for memory, _ in await cache.related(one.id)] == [two.id]
    assert (await cache.update(one.id, Change(remove_links=(two.id[:8],)))).related_to == ()


# --- merge


async def test_a_merge_joins_bodies_tags_and_links_under_titles(cache: MemoryCache, clock: Clock) -> None:
    base = await remember(cache, "# Base\n\nfirst text", tags=("A", "b"), project=WIDGET, ttl="1d")
    plain = await remember(cache, "a plain line\nand more", tags=("a", "c"), priority="high")
    single = await remember(cache, "only a title")
    friend = await remember(cache, "friend")
    await cache.link(plain.id, friend.id)
    merged = await cache.merge([base.id, plain.id[:8], single.id])
    assert merged.id == base.id
    assert merged.content == (
        "# Base\n\n## Base\n\nfirst text\n\n## a plain line\n\na plain line\nand more\n\n## only a title"
    )
    assert merged.tags == ("A", "b", "c")
    assert (merged.priority, merged.expires_at, merged.project_id) == ("high", None, WIDGET.id)
    assert merged.related_to == (friend.id,)
    assert (await cache.get(friend.id)).related_to == (base.id,), "links to a merged memory point to the whole"
    assert {entry.id for entry in await cache.trash()} == {plain.id, single.id}
    assert [revision.content for revision in await cache.history(base.id)] == ["# Base\n\nfirst text"]


async def test_a_merge_may_get_a_title_of_its_own(cache: MemoryCache) -> None:
    one, two = await remember(cache, "one"), await remember(cache, "two")
    assert (await cache.merge([one.id, two.id], "Both")).title == "Both"


async def test_merging_a_memory_with_itself_deletes_nothing(cache: MemoryCache) -> None:
    memory = await remember(cache)
    before = await contents(cache)
    for ids in ([memory.id, memory.id], [memory.id, memory.id[:8]], [memory.id], []):
        with pytest.raises(InvalidInput):
            await cache.merge(ids)
    with pytest.raises(UnknownMemory):
        await cache.merge([memory.id, "unknown-id"])
    assert await contents(cache) == before


async def test_merged_memories_do_not_link_to_themselves(cache: MemoryCache) -> None:
    one, two = await remember(cache, "one"), await remember(cache, "two")
    await cache.link(one.id, two.id)
    assert (await cache.merge([one.id, two.id])).related_to == ()


# --- batches


async def test_a_tag_is_added_and_removed_on_real_matches_only(cache: MemoryCache) -> None:
    port = await remember(cache, "The Server port", tags=("x",))
    await remember(cache, "Nothing of it", priority="high")
    dry = await cache.batch_tag("New", query="server PORT", dry_run=True)
    assert [memory.id for memory in dry.memories] == [port.id]
    assert (await cache.get(port.id)).tags == ("x",)
    done = await cache.batch_tag("New", query="server PORT")
    assert [memory.tags for memory in done.memories] == [("x", "New")]
    assert (await cache.batch_tag("new", query="server port")).memories == ()
    gone = await cache.batch_tag("NEW", remove=True)
    assert [memory.tags for memory in gone.memories] == [("x",)]
    for wrong in (" ", ""):
        with pytest.raises(InvalidInput):
            await cache.batch_tag(wrong)
    with pytest.raises(InvalidInput):
        await cache.batch_tag("a", query="  ")


async def test_a_batch_names_what_it_could_not_change_and_changes_the_rest(cache: MemoryCache) -> None:
    await remember(cache)
    await cache.database.write(lambda c: files.add(c, "memories/x.md", b"---\nid: broken01\nx: : y\n---\nText\n"))
    result = await cache.batch_tag("t")
    assert (len(result.memories), len(result.skipped)) == (1, 1)


async def test_a_batch_delete_needs_a_condition_and_is_a_dry_run_unless_told(cache: MemoryCache, clock: Clock) -> None:
    old = await remember(cache, "old one", category="task")
    await remember(cache, "expiring", ttl="7d")
    with pytest.raises(InvalidInput, match="not said"):
        await cache.batch_delete(dry_run=False)
    clock.forward(days=95)
    new = await remember(cache, "new one", category="task")
    assert [m.title for m in (await cache.batch_delete(expired=True)).memories] == ["expiring"]
    assert [m.id for m in (await cache.batch_delete(stale=True)).memories] == [old.id]
    assert (await cache.batch_delete(stale=True, query="new")).memories == ()
    assert {m.id for m in (await cache.batch_delete(filter=Filter(category="task"))).memories} == {old.id, new.id}
    assert await cache.trash() == []
    await cache.batch_delete(query="ONE old", dry_run=False)
    await cache.batch_delete(expired=True, dry_run=False)
    assert {entry.title for entry in await cache.trash()} == {"old one", "expiring"}
    assert [m.id for m in (await cache.list(Filter())).memories] == [new.id]


async def test_what_was_deleted_by_the_hundred_is_never_found_again(cache: MemoryCache) -> None:
    for number in range(150):
        await remember(cache, f"quokka number {number}", tags=("marsupial",))
    result = await cache.database.write(
        lambda c: batch.delete(
            c,
            filter_=Filter(),
            query="quokka",
            expired=False,
            stale=False,
            dry_run=False,
            cause=changes.begin(c, "batch_delete", NOW),
        )
    )
    assert len(result.memories) == 150
    fresh = await remember(cache, "a wombat digs")
    searched = await cache.database.read(
        lambda c: recall.search(c, "quokka marsupial", Filter(), limit=10, now=NOW, vectors=VectorIndex())
    )
    assert searched.hits == []
    hits, _ = await cache.recall("wombat", filter=Filter())
    assert hits[0].memory.id == fresh.id
    await cache.catch_up()
    before = await cache.database.read(derived)
    await cache.rebuild()
    assert await cache.database.read(derived) == before
    await cache.undo_last_change()
    await cache.undo_last_change()
    await cache.catch_up()
    assert len((await cache.recall("quokka", filter=Filter(), limit=200))[0]) > 100


# --- conflicts


async def conflict(
    cache: MemoryCache, mine: str = "mine", theirs: str = "theirs", **fields: object
) -> tuple[Memory, str]:
    memory = await remember(cache, mine)
    record = ConflictRecord(
        memory.id, memory.path, "laptop", memory.updated, None, memory_file(memory.id, theirs, **fields)
    )
    path = conflicts.path_of(record)
    await cache.database.write(lambda c: files.add(c, path, conflicts.encode(record)))
    return memory, (await cache.conflicts())[-1].id


async def test_an_open_conflict_shows_both_versions_whole(cache: MemoryCache) -> None:
    memory, _ = await conflict(cache)
    (shown,) = await cache.conflicts()
    assert (shown.memory_id, shown.device, shown.title) == (memory.id, "laptop", "mine")
    assert shown.mine.endswith("---\nmine\n")
    assert shown.theirs.endswith("---\ntheirs\n")
    assert (await cache.status()).conflicts == 1


@pytest.mark.parametrize(
    ("keep", "content", "body"),
    [
        ("mine", None, "mine"),
        ("theirs", None, "theirs"),
        ("both", None, "mine\n\n## Other version (laptop)\n\ntheirs"),
        (None, "merged by hand", "merged by hand"),
    ],
)
async def test_a_settled_conflict_is_gone_and_both_texts_stay_in_the_history(
    cache: MemoryCache, keep: str | None, content: str | None, body: str
) -> None:
    memory, name = await conflict(cache, tags=["from-there"])
    settled = await cache.resolve_conflict(name[:6], keep=keep, content=content)  # type: ignore[arg-type]
    assert settled.content == body
    assert settled.tags == (("from-there",) if keep in ("theirs", "both") else ())
    assert await cache.conflicts() == []
    texts = {settled.content} | {revision.content for revision in await cache.history(memory.id)}
    assert {"mine", "theirs"} <= texts or keep == "both"
    assert settled.updated > memory.updated or keep == "mine"


async def test_a_merged_text_may_be_a_whole_file(cache: MemoryCache) -> None:
    memory, name = await conflict(cache)
    whole = memory_file(memory.id, "merged", tags=["new"]).decode()
    settled = await cache.resolve_conflict(name, content=whole)
    assert (settled.content, settled.tags) == ("merged", ("new",))


async def test_settling_needs_one_answer_and_a_known_conflict(cache: MemoryCache) -> None:
    memory, name = await conflict(cache)
    with pytest.raises(InvalidInput, match="not said"):
        await cache.resolve_conflict(name)
    with pytest.raises(InvalidInput, match="not said"):
        await cache.resolve_conflict(name, keep="mine", content="x")
    with pytest.raises(UnknownMemory, match="no open conflict"):
        await cache.resolve_conflict("", keep="mine")
    record = ConflictRecord(memory.id, memory.path, "", memory.updated, None, b"third")
    await cache.database.write(lambda c: files.add(c, conflicts.path_of(record), conflicts.encode(record)))
    with pytest.raises(AmbiguousId):
        await cache.resolve_conflict(memory.id[:8], keep="mine")
    assert len(await cache.conflicts()) == 2


async def test_forgetting_a_memory_ends_its_conflicts_and_keeps_their_texts(cache: MemoryCache) -> None:
    memory, _ = await conflict(cache)
    await cache.forget(memory.id)
    assert await cache.conflicts() == []
    assert [revision.content for revision in await cache.history(memory.id)] == ["theirs"]


async def test_their_version_of_a_deleted_memory_can_be_brought_back(cache: MemoryCache) -> None:
    memory, name = await conflict(cache)

    def lose(c: sqlite3.Connection) -> None:
        record = files.by_path(c, memory.path)
        assert record is not None
        files.drop(c, record.file_id)

    await cache.database.write(lose)
    with pytest.raises(InvalidInput, match="deleted"):
        await cache.resolve_conflict(name, keep="mine")
    assert (await cache.resolve_conflict(name, keep="theirs")).content == "theirs"


# --- undo


async def test_each_kind_of_change_can_be_undone_in_turn(cache: MemoryCache) -> None:
    one, two = await remember(cache, "one"), await remember(cache, "two", tags=("t",))
    before = await contents(cache)
    await cache.update(one.id, Change(content="changed"))
    assert (await cache.undo_last_change()).action == "update"
    assert (await cache.get(one.id)).content == "one"
    await cache.forget(one.id)
    await cache.undo_last_change()
    await cache.batch_tag("many")
    await cache.undo_last_change()
    await cache.merge([one.id, two.id])
    undone = await cache.undo_last_change()
    assert {memory.id for memory in undone.memories} == {one.id, two.id}
    await cache.batch_delete(filter=Filter(category="learning"), dry_run=False)
    await cache.undo_last_change()
    third = await remember(cache, "third")
    await cache.undo_last_change()
    with pytest.raises(UnknownMemory):
        await cache.get(third.id)
    now = await contents(cache)
    assert now.keys() == before.keys()
    for memory in (one, two):
        after = await cache.get(memory.id)
        assert (after.content, after.tags) == (memory.content, memory.tags)
        assert after.updated >= memory.updated
    assert str(undone).startswith("merge of ")


async def test_undo_goes_back_step_by_step_until_nothing_is_left(cache: MemoryCache) -> None:
    memory = await remember(cache, "v0")
    await cache.update(memory.id, Change(content="v1"))
    await cache.update(memory.id, Change(content="v2"))
    for expected in ("v1", "v0"):
        undone = await cache.undo_last_change()
        assert (await cache.get(memory.id)).content == expected
        assert undone.left == ()
    await cache.undo_last_change()
    with pytest.raises(UnknownMemory):
        await cache.get(memory.id)
    with pytest.raises(InvalidInput, match="no change"):
        await cache.undo_last_change()


async def test_undo_leaves_alone_what_was_changed_since(cache: MemoryCache) -> None:
    one, two = await remember(cache, "one"), await remember(cache, "two")
    await cache.batch_tag("t")

    def edited_elsewhere(c: sqlite3.Connection) -> None:
        record = files.by_path(c, one.path)
        assert record is not None
        files.write(c, record.file_id, memory_file(one.id, "edited in vim"))

    await cache.database.write(edited_elsewhere)
    undone = await cache.undo_last_change()
    assert [memory.id for memory in undone.memories] == [two.id]
    assert one.id in undone.left[0]
    assert (await cache.get(one.id)).content == "edited in vim"
