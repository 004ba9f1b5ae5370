"""claude-memory-mcp: JSON and CSV of its tables, with the columns of any of its versions."""

import csv
import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memory_cache import patterns
from memory_cache.importing.placement import Placement
from tests.memory_cache.cache_fixtures import WIDGET, opened

from .importing_help import all_memories, bytes_of, reasons, take_in

pytestmark = pytest.mark.anyio

ONE, TWO, THREE = (f"{n}1111111-aaaa-4bbb-8ccc-0123456789ab" for n in "123")
ROWS: list[dict[str, Any]] = [
    {
        "id": ONE, "project_id": "widget", "memory_type": "decision", "title": "Use Postgres 16",
        "content": "Because of\n\"logical\" replication, mostly.", "tags": ["db", "a, b"], "embedding": [0.1] * 1024,
        "session_id": None, "created_at": "2026-03-29T10:00:00.123456+02:00", "expires_at": None,
        "linked_to": [TWO], "relation": "supports", "status": "open", "provenance": "user_authored", "trust_score": 0.5,
    },
    {
        "id": TWO, "project_id": "widget", "memory_type": "bug_fix", "title": "Fix", "content": "Restart it.",
        "tags": [], "created_at": "2026-03-28 09:00:00+00", "expires_at": "2999-01-01T00:00:00Z", "linked_to": [],
        "status": "open",
    },
    {
        "id": THREE, "project_id": "gadget", "memory_type": "blocker", "title": "No key", "content": "Waits for IT.",
        "tags": None, "created_at": "2026-03-27T09:00:00Z", "expires_at": None, "status": "resolved",
    },
    {
        "id": "41111111-aaaa-4bbb-8ccc-0123456789ab", "project_id": "gadget", "memory_type": "context",
        "title": "Forgotten", "content": "x", "created_at": "2026-01-01T00:00:00Z",
        "expires_at": "2026-01-02T00:00:00Z",
    },
]  # fmt: skip


def as_csv(rows: list[dict[str, Any]]) -> str:
    """As Supabase writes it: arrays in braces, nothing for NULL."""

    def cell(value: Any) -> Any:
        if isinstance(value, list) and value and isinstance(value[0], float):
            return json.dumps(value)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return "{" + ",".join(f'"{item}"' if "," in item else item for item in value) + "}"
        return json.dumps(value) if isinstance(value, list) else value

    out = io.StringIO()
    writer = csv.DictWriter(out, sorted({key for row in rows for key in row}))
    writer.writeheader()
    writer.writerows({key: cell(value) for key, value in row.items()} for row in rows)
    return out.getvalue()


def written(folder: Path, form: str, rows: list[dict[str, Any]] = ROWS) -> Path:
    path = folder / f"all_global_project_memory_rows.{'csv' if form == 'csv' else 'json'}"
    text = {
        "csv": lambda: as_csv(rows),
        "json": lambda: json.dumps(rows),
        "tables": lambda: json.dumps({"all_global_project_memory": rows, "skill_patterns": []}),
        "lines": lambda: "\n".join(map(json.dumps, rows)),
    }[form]()
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("form", ["csv", "json", "tables", "lines"])
async def test_rows_become_memories_with_dates_tags_projects_and_links(tmp_path: Path, form: str) -> None:
    async with opened(tmp_path) as cache:
        report = await take_in(cache, written(tmp_path, form))
        assert (report.kind, len(report.imported)) == ("claude-memory-mcp", 3)
        memories = await all_memories(cache)
        one = memories["Use Postgres 16"]
        assert one.id == ONE
        assert one.content == '# Use Postgres 16\n\nBecause of\n"logical" replication, mostly.'
        assert (one.category, one.tags, one.project_id) == ("decision", ("db", "a, b"), "widget")
        assert one.created == one.updated == datetime(2026, 3, 29, 8, 0, 0, 123000, tzinfo=UTC)
        assert one.related_to == (TWO,)
        assert b"relation: supports\n" in await bytes_of(cache, ONE)
        assert b"embedding" not in await bytes_of(cache, ONE)
        assert (memories["Fix"].category, memories["Fix"].tags) == ("learning", ("bug_fix",))
        assert memories["Fix"].expires_at == datetime(2999, 1, 1, tzinfo=UTC)
        assert (memories["No key"].category, set(memories["No key"].tags)) == ("project", {"resolved", "blocker"})
        assert report.plain_names == {"widget": 2, "gadget": 1}
        assert [("forgotten" in reason, where.endswith("Forgotten")) for where, reason in reasons(report).items()] == [
            (True, True)
        ]
        again = await take_in(cache, written(tmp_path, form))
        assert (again.unchanged, again.imported, again.updated) == (3, [], [])


async def test_a_plain_project_name_is_filed_where_the_user_says(tmp_path: Path) -> None:
    path = written(tmp_path, "json")
    async with opened(tmp_path) as cache:
        await take_in(cache, path)
        report = await take_in(cache, path, placement=Placement(names={"widget": WIDGET}))
        assert (len(report.updated), report.unchanged, report.imported) == (2, 1, [])
        assert (await cache.get(ONE)).project_id == WIDGET.id
        assert (await take_in(cache, path)).unchanged == 3
        assert (await cache.get(ONE)).project_id == WIDGET.id


async def test_a_plain_name_means_the_project_here_that_is_called_so(tmp_path: Path) -> None:
    from memory_cache.models import Draft

    async with opened(tmp_path) as cache:
        await cache.remember(Draft(content="Known", category="task", project=WIDGET))
        report = await take_in(cache, written(tmp_path, "json"))
        assert (await cache.get(ONE)).project_id == WIDGET.id
        assert report.plain_names == {"gadget": 1}


async def test_other_column_names_are_understood(tmp_path: Path) -> None:
    rows = [
        {"id": 7, "text": "Body", "category": "preferences", "importance": 0.9, "project": "global",
         "timestamp": 1740823200},
        {"id": 8, "body": "Other", "type": "my own kind", "importance": "2", "created": "2025-03-01", "created_at": ""},
    ]  # fmt: skip
    async with opened(tmp_path) as cache:
        report = await take_in(cache, written(tmp_path, "json", rows), kind="claude-memory-mcp")
        assert len(report.imported) == 2
        memories = await all_memories(cache)
        assert (memories["Body"].category, memories["Body"].priority, memories["Body"].project_id) == (
            "preference", "high", None,
        )  # fmt: skip
        assert memories["Body"].created == datetime(2025, 3, 1, 10, tzinfo=UTC)
        assert (memories["Other"].category, memories["Other"].priority) == ("my own kind", "low")
        assert (await take_in(cache, written(tmp_path, "json", rows), kind="claude-memory-mcp")).unchanged == 2


async def test_patterns_come_with_every_time_they_were_seen(tmp_path: Path) -> None:
    rows = [
        {
            "id": ONE, "pattern_id": "run-linter", "description": "Run the linter before every commit",
            "category": "code", "project": None, "count": 4, "first_seen": "2026-03-01T00:00:00Z",
            "last_seen": "2026-03-05T00:00:00Z", "skill_created": False,
            "examples": [{"text": "ruff check . before commit", "date": "2026-03-01T00:00:00Z"},
                         {"text": "again, in the other repo", "date": "2026-03-03T00:00:00Z"}],
        },
        {"id": TWO, "pattern_id": "x", "description": "   ", "category": "code"},
    ]  # fmt: skip
    async with opened(tmp_path) as cache:
        for form in ("json", "csv"):
            path = written(tmp_path, form, rows)
            report = await take_in(cache, path)
            assert report.kind == "claude-memory-mcp"
            assert (len(report.imported), report.unchanged) == ((1, 0) if form == "json" else (0, 1))
        (found,) = await cache.database.read(lambda c: patterns.mature(c, min_count=1))
        assert (found.count, found.category, found.mature) == (4, "code", True)
        assert found.examples == ("again, in the other repo", "ruff check . before commit")
        rows[0]["count"] = 5
        rows[0]["skill_created"] = True
        report = await take_in(cache, written(tmp_path, "json", rows))
        assert len(report.updated) == 1
        (found,) = await cache.database.read(lambda c: patterns.mature(c, min_count=1, exclude_created=False))
        assert (found.count, found.skill_at is not None) == (5, True)


async def test_a_row_without_content_is_named(tmp_path: Path) -> None:
    rows = [{"id": ONE, "memory_type": "decision", "content": None}, {"memory_type": "x", "content": "fine"}]
    async with opened(tmp_path) as cache:
        report = await take_in(cache, written(tmp_path, "json", rows))
        assert len(report.imported) == 1
        assert reasons(report) == {f"{'all_global_project_memory_rows.json'}, row 1": "It has no content."}


async def test_what_changed_in_the_source_is_updated_and_what_was_edited_here_stays(tmp_path: Path) -> None:
    from memory_cache.models import Change

    async with opened(tmp_path) as cache:
        await take_in(cache, written(tmp_path, "json"))
        await cache.link(TWO, THREE)
        await cache.update(ONE, Change(content="# Use Postgres 17"))
        changed = [{**row, "content": "Changed there."} for row in ROWS[:3]]
        report = await take_in(cache, written(tmp_path, "json", changed))
        assert {done.id for done in report.updated} == {TWO, THREE}
        assert (await cache.get(ONE)).content == "# Use Postgres 17"
        two = await cache.get(TWO)
        assert two.content == "# Fix\n\nChanged there."
        assert two.related_to == (THREE,)
        assert next(revision.content for revision in await cache.history(TWO)) == "# Fix\n\nRestart it."
        again = await take_in(cache, written(tmp_path, "json", changed))
        (reason,) = reasons(again).values()
        assert (again.unchanged, again.updated, "edited here since" in reason) == (2, [], True)
