"""The reference memory server's graph: entities become memories, relations become links."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.memory_cache.cache_fixtures import opened

from .importing_help import all_memories, reasons, take_in

pytestmark = pytest.mark.anyio

LINES: list[Any] = [
    {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["Writes Rust", "Two\nlines"]},
    {"type": "entity", "name": "Acme", "entityType": "Decision", "observations": []},
    {"type": "relation", "from": "Ada", "to": "Acme", "relationType": "works_at"},
    {"type": "relation", "from": "Ada", "to": "Nobody", "relationType": "knows"},
    {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["Writes Rust", "Likes tea"]},
    {"type": "other"},
]


def graph_file(folder: Path, lines: list[Any] = LINES) -> Path:
    path = folder / "memory.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\nnot json\n", "utf-8")
    return path


async def test_entities_become_memories_with_links(tmp_path: Path) -> None:
    async with opened(tmp_path) as cache:
        report = await take_in(cache, graph_file(tmp_path))
        assert (report.kind, len(report.imported)) == ("server-memory", 2)
        memories = await all_memories(cache)
        ada, acme = memories["Ada"], memories["Acme"]
        assert ada.content == (
            "# Ada\n\n- Writes Rust\n- Two\n  lines\n- Likes tea\n\n## Relations\n\n- works_at: Acme"
        )
        assert (ada.category, ada.tags, ada.project_id) == ("learning", ("person",), None)
        assert (acme.category, acme.tags) == ("decision", ())
        assert [memory.id for memory, _ in await cache.related(acme.id)] == [ada.id]
        assert len(reasons(report)) == 3
        assert "Nobody" in reasons(report)["memory.jsonl, line 4"]
        again = await take_in(cache, graph_file(tmp_path))
        assert (again.unchanged, again.imported, again.updated) == (2, [], [])


async def test_the_answer_of_read_graph_is_understood_too(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text(json.dumps({"entities": LINES[:2], "relations": LINES[2:3]}, indent=2), "utf-8")
    async with opened(tmp_path) as cache:
        report = await take_in(cache, path)
        assert (report.kind, len(report.imported), report.skipped) == ("server-memory", 2, [])


async def test_new_observations_come_in_with_the_next_import(tmp_path: Path) -> None:
    async with opened(tmp_path) as cache:
        await take_in(cache, graph_file(tmp_path))
        path = graph_file(tmp_path, [*LINES, {"type": "entity", "name": "Ada", "observations": ["Moved to Berlin"]}])
        report = await take_in(cache, path)
        assert [done.title for done in report.updated] == ["Ada"]
        assert "- Moved to Berlin" in (await all_memories(cache))["Ada"].content


async def test_another_devices_graph_with_the_same_names_is_kept_beside_the_first(tmp_path: Path) -> None:
    """Both lie at the same place on their machines; what the first brought reaches the second by sync."""
    path = graph_file(tmp_path)
    async with opened(tmp_path / "a") as laptop, opened(tmp_path / "b") as desktop:
        await take_in(laptop, path)
        export = tmp_path / "export.json"
        export.write_text(json.dumps(list(await laptop.export())), "utf-8")
        await take_in(desktop, export)
        graph_file(tmp_path, [{"type": "entity", "name": "Ada", "entityType": "person", "observations": ["Is a cat"]}])
        report = await take_in(desktop, path)
        assert (len(report.imported), report.updated) == (1, [])
        contents = [memory["content"] for memory in await desktop.export() if memory["title"] == "Ada"]
        assert len(contents) == 2
        assert (await take_in(desktop, path)).unchanged == 1
