"""Nothing is lost: what was forgotten, replaced, expired or seen deleted comes back; and all of it is bounded."""

import sqlite3

import pytest

from memory_cache import files, trash
from memory_cache.cache import MemoryCache
from memory_cache.errors import InvalidInput, UnknownMemory
from memory_cache.models import Change, Filter
from memory_cache.revisions import Cause

from .cache_fixtures import WIDGET, bytes_of, put, remember
from .store import NOW, Clock, memory_file

pytestmark = pytest.mark.anyio


async def test_a_read_only_memory_refuses_changes_but_can_be_forgotten_and_restored(cache: MemoryCache) -> None:
    data = b"---\nid: broken01\ntags: [a\nx: : y\n---\nThe text\n"
    await put(cache, "memories/broken.md", data)
    with pytest.raises(InvalidInput, match="cannot be changed") as error:
        await cache.update("broken01", Change(content="x"))
    assert "memories/broken.md" in error.value.hint
    other = await remember(cache)
    with pytest.raises(InvalidInput, match="cannot be changed"):
        await cache.link(other.id, "broken01")
    assert (await cache.get(other.id)).related_to == (), "half a link is no link"
    await cache.forget("broken01")
    back = await cache.restore("broken01")
    assert await bytes_of(cache, back) == data


async def test_forget_and_restore_bring_back_the_same_bytes(cache: MemoryCache) -> None:
    memory = await remember(cache, "# Keep\n\nme", tags=("a",), project=WIDGET)
    before = await bytes_of(cache, memory)
    assert (await cache.forget(memory.id[:8])).title == "Keep"
    with pytest.raises(UnknownMemory, match="No memory") as error:
        await cache.get(memory.id)
    assert "trash" in error.value.hint
    (entry,) = await cache.trash()
    assert (entry.id, entry.title, entry.reason, entry.content) == (memory.id, "Keep", "forget", "# Keep\n\nme")
    back = await cache.restore(memory.id[:8])
    assert back == memory
    assert await bytes_of(cache, back) == before
    assert await cache.trash() == []
    with pytest.raises(InvalidInput, match="not deleted"):
        await cache.restore(memory.id)


async def test_restore_takes_a_new_path_when_the_old_one_is_taken(cache: MemoryCache) -> None:
    memory = await remember(cache)
    before = await bytes_of(cache, memory)
    await cache.forget(memory.id)
    await put(cache, memory.path, memory_file("intruder", "Here now"))
    back = await cache.restore(memory.id)
    assert back.path != memory.path
    assert await bytes_of(cache, back) == before
    assert (await cache.get("intruder")).title == "Here now"


async def test_a_synced_memory_comes_back_before_its_delete_reached_the_storage(cache: MemoryCache) -> None:
    memory = await remember(cache)
    data = await bytes_of(cache, memory)

    def upload(c: sqlite3.Connection) -> int:
        record = files.by_path(c, memory.path)
        assert record is not None
        files.record_base(c, record.file_id, item_id="i", path=memory.path, version="v1", data=data)
        return record.file_id

    file_id = await cache.database.write(upload)
    await cache.forget(memory.id)
    assert (await cache.status()).pending == 1
    await cache.restore(memory.id)
    record = await cache.database.read(lambda c: files.get(c, file_id))
    assert record is not None
    assert not record.changed_here
    assert (await cache.status()).pending == 0


async def test_the_newest_of_two_deletions_is_restored(cache: MemoryCache) -> None:
    memory = await remember(cache, "one")
    await cache.forget(memory.id)
    await cache.restore(memory.id)
    await cache.update(memory.id, Change(content="two"))
    await cache.forget(memory.id)
    assert (await cache.restore(memory.id)).content == "two"


async def test_every_replaced_text_can_be_brought_back(cache: MemoryCache) -> None:
    memory = await remember(cache, "one", tags=("t",))
    await cache.update(memory.id, Change(content="two"))
    await cache.update(memory.id, Change(content="three", tags=()))
    history = await cache.history(memory.id)
    assert [revision.content for revision in history] == ["two", "one"]
    back = await cache.restore(memory.id, history[-1].revision)
    assert (back.content, back.tags) == ("one", ("t",))
    assert back.updated > (await cache.get(memory.id)).created
    assert [revision.content for revision in await cache.history(memory.id)] == ["three", "two", "one"]
    with pytest.raises(InvalidInput, match="no revision"):
        await cache.restore(memory.id, 999)
    other = await remember(cache, "other")
    with pytest.raises(InvalidInput, match="no revision"):
        await cache.restore(other.id, history[-1].revision)


async def test_the_history_outlives_the_memory_and_restores_from_it(cache: MemoryCache) -> None:
    memory = await remember(cache, "one")
    await cache.update(memory.id, Change(content="two"))
    await cache.forget(memory.id)
    (revision,) = await cache.history(memory.id)
    assert (await cache.restore(memory.id, revision.revision)).content == "one"


async def test_the_history_is_bounded(cache: MemoryCache) -> None:
    memory = await remember(cache, "0")
    for number in range(1, 60):
        await cache.update(memory.id, Change(content=str(number)))
    history = await cache.history(memory.id)
    assert [revision.content for revision in history] == [str(number) for number in range(58, 8, -1)]


async def test_an_expired_memory_is_hidden_from_every_query_at_once(cache: MemoryCache, clock: Clock) -> None:
    memory = await remember(cache, "Zebra", category="task", project=WIDGET, ttl="7d", tags=("zoo",))
    friend = await remember(cache, "Friend of it")
    await cache.link(memory.id, friend.id)
    clock.forward(days=8)
    assert [m.id for m in (await cache.list(Filter())).memories] == [friend.id]
    assert (await cache.recall("Zebra", filter=Filter()))[0] == []
    assert [hit.memory.id for hit in (await cache.recall(None, filter=Filter()))[0]] == [friend.id]
    assert await cache.related(friend.id) == []
    assert (await cache.graph())[1] == []
    assert all(item.memory.id != memory.id for item in (await cache.context(WIDGET)).items)
    counts = await cache.statistics()
    assert (counts.memories, counts.expired, counts.by_tag) == (1, 1, {})
    status = await cache.status()
    assert (status.memories, status.expired) == (1, 1)
    assert (await cache.get(memory.id)).id == memory.id, "by its id it is still found"
    assert [m.id for m in await cache.expired()] == [memory.id]
    assert {m.id for m in (await cache.list(Filter(with_expired=True))).memories} == {memory.id, friend.id}


async def test_expiry_moves_to_trash_after_the_grace_and_a_restored_one_stays(cache: MemoryCache, clock: Clock) -> None:
    memory = await remember(cache, ttl="1d")
    clock.forward(days=3)
    assert await cache.expire_now(7) == []
    clock.forward(days=6)
    assert [m.id for m in await cache.expire_now(7)] == [memory.id]
    assert (await cache.trash())[0].reason == "expired"
    back = await cache.restore(memory.id)
    assert back.expires_at is None
    assert await cache.expire_now(0) == []


async def test_the_trash_is_purged_by_age_with_its_history(cache: MemoryCache, clock: Clock) -> None:
    old, new = await remember(cache, "old"), await remember(cache, "new")
    await cache.update(old.id, Change(content="older"))
    await cache.forget(old.id)
    clock.forward(days=31)
    await cache.forget(new.id)
    assert await cache.purge_trash(30) == 1
    assert [entry.id for entry in await cache.trash()] == [new.id]
    clock.forward(days=100)
    await cache.purge_trash(1000)
    left = await cache.database.read(lambda c: c.execute("SELECT count(*) FROM revisions").fetchone()[0])
    assert left == 0


async def test_what_was_seen_deleted_elsewhere_can_be_restored(cache: MemoryCache) -> None:
    memory = await remember(cache, "gone there")

    def follow(c: sqlite3.Connection) -> None:
        record = files.by_path(c, memory.path)
        assert record is not None
        trash.keep(c, record.file_id, Cause("deleted elsewhere", NOW))
        files.drop(c, record.file_id)

    await cache.database.write(follow)
    assert (await cache.restore(memory.id)).content == "gone there"


async def test_a_file_that_a_person_puts_back_is_no_longer_in_the_trash(cache: MemoryCache) -> None:
    memory = await remember(cache, "# Thrown away\n\nby hand")
    data = await bytes_of(cache, memory)
    await cache.forget(memory.id)
    assert (await cache.status()).trash == 1
    await cache.database.write(lambda c: files.add(c, "memories/learning/put-back.md", data))
    assert (await cache.get(memory.id)).content == memory.content
    assert await cache.trash() == []
    assert (await cache.status()).trash == 0
    await cache.update(memory.id, Change(content="# Another text"))
    assert [entry.content for entry in await cache.trash()] == [memory.content], "what is nowhere else stays in reach"
