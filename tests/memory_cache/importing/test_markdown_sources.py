"""Folders of markdown: basic-memory, Claude Code's own memory, CLAUDE.md files, and plain notes."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_cache.importing.placement import Placement
from tests.memory_cache.cache_fixtures import WIDGET, opened

from .importing_help import all_memories, bytes_of, reasons, take_in

pytestmark = pytest.mark.anyio

WRITTEN = datetime(2026, 1, 5, 10, 30, tzinfo=UTC)


def written(root: Path, files: dict[str, str | bytes]) -> Path:
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)
        os.utime(target, (WRITTEN.timestamp(), WRITTEN.timestamp()))
    return root


def repository(root: Path, origin: str = "https://github.com/Acme/Widget.git") -> Path:
    written(root, {".git/config": f'[remote "origin"]\n\turl = {origin}\n', ".git/HEAD": "ref: refs/heads/main\n"})
    for name in ("objects", "refs"):
        (root / ".git" / name).mkdir()
    return root


async def test_basic_memorys_notes_keep_text_tags_dates_links_and_front_matter(tmp_path: Path) -> None:
    body = "# Coffee Brewing\n\n- [method] Pour over #slow\n- relates_to [[Bean Origins]]\n- see [[missing]]\n"
    vault = written(tmp_path / "vault", {
        "coffee/brewing.md": "---\ntitle: Coffee Brewing\ntype: note\ntags:\n- coffee\n- brewing\n"
        f"permalink: coffee/brewing\nversion: 007  # mine\ncreated: 2025-12-01T08:00:00+01:00\n---\n\n{body}",
        "coffee/origins.md": "---\ntitle: Bean Origins\ntype: Person\npermalink: o\ntags: [a, b]\n---\nText.",
        "tasks/todo.md": "---\ntitle: 007\ntype: task\npermalink: tasks/todo\n---\nDo [it](../coffee/brewing.md).\n",
        ".obsidian/ignored.md": "x",
        "empty.md": "",
    })  # fmt: skip
    async with opened(tmp_path) as cache:
        report = await take_in(cache, vault)
        assert (report.kind, len(report.imported), list(reasons(report))) == ("basic-memory", 3, ["empty.md"])
        memories = await all_memories(cache)
        coffee, origins, todo = memories["Coffee Brewing"], memories["Bean Origins"], memories["007"]
        assert coffee.content == body.strip("\n")
        assert (coffee.category, coffee.tags) == ("learning", ("coffee", "brewing"))
        assert (coffee.created, coffee.updated) == (datetime(2025, 12, 1, 7, tzinfo=UTC), WRITTEN)
        assert coffee.related_to == (origins.id,)
        assert origins.tags == ("a", "b", "Person")
        assert (todo.category, todo.related_to) == ("task", (coffee.id,))
        data = await bytes_of(cache, coffee.id)
        assert b"version: 007  # mine\n" in data
        assert b"permalink: coffee/brewing\n" in data
        again = await take_in(cache, vault)
        assert (again.unchanged, again.imported, again.updated) == (3, [], [])


async def test_a_plain_folder_of_notes(tmp_path: Path) -> None:
    notes = written(tmp_path / "notes", {
        "2024-02-03-port-choice.md": "We use 3001.",
        "decisions/db.md": "# Postgres\n\nBecause.",
        "deep/er/plain.txt": "Just text\r\nin two lines",
        "latin.md": "Über".encode("cp1252"),
        "broken.md": "---\ntags: [a\nid: x\n---\n# Broken front matter\n",
        "binary.md": b"\x00\x01\x02\xff\xfe",
        "picture.png": b"\x89PNG",
        "node_modules/x/readme.md": "no",
        "big.md": "x" * 1_100_000,
        "front.md": "---\nid: zettel-1\npriority: high\ndate: 2023-05-06\nexpiresAt: 2099-01-01\n---\n# Front\n",
    })  # fmt: skip
    async with opened(tmp_path) as cache:
        report = await take_in(cache, notes)
        assert report.kind == "notes"
        memories = await all_memories(cache)
        port = memories["port choice"]
        assert (port.content, port.created.date().isoformat()) == ("# port choice\n\nWe use 3001.", "2024-02-03")
        assert memories["Postgres"].category == "decision"
        assert memories["plain"].content == "# plain\n\nJust text\nin two lines"
        assert memories["latin"].content.endswith("Über")
        assert "Broken front matter" in memories["broken"].content
        assert (memories["Front"].priority, memories["Front"].created.year) == ("high", 2023)
        assert b"sourceId: zettel-1" in await bytes_of(cache, memories["Front"].id)
        assert {where: "bytes" in reason for where, reason in reasons(report).items()} == {
            "big.md": True, "binary.md": False,
        }  # fmt: skip
        assert (await take_in(cache, notes)).unchanged == len(report.imported)


async def test_one_note_alone(tmp_path: Path) -> None:
    path = written(tmp_path, {"a.md": "# One\n"}) / "a.md"
    async with opened(tmp_path) as cache:
        assert [done.title for done in (await take_in(cache, path)).imported] == ["One"]


async def test_folders_with_the_same_names_do_not_mix_and_the_same_text_comes_once(tmp_path: Path) -> None:
    first = written(tmp_path / "work", {"todo.md": "# Work", "same.md": "# The same text"})
    second = written(tmp_path / "home", {"todo.md": "# Home", "same.md": "# The same text"})
    async with opened(tmp_path / "cache") as cache:
        await take_in(cache, first)
        report = await take_in(cache, second)
        assert [done.title for done in report.imported] == ["Home"]
        assert "same text" in reasons(report)["same.md"]
        assert {"Work", "Home", "The same text"} == set(await all_memories(cache))


async def test_claude_codes_memory_belongs_to_the_project_of_its_directory(tmp_path: Path) -> None:
    work = repository(tmp_path / "code" / "my.widget")
    name = "".join(character if character.isalnum() and character.isascii() else "-" for character in str(work))
    topic = (
        "---\nname: {name}\ndescription: Tests must not mock the database\nmetadata: \n  node_type: memory\n"
        "  type: {type}\n  originSessionId: abc\n  modified: 2026-01-03T08:00:00.000Z\n---\n\n{body}\n"
    )
    claude = written(tmp_path / ".claude", {
        f"projects/{name}/memory/MEMORY.md": "# Memory\n\n- [Testing](feedback_testing.md) - no mocks\n",
        f"projects/{name}/memory/feedback_testing.md": topic.format(
            name="feedback-testing", type="feedback", body="No mocks. See [[user-role]]."
        ),
        f"projects/{name}/memory/user_role.md": "---\nname: user-role\ntype: user\n---\n\n# Data scientist\n",
        "projects/-gone-elsewhere/memory/MEMORY.md": "# Notes\n\nBuild with make.\n",
        "projects/-gone-elsewhere/session.jsonl": "{}\n",
    })  # fmt: skip
    async with opened(tmp_path) as cache:
        report = await take_in(cache, claude / "projects", home=tmp_path)
        assert (report.kind, len(report.imported)) == ("auto-memory", 3)
        memories = await all_memories(cache)
        testing, role = memories["Tests must not mock the database"], memories["Data scientist"]
        assert testing.content == "# Tests must not mock the database\n\nNo mocks. See [[user-role]]."
        assert (testing.project_id, testing.category, testing.tags) == (
            "github.com/acme/widget", "preference", ("feedback",),
        )  # fmt: skip
        assert testing.updated == datetime(2026, 1, 3, 8, tzinfo=UTC)
        assert testing.related_to == (role.id,)
        assert (role.category, role.tags) == ("preference", ("user",))
        assert "Build with make." in memories["Notes"].content
        assert memories["Notes"].project_id == "-gone-elsewhere"
        assert report.plain_names == {"-gone-elsewhere": 1}
        assert list(reasons(report).values()) == ["It is an index of the other files."]
        named = Placement(names={"-gone-elsewhere": WIDGET})
        assert len((await take_in(cache, claude / "projects", placement=named, home=tmp_path)).updated) == 1
        assert (await cache.get(memories["Notes"].id)).project_id == WIDGET.id


async def test_a_transcript_tells_which_directory_a_folder_stands_for(tmp_path: Path) -> None:
    folder = written(tmp_path / "projects" / "-srv-my-app", {
        "one.jsonl": "\n".join(map(json.dumps, [{"type": "x"}, {"cwd": "/srv/my.app/sub"}, {"cwd": "/srv/my.app"}])),
        "memory/MEMORY.md": "Use port 3001.",
    })  # fmt: skip
    async with opened(tmp_path) as cache:
        await take_in(cache, folder / "memory")
        (memory,) = (await all_memories(cache)).values()
        assert (memory.project_id, memory.project_name) == ("local:/srv/my.app", "my.app")


async def test_a_folder_with_a_name_of_its_own_stands_for_where_its_sessions_began(tmp_path: Path) -> None:
    folder = written(tmp_path / "projects" / "my-own-name", {
        "one.jsonl": json.dumps({"cwd": "/srv/my.app"}), "memory/MEMORY.md": "Use port 3001.",
    })  # fmt: skip
    async with opened(tmp_path) as cache:
        await take_in(cache, folder / "memory")
        (memory,) = (await all_memories(cache)).values()
        assert memory.project_id == "local:/srv/my.app"


async def test_claude_md_files_belong_to_their_repository_or_to_everybody(tmp_path: Path) -> None:
    work = repository(tmp_path / "code")
    written(work, {
        "CLAUDE.md": "# Widget\n\nBuild with make. See @docs/style.md, not `@code.py` or me@example.com.\n",
        "packages/api/CLAUDE.md": "Use the fixtures.\n",
        ".claude/rules/testing.md": "# Testing rules\n",
        "node_modules/x/CLAUDE.md": "no", "README.md": "no", "CLAUDE.local.md": "",
    })  # fmt: skip
    user = written(tmp_path / ".claude", {"CLAUDE.md": "Prefer tabs.\n"})
    async with opened(tmp_path) as cache:
        report = await take_in(cache, work, home=tmp_path)
        assert (report.kind, len(report.imported), list(reasons(report))) == ("claude-md", 3, ["CLAUDE.local.md"])
        assert [left.reason for left in report.remarks] == ["What it imports is not taken in with it: docs/style.md."]
        memories = await all_memories(cache)
        assert {memory.project_id for memory in memories.values()} == {"github.com/acme/widget"}
        assert "api/CLAUDE.md of widget" in memories
        assert (memories["Widget"].category, memories["Widget"].tags) == ("project", ("claude-md",))
        await take_in(cache, user, home=tmp_path)
        mine = (await all_memories(cache))["CLAUDE.md of the user"]
        assert (mine.project_id, mine.category) == (None, "preference")
        one = await take_in(cache, work / "packages" / "api" / "CLAUDE.md", home=tmp_path)
        assert (one.kind, one.unchanged) == ("claude-md", 1)
        (work / "CLAUDE.md").write_text("# Widget\n\nBuild with just.\n")
        report = await take_in(cache, work, home=tmp_path)
        assert ([done.title for done in report.updated], report.unchanged) == (["Widget"], 2)


async def test_links_out_of_the_folder_and_odd_files_do_no_harm(tmp_path: Path) -> None:
    notes = written(tmp_path / "notes", {"a.md": "# A", "loop/b.md": "# B"})
    (notes / "loop" / "again").symlink_to(notes, target_is_directory=True)
    (notes / "gone.md").symlink_to(tmp_path / "nowhere.md")
    (notes / "folder.md").mkdir()
    os.mkfifo(notes / "pipe.md")
    (notes / os.fsdecode(b"n\xe4me.md")).write_text("# Name without a meaning")
    async with opened(tmp_path) as cache:
        report = await take_in(cache, notes)
        assert sorted(done.title for done in report.imported) == ["A", "B", "Name without a meaning"]
        assert set(reasons(report)) == {"gone.md", "pipe.md"}
