"""The memory of a device through its facade: remember, find, change, forget, restore; nothing is ever lost."""

from datetime import timedelta
from pathlib import Path

import anyio
import pytest

from memory_cache.cache import MemoryCache
from memory_cache.errors import AmbiguousId, InvalidInput, MemoryCacheError, UnknownMemory
from memory_cache.models import Change, Draft, Filter, Scope
from memory_cache.settings import PrivacySettings, Settings

from .cache_fixtures import GADGET, WIDGET, bytes_of, opened, put, remember
from .store import Clock, memory_file

pytestmark = pytest.mark.anyio


async def test_a_memory_comes_back_as_it_was_given(cache: MemoryCache) -> None:
    memory = await remember(
        cache,
        "# Port\n\nThe server listens on 3001.\n",
        tags=(" Server ", "server", "web"),
        project=WIDGET,
        priority="high",
        ttl="7d",
    )
    found = await cache.get(memory.id)
    assert found == memory
    assert found.title == "Port"
    assert found.content == "# Port\n\nThe server listens on 3001."
    assert found.tags == ("Server", "web")
    assert (found.project_id, found.project_name, found.priority) == (WIDGET.id, "widget", "high")
    assert found.expires_at == found.created + timedelta(days=7)
    assert found.path.startswith("memories/learning/2026-03-01-port-")


async def test_same_title_category_and_day_never_overwrite(cache: MemoryCache) -> None:
    for _ in range(5):
        await remember(cache, "# Same\n\nbody")
    page = await cache.list(Filter())
    assert len({memory.path for memory in page.memories}) == len({memory.id for memory in page.memories}) == 5


async def test_ids_that_begin_alike_still_get_files_of_their_own(tmp_path: Path) -> None:
    from memory_cache.cache import open_cache
    from memory_cache.home import Home

    numbers = iter(range(100))
    async with open_cache(
        Home(tmp_path), Settings(), now=Clock(), new_id=lambda: f"00000000-0000-4000-8000-{next(numbers):012}"
    ) as cache:
        paths = {(await remember(cache, "Same")).path for _ in range(4)}
    assert len(paths) == 4


@pytest.mark.parametrize("title", ["短い題", "Кофе", "★★★", "CON", "../../x", "a" * 300])
async def test_any_title_gets_its_own_legal_file(cache: MemoryCache, title: str) -> None:
    first, second = await remember(cache, title), await remember(cache, title)
    assert first.path != second.path
    assert ".." not in first.path


@pytest.mark.parametrize(
    "draft",
    [
        {"content": ""},
        {"content": " \n "},
        {"content": "<private>all of it</private>"},
        {"content": "x" * 1_000_001},
        {"content": "x", "category": "../../x"},
        {"content": "x", "category": ""},
        {"content": "x", "ttl": "0d"},
        {"content": "x", "ttl": "-1d"},
        {"content": "x", "title": " # "},
        {"content": "x", "tags": ("t" * 200,)},
    ],
)
async def test_what_cannot_be_stored_is_refused_with_a_hint_and_nothing_is_stored(
    cache: MemoryCache, draft: dict[str, object]
) -> None:
    with pytest.raises(InvalidInput) as error:
        await remember(cache, **{"category": "task", **draft})  # type: ignore[arg-type]
    assert error.value.hint
    assert (await cache.status()).memories == 0


async def test_front_matter_inside_the_content_stays_text(cache: MemoryCache) -> None:
    body = "---\nid: stolen\ncategory: decision\n---\nbody"
    memory = await remember(cache, body)
    assert memory.content == body
    assert memory.id != "stolen"
    assert (await cache.get(memory.id)).category == "learning"


async def test_private_parts_never_reach_the_file(cache: MemoryCache) -> None:
    memory = await remember(cache, "Public <private>hidden words</private> end")
    changed = await cache.update(memory.id, Change(content="New <private>other hidden</private> text"))
    assert b"hidden" not in await bytes_of(cache, changed)
    assert "hidden" not in str(await cache.history(memory.id))


async def test_private_parts_of_titles_and_tags_never_reach_the_file(cache: MemoryCache) -> None:
    memory = await remember(
        cache, "Of the shed", title="Door <private>SECRET</private> code", tags=("a<private>SECRET</private>b",)
    )
    assert (memory.title, memory.tags) == ("Door code", ("ab",))
    change = Change(title="<private>SECRET</private>Gate", add_tags=("<private>SECRET",))
    changed = await cache.update(memory.id, change)
    assert (changed.title, changed.tags) == ("Gate", ("ab",))
    assert b"SECRET" not in await bytes_of(cache, changed)


async def test_secrets_are_pointed_out_or_refused_as_the_settings_say(tmp_path: Path) -> None:
    secret = "key: ghp_" + "a1B2" * 9
    async with opened(tmp_path / "a") as cache:
        assert (await cache.remember(Draft(content=secret, category="task"))).warnings
    strict = Settings(privacy=PrivacySettings(secrets="refuse"))
    async with opened(tmp_path / "b", settings=strict) as cache:
        with pytest.raises(InvalidInput, match="secret"):
            await remember(cache, secret)
        memory = await remember(cache, "harmless")
        with pytest.raises(InvalidInput, match="secret"):
            await cache.update(memory.id, Change(content=secret))


async def test_a_title_is_put_above_a_text_and_replaced_alone(cache: MemoryCache) -> None:
    memory = await remember(cache, "# Old heading\n\ntext", title="First")
    assert memory.content == "# First\n\n# Old heading\n\ntext"
    memory = await cache.update(memory.id, Change(title="Second"))
    assert memory.content == "# Second\n\n# Old heading\n\ntext"
    plain = await remember(cache, "plain text")
    assert (await cache.update(plain.id, Change(title="Named"))).content == "# Named\n\nplain text"


@pytest.mark.parametrize("text", ["", "   ", "ab", "abc"])
async def test_an_empty_or_short_id_is_an_error_for_every_call_and_touches_nothing(
    cache: MemoryCache, text: str
) -> None:
    await remember(cache)
    for call in (
        cache.get(text),
        cache.forget(text),
        cache.update(text, Change(content="x")),
        cache.restore(text),
        cache.history(text),
        cache.related(text),
        cache.link(text, text),
        cache.merge([text, text]),
    ):
        with pytest.raises(InvalidInput):
            await call
    assert (await cache.status()).memories == 1


async def test_prefixes_find_one_and_name_candidates_otherwise(cache: MemoryCache) -> None:
    await put(cache, "memories/a.md", memory_file("abcd1111", "First one"))
    await put(cache, "memories/b.md", memory_file("abcd2222", "Second one"))
    assert (await cache.get("abcd1")).title == "First one"
    with pytest.raises(AmbiguousId, match=r"abcd1111 \(First one\); abcd2222"):
        await cache.get("abcd")
    with pytest.raises(UnknownMemory) as error:
        await cache.get("abcdffff")
    assert "abcd1111" in error.value.hint
    with pytest.raises(UnknownMemory):
        await cache.get("a%c_")
    with pytest.raises(InvalidInput):
        await cache.get("\ud800\ud800\ud800\ud800")
    assert (await remember(cache, "broken \ud800 text", title="\udfff title", tags=("\ud800x",))).id


async def test_an_update_touches_only_what_it_changes_in_a_hand_made_file(cache: MemoryCache) -> None:
    data = (
        b"\xef\xbb\xbf---\r\n# my notes\r\nid:   hand0001\r\ntags: [ 007, yes ]  # both\r\nmine: 'kept'\r\n"
        b"created: 2024-01-02\r\n---\r\n# Title\r\n\r\nline one\r\n"
    )
    await put(cache, "memories/by hand.md", data)
    changed = await cache.update("hand0001", Change(priority="high"))
    assert changed.tags == ("007", "yes")
    after = await bytes_of(cache, changed)
    kept = [line for line in data.split(b"\r\n") if line not in after.split(b"\r\n")]
    assert kept == []
    added = [line for line in after.split(b"\r\n") if line not in data.split(b"\r\n")]
    assert len(added) == 2, "priority and updated"


async def test_each_field_can_be_changed_alone(cache: MemoryCache) -> None:
    memory = await remember(cache, "Text", tags=("a", "B"), project=WIDGET, ttl="7d")
    assert (await cache.update(memory.id, Change(tags=("x",)))).tags == ("x",)
    assert (await cache.update(memory.id, Change(add_tags=("Y", "X"), remove_tags=("nothing",)))).tags == ("x", "Y")
    assert (await cache.update(memory.id, Change(remove_tags=("X",)))).tags == ("Y",)
    assert (await cache.update(memory.id, Change(category="Decision"))).category == "decision"
    assert (await cache.update(memory.id, Change(priority="low"))).priority == "low"
    assert (await cache.update(memory.id, Change(priority="normal"))).priority == "normal"
    assert (await cache.update(memory.id, Change(ttl="none"))).expires_at is None
    assert (await cache.update(memory.id, Change(ttl="1y"))).expires_at is not None
    assert (await cache.update(memory.id, Change(make_global=True))).project_id is None
    after = await cache.update(memory.id, Change(content="Other"))
    assert (after.content, after.path, after.created) == ("Other", memory.path, memory.created)
    for wrong in (Change(), Change(content=" "), Change(ttl="x"), Change(category="a/b")):
        with pytest.raises(InvalidInput):
            await cache.update(memory.id, wrong)


async def test_a_change_that_changes_nothing_is_none(cache: MemoryCache) -> None:
    memory = await remember(cache, "Text", tags=("a",))
    assert await cache.update(memory.id, Change(content="Text", tags=("a",), priority="normal")) == memory
    assert await cache.history(memory.id) == []


async def test_updated_grows_even_when_the_clock_goes_backwards(cache: MemoryCache, clock: Clock) -> None:
    memory = await remember(cache)
    clock.forward(days=-400)
    seen = [memory.updated]
    for number in range(3):
        seen.append((await cache.update(memory.id, Change(content=f"v{number}"))).updated)
    assert seen == sorted(set(seen))


async def test_pages_go_through_all_memories_once_whatever_is_written_meanwhile(
    cache: MemoryCache, clock: Clock
) -> None:
    ids = [(await remember(cache, f"number {n}")).id for n in range(25)]
    seen: list[str] = []
    cursor, more = None, 25
    while True:
        page = await cache.list(Filter(), limit=10, cursor=cursor)
        assert page.more == more - len(page.memories)
        more = page.more
        seen += [memory.id for memory in page.memories]
        cursor = page.cursor
        if cursor is None:
            break
        await remember(cache, "written meanwhile")
    assert seen == ids[::-1]
    for wrong in ("x", "{}", "WyIxIl0", "é"):
        with pytest.raises(InvalidInput, match="cursor"):
            await cache.list(Filter(), cursor=wrong)
    with pytest.raises(InvalidInput):
        await cache.list(Filter(), limit=0)


async def test_filters_hold_before_the_limit(cache: MemoryCache) -> None:
    wanted = await remember(cache, "global decision", category="decision", tags=("Ünï",))
    mine = await remember(cache, "mine", category="decision", project=WIDGET)
    for number in range(20):
        await remember(cache, f"other {number}", project=GADGET, category="task")

    async def ids(filter_: Filter) -> list[str]:
        return [memory.id for memory in (await cache.list(filter_, limit=2)).memories]

    assert await ids(Filter(scope=Scope(project_key=WIDGET.key))) == [mine.id, wanted.id]
    assert await ids(Filter(scope=Scope(project_key=WIDGET.key, with_global=False))) == [mine.id]
    assert await ids(Filter(scope=Scope())) == [wanted.id]
    assert await ids(Filter(category="decision")) == [mine.id, wanted.id]
    assert await ids(Filter(tags=("ünï",))) == [wanted.id]
    assert await ids(Filter(updated_before=mine.updated)) == [wanted.id]
    page = await cache.list(Filter(category="task"), limit=2)
    assert page.more == 18


async def test_recall_finds_words_of_the_body_and_high_priority_alone_matches_nothing(cache: MemoryCache) -> None:
    await remember(cache, "Urgent but unrelated", priority="high")
    hidden = await remember(cache, "# Title\n\n" + "filler " * 100 + "the quokka sleeps")
    hits, _ = await cache.recall("quokka", filter=Filter())
    assert hits[0].memory.id == hidden.id
    assert await cache.recall("xyzzyplugh", filter=Filter()) == ([], 0)
    latest, more = await cache.recall("  ", filter=Filter(), limit=1)
    assert (latest[0].memory.id, more) == (hidden.id, 1)
    with pytest.raises(InvalidInput):
        await cache.recall("x", filter=Filter(), limit=0)


async def test_a_new_memory_is_found_at_once_and_a_forgotten_one_no_more(cache: MemoryCache) -> None:
    memory = await remember(cache, "the wombat digs")
    assert len((await cache.recall("wombat", filter=Filter()))[0]) == 1
    await cache.update(memory.id, Change(content="the numbat digs"))
    assert (await cache.recall("wombat", filter=Filter()))[0] == []
    await cache.forget(memory.id)
    assert (await cache.recall("numbat", filter=Filter()))[0] == []
    await cache.restore(memory.id)
    assert len((await cache.recall("numbat", filter=Filter()))[0]) == 1


async def test_export_holds_every_memory_whole(cache: MemoryCache, clock: Clock) -> None:
    one = await remember(cache, "one", project=WIDGET, tags=("a",), ttl="1d")
    two = await remember(cache, "two", related_to=(one.id[:8],))
    clock.forward(days=2)
    exported = await cache.export()
    assert exported == [cache.as_json(one), cache.as_json(two)]
    assert exported[0]["projectId"] == WIDGET.id
    assert exported[0]["expiresAt"].endswith("Z")
    assert exported[1]["relatedTo"] == [one.id]
    assert "expiresAt" not in exported[1]
    assert await cache.export("task") == []


async def test_statistics_and_status_count_what_is_there(cache: MemoryCache, clock: Clock) -> None:
    one = await remember(cache, "one", tags=("A",), project=WIDGET, priority="high")
    two = await remember(cache, "two", category="task", tags=("a", "b"))
    await cache.link(one.id, two.id)
    await remember(cache, "three")
    gone = await remember(cache, "four")
    await cache.link(gone.id, two.id)
    await cache.forget(gone.id)
    counts = await cache.statistics()
    assert counts.by_category == {"learning": 2, "task": 1}
    assert counts.by_project == {"": 2, "widget": 1}
    assert counts.by_priority == {"normal": 2, "high": 1}
    assert counts.by_tag == {"A": 2, "b": 1}
    assert (counts.links, counts.unlinked, counts.dangling, counts.trash) == (1, 1, 1, 1)
    assert counts.updated_within == {7: 3, 30: 3, 90: 3, 365: 3}
    clock.forward(days=91)
    assert (await cache.statistics()).stale == 3
    status = await cache.status()
    assert (status.memories, status.pending, status.trash) == (3, 3, 1)
    assert status.device_id
    assert status.device_name


async def test_twenty_at_once_in_one_process_are_all_stored(cache: MemoryCache) -> None:
    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(remember, cache, f"parallel {number}")
    assert (await cache.status()).memories == 20


async def test_parallel_updates_of_one_memory_all_happen(cache: MemoryCache) -> None:
    memory = await remember(cache)
    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(cache.update, memory.id, Change(add_tags=(f"tag{number}",)))
    assert len((await cache.get(memory.id)).tags) == 20


async def test_a_cancelled_call_leaves_everything_usable(cache: MemoryCache) -> None:
    for number in range(20):
        with anyio.move_on_after(0.001 * number):
            await remember(cache, f"perhaps {number}")
    await remember(cache, "afterwards")
    status = await cache.status()
    assert 1 <= status.memories <= 21
    assert status.problems == 0


async def test_only_errors_of_this_room_are_raised(cache: MemoryCache) -> None:
    for call in (cache.get("nope"), cache.restore("nope"), cache.resolve_conflict("nope", keep="mine")):
        with pytest.raises(MemoryCacheError):
            await call
