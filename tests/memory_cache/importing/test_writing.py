"""The writer's promises, whatever the source: no duplicates, no overwriting, no resurrection, no secrets."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_cache import text_format
from memory_cache.cache import MemoryCache
from memory_cache.importing import writer
from memory_cache.importing.composing import Mark, compose, fingerprint
from memory_cache.importing.deciding import Fate, fate_of_note
from memory_cache.importing.placement import Placement, filed
from memory_cache.importing.records import Item, Note, Skipped
from memory_cache.importing.report import Report
from memory_cache.models import Change, Draft, Project
from memory_cache.settings import Settings
from tests.memory_cache.cache_fixtures import WIDGET, opened

from .importing_help import state

pytestmark = pytest.mark.anyio

WHEN = datetime(2026, 1, 1, tzinfo=UTC)


def note(**fields: Any) -> Note:
    return Note(**{"origin": "o", "where": "here", "body": "# Text", "created": WHEN, "updated": WHEN, **fields})


async def take(cache: MemoryCache, *items: Item, placement: Placement | None = None, dry_run: bool = False) -> Report:
    report = Report("notes", "source", dry_run)
    return await writer.store(cache, items, report, placement or Placement())


async def test_a_dry_run_says_the_same_and_writes_nothing(tmp_path: Path) -> None:
    items = [note(), note(origin="2", body="# Two"), note(origin="3", body=""), Skipped("there", "Why.", expected=True)]
    async with opened(tmp_path) as cache:
        await cache.remember(Draft(content="Here", category="task"))
        before = await state(cache)
        planned = await take(cache, *items, dry_run=True)
        assert await state(cache) == before
        done = await take(cache, *items)
        assert {**planned.as_json(), "dryRun": False} == done.as_json()
        assert [(await cache.undo_last_change()).action for _ in range(2)] == ["import", "remember"]


async def test_what_was_forgotten_does_not_come_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as cache:
        (done,) = (await take(cache, note())).imported
        await cache.forget(done.id)
        report = await take(cache, note())
        assert (report.imported, report.failures) == ([], 0)
        assert done.id in report.skipped[0].reason
        await cache.restore(done.id)
        assert (await take(cache, note())).unchanged == 1


async def test_edits_here_win_over_changes_there_and_other_fields_survive_an_update(tmp_path: Path) -> None:
    async with opened(tmp_path) as cache:
        (done,) = (await take(cache, note(tags=("a",), extra={"alias": "x"}))).imported
        assert (await take(cache, note(body="# Changed", tags=("b",)))).updated
        memory = await cache.get(done.id)
        assert (memory.content, memory.tags) == ("# Changed", ("b",))
        assert memory.updated > WHEN
        await cache.update(done.id, Change(add_tags=("mine",)))
        report = await take(cache, note(body="# Changed again"))
        assert (report.updated, len(report.skipped), report.failures) == ([], 1, 0)
        assert (await cache.get(done.id)).content == "# Changed"
        assert (await take(cache, note(body="# Changed", tags=("b",)))).unchanged == 1


async def test_a_project_given_later_files_anew_but_only_what_was_not_edited(tmp_path: Path) -> None:
    async with opened(tmp_path) as cache:
        first = (await take(cache, note(), note(origin="2", body="# Two"))).imported
        await cache.update(first[1].id, Change(content="# Two, edited"))
        report = await take(cache, note(), note(origin="2", body="# Two"), placement=Placement(project=WIDGET))
        assert [done.id for done in report.updated] == [first[0].id]
        assert [(await cache.get(done.id)).project_id for done in first] == [WIDGET.id, None]
        assert (await take(cache, note(), placement=Placement(make_global=True))).updated
        assert (await cache.get(first[0].id)).project_id is None


@pytest.mark.parametrize("policy", ["warn", "refuse", "allow"])
async def test_secrets_are_treated_as_the_settings_say(tmp_path: Path, policy: str) -> None:
    secret = "ghp_" + "a1B2" * 9
    settings = Settings.model_validate({"privacy": {"secrets": policy}})
    async with opened(tmp_path, settings=settings) as cache:
        report = await take(cache, note(body=f"# Key {secret}"))
        assert len(report.imported) == (policy != "refuse")
        told = [*report.skipped, *report.remarks]
        assert len(told) == (policy != "allow")
        assert all("GitHub token" in left.reason and secret not in left.reason for left in told)


async def test_private_parts_are_gone_everywhere(tmp_path: Path) -> None:
    private = "<private>HIDDEN</private>"
    items = [
        note(title=f"Title {private}", body=f"Open {private}", tags=(f"tag{private}",), extra={"key": f"v {private}"}),
        note(origin="2", body=f"{private}"),
        note(origin="3", body="<Private >HIDDEN without an end"),
    ]
    async with opened(tmp_path) as cache:
        report = await take(cache, *items)
        assert (len(report.imported), report.failures) == (1, 2)
        for path in (tmp_path / "home").rglob("*"):
            assert not path.is_file() or b"HIDDEN" not in path.read_bytes()


async def test_limits_are_named_and_what_is_beyond_them_is_not_cut_silently(tmp_path: Path) -> None:
    items = [
        note(body="x" * 1_000_001),
        note(origin="2", body="# Tags", tags=tuple(f"t{n}" for n in range(150))),
        note(origin="3", body="# Long tag", tags=("x" * 200, "fine")),
        note(origin="4", body="# Category", category="../../etc"),
    ]
    async with opened(tmp_path) as cache:
        report = await take(cache, *items)
        assert "1,000,001 bytes" in report.skipped[0].reason
        assert len(report.remarks) == 3
        memories = {memory["title"]: memory for memory in await cache.export()}
        assert len(memories["Tags"]["tags"]) == 100
        assert memories["Long tag"]["tags"] == ["fine"]
        assert memories["Category"]["category"] == "learning"


async def test_the_same_text_in_two_projects_belongs_to_both(tmp_path: Path) -> None:
    async with opened(tmp_path) as cache:
        await cache.remember(Draft(content="# Text", category="task"))
        report = await take(cache, note(), note(origin="2", project_id="a/b"), note(origin="3", project_id="a/b"))
        assert len(report.imported) == 1
        assert len(report.skipped) == 2
        assert report.failures == 0


async def test_sync_brings_a_marked_memory_to_another_device_which_adds_nothing_to_it(tmp_path: Path) -> None:
    from memory_cache import files

    async with opened(tmp_path / "a") as laptop, opened(tmp_path / "b") as desktop:
        (done,) = (await take(laptop, note())).imported
        data = await laptop.database.read(lambda c: c.execute("SELECT path, content FROM files").fetchone())
        await desktop.database.write(lambda c: files.add(c, data["path"], data["content"]))
        assert (await take(desktop, note())).unchanged == 1
        report = await take(desktop, note(body="# Something else under the same name"))
        assert len(report.imported) == 1
        assert (await desktop.get(done.id)).content == "# Text"


async def test_other_sessions_write_while_a_long_import_runs(tmp_path: Path) -> None:
    import anyio

    items = [note(origin=str(n), body=f"# Note {n}") for n in range(300)]
    async with opened(tmp_path) as cache, opened(tmp_path) as other:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: take(cache, *items))
            for n in range(20):
                await other.remember(Draft(content=f"Meanwhile {n}", category="task"))
        assert len(await cache.export()) == 320
        assert (await take(cache, *items)).unchanged == 300


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@given(
    body=WORDS.filter(str.strip), tags=st.lists(WORDS, max_size=3), title=st.none() | WORDS,
    priority=st.sampled_from(["high", "x"]), links=st.lists(WORDS, max_size=2),
    extra=st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), WORDS, max_size=3),
)  # fmt: skip
def test_any_note_becomes_a_file_whose_mark_fits_it(
    body: str, tags: list[str], title: str | None, priority: str, extra: dict[str, str], links: list[str]
) -> None:
    from memory_cache.errors import InvalidInput

    try:
        composed = compose(
            note(body=body, tags=tuple(tags), title=title, priority=priority, extra=extra), "notes", "id-1",
            (None, None), None, links, "device",
        )  # fmt: skip
    except InvalidInput:
        return
    parsed = text_format.read(composed.data)
    mark = Mark.of(parsed)
    assert parsed.problem is None
    assert mark is not None
    assert (mark.fingerprint, mark.kind, mark.device) == (fingerprint(parsed), "notes", "device")
    assert parsed.body == composed.body


def parsed_note(body: str, *, mark: str | None = None, device: str = "here") -> text_format.ParsedFile:
    data = text_format.render(id="a", category="task", tags=(), created=WHEN, updated=WHEN, body=body)
    if mark is not None:
        of = fingerprint(text_format.read(text_format.rewrite(data, body=mark)))
        data = text_format.rewrite(data, set={"imported": f"notes {of} {device}"})
    return text_format.read(data)


@pytest.mark.parametrize(
    ("here", "was", "there", "device", "one_source", "fate"),
    [
        (None, None, "x", "here", False, Fate.NEW),
        ("x", "x", "x", "here", False, Fate.UNCHANGED),
        ("edited", "x", "x", "here", False, Fate.UNCHANGED),  # the source has not changed: nothing to take
        ("x", "x", "y", "here", False, Fate.UPDATED),
        ("edited", "x", "y", "here", False, Fate.KEPT),
        ("y", "x", "y", "here", False, Fate.UNCHANGED),  # edited to what the source says by now
        ("x", "x", "y", "elsewhere", False, Fate.OTHER),
        ("x", "x", "y", "elsewhere", True, Fate.UPDATED),
        ("x", None, "x", "here", False, Fate.UNCHANGED),  # the same id, not by an import
        ("z", None, "x", "here", False, Fate.KEPT),
    ],
)
def test_the_table_of_fates(
    here: str | None, was: str | None, there: str, device: str, one_source: bool, fate: Fate
) -> None:
    existing = None if here is None else parsed_note(here, mark=was, device=device)
    new = parsed_note(there, mark=there)
    assert fate_of_note(existing, new, "here", (), one_source=one_source) is fate


def test_projects_are_filed_as_the_user_says_then_by_what_is_known_then_as_they_are() -> None:
    known = {"gadget": Project(id="github.com/a/gadget", key="gadget", name="Gadget")}
    nothing = Placement()
    assert filed(nothing, known, None, None) == ((None, None), None)
    assert filed(nothing, known, "Gadget", None) == (("github.com/a/gadget", "Gadget"), None)
    assert filed(nothing, known, "other", "Other") == (("other", "Other"), "other")
    assert filed(nothing, known, "https://u:SECRET@github.com/A/B.git", "B") == (("github.com/a/b", "B"), None)
    assert filed(nothing, known, "GitHub.com/A/B", None) == (("GitHub.com/A/B", None), None)
    assert filed(Placement(names={"other": WIDGET}), known, "Other", None) == ((WIDGET.id, "widget"), None)
    assert filed(Placement(project=WIDGET), known, "other", None) == ((WIDGET.id, "widget"), None)
    assert filed(Placement(make_global=True), known, "other", None) == ((None, None), None)


async def test_dates_without_a_year_to_stand_on_do_no_harm(tmp_path: Path) -> None:
    async with opened(tmp_path) as cache:
        report = await take(
            cache, note(created=None, updated=None), note(origin="2", body="# B", created=WHEN + timedelta(days=999))
        )
        assert len(report.imported) == 2
