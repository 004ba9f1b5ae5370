"""The quick way to change tags gives the very bytes of the long way, or leaves the file to it."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_cache import files, text_format
from memory_cache.cache import MemoryCache
from memory_cache.models import Draft, Filter
from memory_cache.tag_lines import retagged

from .cache_fixtures import opened
from .store import NOW, derived, memory_file

LATER = NOW + timedelta(days=1)

words = st.sampled_from(
    ["a", "b c", "007", "yes", "ünï", "x:y", "- d", "a,b", "[e]", "#f", '"g"', "null", "~", "é è", "\\"]
)
tag_lists = st.lists(words, max_size=4, unique=True)
lines = st.sampled_from(
    [
        "id: abcd1234",
        "tags: [a, b c]",
        'tags: ["a", "x:y"]',
        "tags: []",
        "tags:",
        "tags: a",
        "tags: |",
        "  - a",
        "  - b c",
        '- "007"',
        "  - 'a'",
        'updated: "2026-01-01T00:00:00.000Z"',
        "updated: 2026-01-01",
        "updated:",
        "# comment",
        "mine: value # comment",
        "other: {a: b}",
        'quoted: "begin',
        'end"',
        "key: &anchor x",
        "deep:",
        "  tags: [a]",
        "category: task",
        "projectId: github.com/acme/widget",
        "note: a: b",
        "",
        "---",
        "...",
    ]
)


def both_ways(content: bytes, wanted: list[str]) -> None:
    parsed = text_format.read(content)
    quick = retagged(content, parsed.tags, wanted, LATER)
    if quick is None or parsed.problem is not None:
        return
    assert quick == text_format.rewrite(content, set={"tags": wanted, "updated": LATER})
    after = text_format.read(quick)
    assert (after.tags, after.updated, after.body) == (tuple(wanted), LATER, parsed.body)


@given(st.lists(lines, max_size=8), tag_lists)
def test_whatever_the_front_matter_the_quick_way_gives_the_same_bytes(front: list[str], wanted: list[str]) -> None:
    both_ways("\n".join(["---", *front, "---", "body", ""]).encode(), [tag for tag in wanted if tag.strip()])


@given(tag_lists, tag_lists)
def test_files_as_this_program_writes_them_go_the_quick_way(current: list[str], wanted: list[str]) -> None:
    both_ways(memory_file("abcd1234", "Body", tags=current, project_id="github.com/a/b"), wanted)


@pytest.mark.parametrize("tags", [[], ["a"], ["two words", "ünï", "v1.2"]])
def test_plain_files_do_not_need_the_long_way(tags: list[str]) -> None:
    ours = memory_file("abcd1234", "---\nBody", tags=tags, project_id="github.com/a/b", expires_at=LATER)
    assert retagged(ours, tags, [*tags, "new"], LATER) is not None
    if tags:
        block = "".join(f"  - {tag}\n" for tag in tags)
        old = f"---\nid: x\ntags:\n{block}updated: 2024-01-01T10:00:00.000Z\n---\n\nBody\n".encode()
        assert retagged(old, tags, [*tags, "new"], LATER) is not None


@given(st.binary(max_size=80))
def test_any_bytes_are_left_alone(data: bytes) -> None:
    assert retagged(b"---\n" + data, (), ("a",), LATER) is None


@pytest.fixture
async def cache(tmp_path: Path) -> AsyncIterator[MemoryCache]:
    async with opened(tmp_path) as cache:
        yield cache


@pytest.mark.anyio
async def test_a_tag_put_on_many_is_derived_searched_kept_and_undone_as_any_change(cache: MemoryCache) -> None:
    for number in range(120):
        await cache.remember(Draft(content=f"text {number}", category="task", tags=("old",)))
    await cache.database.write(lambda c: files.add(c, "memories/x.md", b"---\nid: byhand01 # mine\n---\nhand made\n"))
    result = await cache.batch_tag("Quokka")
    assert len(result.memories) == 121
    for memory in result.memories[:3]:
        assert await cache.get(memory.id) == memory
    assert len((await cache.list(Filter(tags=("quokka",)), limit=200)).memories) == 121
    await cache.catch_up()
    hits, more = await cache.recall("quokka", filter=Filter(), limit=5)
    assert len(hits) + more > 50

    before = await cache.database.read(derived)
    await cache.rebuild()
    after = await cache.database.read(derived)
    assert after == before

    assert [revision.reason for revision in await cache.history(result.memories[0].id)] == ["batch_tag"]
    undone = await cache.undo_last_change()
    assert (len(undone.memories), undone.left) == (121, ())
    assert (await cache.list(Filter(tags=("quokka",)))).memories == ()
