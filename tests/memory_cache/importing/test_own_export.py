"""What is exported comes back as it was, into another cache and into the same one."""

import json
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_cache import exporting, files, text_format
from memory_cache.models import Draft
from tests.memory_cache.cache_fixtures import WIDGET, opened

from .importing_help import bytes_of, reasons, state, take_in

pytestmark = pytest.mark.anyio

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
WORD = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30)
LINES = st.lists(
    st.sampled_from(["```", "````markdown", "## T", "- id: x", "", "# Memories", "text\r", "---", "\x00\x1b"])
)
BODY = st.one_of(TEXT, LINES.map("\n".join))
MOMENT = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)).map(
    lambda moment: moment.replace(tzinfo=UTC, microsecond=moment.microsecond // 1000 * 1000)
)


@st.composite
def memory_files(draw: st.DrawFn) -> bytes:
    """Memories as programs and people write them."""
    data = text_format.render(
        id=str(draw(st.uuids())),
        category=draw(st.one_of(st.sampled_from(["decision", "task"]), WORD)),
        tags=draw(st.lists(WORD, max_size=4)),
        created=draw(MOMENT),
        updated=draw(MOMENT),
        body=draw(BODY),
        project_id=draw(st.none() | st.sampled_from(["github.com/Acme/Widget", "local:~/x, y", "plain name"])),
        project_name=draw(st.none() | WORD),
        priority=draw(st.sampled_from(["high", "normal", "low"])),
        expires_at=draw(st.none() | MOMENT),
        related_to=[str(link) for link in draw(st.lists(st.uuids(), max_size=3))],
    )
    others = draw(
        st.lists(st.sampled_from(["aliases: [x, 007]", "deep:\n  a: yes\n\n  b: |\n    t\n", "list:\n- a", "why: #x"]))
    )
    return data.replace(b"\n---\n", b"".join(b"\n" + line.encode() for line in dict.fromkeys(others)) + b"\n---\n", 1)


async def _exported(stored: list[bytes], folder: Path) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
    async with opened(folder) as cache:
        await cache.database.write(
            lambda c: [files.add(c, f"memories/x/{n}.md", data) for n, data in enumerate(stored)]
        )
        exported = list(await cache.export())
        return exported, {memory["id"]: await bytes_of(cache, memory["id"]) for memory in exported}


@given(stored=st.lists(memory_files(), max_size=4), markdown=st.booleans())
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
def test_an_export_read_back_is_the_same_export(stored: list[bytes], markdown: bool) -> None:
    async def check(folder: Path) -> None:
        exported, _ = await _exported(stored, folder / "a")
        text = exporting.as_markdown(exported) if markdown else json.dumps(exported, ensure_ascii=False)
        file = folder / ("export.md" if markdown else "export.json")
        file.write_bytes(text.encode())
        async with opened(folder / "b") as cache:
            report = await take_in(cache, file, kind="export")
            assert (len(report.imported), report.skipped) == (len(exported), [])
            assert list(await cache.export()) == exported
            again = await take_in(cache, file, kind="export")
            assert (again.unchanged, again.imported, again.updated, again.skipped) == (len(exported), [], [], [])

    with tempfile.TemporaryDirectory() as name:
        anyio.run(check, Path(name))


async def test_into_the_cache_that_it_came_from_nothing_is_written(tmp_path: Path) -> None:
    async with opened(tmp_path) as cache:
        await cache.remember(Draft(content="One", category="task", project=WIDGET))
        await cache.remember(Draft(content="Two", category="task", ttl="7d"))
        before = await state(cache)
        file = tmp_path / "export.json"
        file.write_text(json.dumps(list(await cache.export())), "utf-8")
        report = await take_in(cache, file)
        assert (report.kind, report.unchanged, report.imported) == ("export", 2, [])
        assert await state(cache) == before


async def test_what_was_edited_or_forgotten_since_stays_so(tmp_path: Path) -> None:
    from memory_cache.models import Change

    async with opened(tmp_path) as cache:
        edited = (await cache.remember(Draft(content="One", category="task"))).memory.id
        gone = (await cache.remember(Draft(content="Two", category="task"))).memory.id
        file = tmp_path / "export.json"
        file.write_text(json.dumps(list(await cache.export())), "utf-8")
        await cache.update(edited, Change(content="One, edited"))
        await cache.forget(gone)
        report = await take_in(cache, file)
        assert (report.imported, report.updated, report.failures) == ([], [], 0)
        assert ["says something else" in left.reason or "deleted" in left.reason for left in report.skipped] == [
            True,
            True,
        ]
        assert (await cache.get(edited)).content == "One, edited"
        assert [memory["id"] for memory in await cache.export()] == [edited]


async def test_the_older_servers_export_is_understood(tmp_path: Path) -> None:
    file = tmp_path / "memories.json"
    old = [
        {"id": "11111111-0000-4000-8000-000000000001", "category": "decision", "tags": "a, b", "title": "T",
         "created": "2025-03-01T10:00:00.000Z", "updated": "2025-03-02T10:00:00.000Z", "content": "# T\n\nbody",
         "projectId": "user:TOKEN@github.com/u/r", "priority": "high", "relatedTo": []},
        {"category": "x", "content": 5},
        "nonsense",
        {"content": "No id", "created": 1740823200000, "tags": None, "source": "elsewhere"},
    ]  # fmt: skip
    file.write_text(json.dumps(old), "utf-8")
    async with opened(tmp_path) as cache:
        report = await take_in(cache, file)
        assert (report.kind, len(report.imported), len(report.skipped)) == ("export", 2, 2)
        memory = await cache.get("11111111")
        assert (memory.tags, memory.priority, memory.category) == (("a", "b"), "high", "decision")
        assert memory.created == datetime(2025, 3, 1, 10, tzinfo=UTC)
        assert memory.project_id == "github.com/u/r"
        without_id = next(done.id for done in report.imported if done.title == "No id")
        assert (await cache.get(without_id)).created == datetime(2025, 3, 1, 10, tzinfo=UTC)
        assert b"source: elsewhere" in await bytes_of(cache, without_id)
        for path in (tmp_path / "home").rglob("*"):
            assert not path.is_file() or b"TOKEN" not in path.read_bytes()
        assert (await take_in(cache, file)).unchanged == 2


async def test_an_id_that_comes_twice_is_two_memories(tmp_path: Path) -> None:
    one = {"id": "same", "category": "task", "content": "One", "created": "2025-03-01", "updated": "2025-03-01"}
    file = tmp_path / "export.json"
    file.write_text(json.dumps([one, {**one, "content": "Two"}]), "utf-8")
    async with opened(tmp_path) as cache:
        assert len((await take_in(cache, file)).imported) == 2
        assert {memory["content"] for memory in await cache.export()} == {"One", "Two"}
        assert (await take_in(cache, file)).unchanged == 2


async def test_a_damaged_section_of_a_markdown_export_is_named_and_the_others_are_taken(tmp_path: Path) -> None:
    async with opened(tmp_path / "a") as cache:
        for text in ("One", "Two", "Three"):
            await cache.remember(Draft(content=text, category="task"))
        text = exporting.as_markdown(await cache.export())
    file = tmp_path / "export.md"
    file.write_text(text.replace("- id: ", "id is ", 2).replace("id is ", "- id: ", 1), "utf-8")
    async with opened(tmp_path / "b") as cache:
        report = await take_in(cache, file)
        assert (report.kind, len(report.imported)) == ("export", 2)
        assert list(reasons(report).values()) == ["It is no memory as an export has it."]


async def test_broken_characters_in_json_do_not_stop_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    file.write_text(r'[{"id": "a\ud800", "category": "task", "content": "x \udfff y"}, {"id": "b", "content": "ok"}]')
    async with opened(tmp_path) as cache:
        assert len((await take_in(cache, file)).imported) == 2


async def test_an_import_is_one_change_that_undo_takes_back(tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    file.write_text(json.dumps([{"id": f"memory-{n}", "content": f"Text {n}"} for n in range(120)]), "utf-8")
    async with opened(tmp_path) as cache:
        kept = (await cache.remember(Draft(content="Mine", category="task"))).memory.id
        assert len((await take_in(cache, file)).imported) == 120
        undone = await cache.undo_last_change()
        assert (undone.action, len(undone.memories)) == ("import", 120)
        assert [memory["id"] for memory in await cache.export()] == [kept]


async def test_an_expired_memory_comes_back_expired(tmp_path: Path) -> None:
    async with opened(tmp_path / "a") as cache:
        memory = (await cache.remember(Draft(content="Old", category="task", ttl="1d"))).memory
        exported = list(await cache.export())
    file = tmp_path / "export.json"
    file.write_text(json.dumps(exported), "utf-8")

    async with opened(tmp_path / "b", clock=_Later(memory.created + timedelta(days=3))) as cache:
        await take_in(cache, file)
        assert [found.id for found in await cache.expired()] == [memory.id]


class _Later:
    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def __call__(self) -> datetime:
        return self.moment
