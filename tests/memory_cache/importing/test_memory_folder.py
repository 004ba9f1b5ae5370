"""A folder of claude-onedrive-memory: kept byte for byte, its oddities understood, nothing lost unsaid."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memory_cache import text_format
from memory_cache.importing.placement import Placement
from memory_cache.models import Change
from memory_cache.settings import Settings
from tests.memory_cache.cache_fixtures import WIDGET, opened

from .importing_help import all_memories, bytes_of, reasons, state, take_in

pytestmark = pytest.mark.anyio

ONE, TWO, THREE = (f"{n}1111111-aaaa-4bbb-8ccc-0123456789ab" for n in "123")


def old_file(memory_id: str, body: str, **more: str) -> bytes:
    """As version 0.2 wrote it: times without quotes."""
    lines = {
        "id": memory_id, "category": "decision", "tags": "\n  - a\n  - b", "created": "2025-03-01T10:00:00.000Z",
        "updated": "2025-03-02T11:00:00.000Z", **more,
    }  # fmt: skip
    return "".join(["---\n", *(f"{key}: {value}\n" for key, value in lines.items()), "---\n", body, "\n"]).encode()


def folder(root: Path, files: dict[str, bytes], index: Any = None) -> Path:
    for path, data in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    if index is not None:
        text = index if isinstance(index, str) else json.dumps({"version": 1, "memories": index})
        (root / "index.json").write_text(text, "utf-8")
    return root


def entry(memory_id: str, path: str, title: str = "T") -> dict[str, Any]:
    return {"id": memory_id, "path": path, "title": title, "category": "decision", "snippet": "…", "tags": []}


async def test_files_are_kept_byte_for_byte(tmp_path: Path) -> None:
    data = old_file(ONE, "# Title: with colon\n\nbody", custom="yes  # a comment", tags="just one").replace(
        b"\n", b"\r\n"
    )
    root = folder(tmp_path / "Apps/ClaudeMemory", {"memories/decision/2025-03-01-title.md": data})
    async with opened(tmp_path) as cache:
        report = await take_in(cache, tmp_path)
        assert (report.kind, len(report.imported), report.skipped) == ("memory-folder", 1, [])
        memory = await cache.get(ONE)
        assert await bytes_of(cache, ONE) == data
        assert (memory.tags, memory.created) == (("just one",), datetime(2025, 3, 1, 10, tzinfo=UTC))
        before = await state(cache)
        again = await take_in(cache, root)
        assert (again.unchanged, again.imported, again.skipped) == (1, [], [])
        assert await state(cache) == before


async def test_the_older_servers_index_helps_and_is_never_trusted(tmp_path: Path) -> None:
    shared, gone = "memories/decision/2025-03-01-same.md", "memories/task/2025-03-01-gone.md"
    files = {
        shared: old_file(TWO, "# Second"),
        "memories/decision/2025-03-01-other.md": old_file(THREE, "# Third", relatedTo="[index-id]"),
        "memories/decision/2025-03-01-renamed.md": old_file("file-id-of-renamed", "# Renamed"),
    }
    index = [
        entry(ONE, shared, "First"), entry(TWO, shared, "Second"),
        entry(THREE, "memories/decision/2025-03-01-other.md"),
        entry("index-id", "memories/decision/2025-03-01-renamed.md"), entry("lost", gone, "Gone"), "nonsense",
        entry("evil", "../../etc/passwd", "Evil"),
    ]  # fmt: skip
    root = folder(tmp_path / "m", files, index)
    async with opened(tmp_path) as cache:
        report = await take_in(cache, root)
        assert {memory.id for memory in (await all_memories(cache)).values()} == {TWO, THREE, "file-id-of-renamed"}
        assert (await cache.get(THREE)).related_to == ("file-id-of-renamed",)
        told = reasons(report)
        assert "written over" in told["index.json: First"]
        assert "gone" in told["index.json: Gone"]
        assert "gone" in told["index.json: Evil"]
        assert len(told) == 3


@pytest.mark.parametrize("index", ["", "{", "[]", '{"memories": 5}', "null", "\x00\xff"])
async def test_a_broken_index_does_no_harm(tmp_path: Path, index: str) -> None:
    root = folder(tmp_path / "m", {"memories/decision/a.md": old_file(ONE, "# One")}, index)
    async with opened(tmp_path) as cache:
        assert len((await take_in(cache, root)).imported) == 1


async def test_a_file_without_an_id_gets_that_of_the_index_or_one_of_its_own(tmp_path: Path) -> None:
    files = {"memories/task/2024-05-06-a.md": b"# By hand\n\ntext", "memories/task/b.md": b"---\ntitle: x\n---\n\nB"}
    root = folder(tmp_path / "m", files, [entry(ONE, "memories/task/2024-05-06-a.md")])
    async with opened(tmp_path) as cache:
        assert len((await take_in(cache, root)).imported) == 2
        memory = await cache.get(ONE)
        assert (memory.category, memory.created.year) == ("task", 2024)
        assert (await bytes_of(cache, ONE)).endswith(b"# By hand\n\ntext")
        assert (await take_in(cache, root)).unchanged == 2


async def test_two_files_with_one_id_are_two_memories_and_equal_ones_are_one(tmp_path: Path) -> None:
    files = {
        "memories/decision/2025-03-01-note.md": old_file(ONE, "# Note"),
        "memories/decision/2025-03-01-note-LAPTOP.md": old_file(ONE, "# Note, edited elsewhere"),
        "memories/decision/2025-03-01-note (1).md": old_file(ONE, "# Note"),
    }
    root = folder(tmp_path / "m", files)
    async with opened(tmp_path) as cache:
        report = await take_in(cache, root)
        assert len(report.imported) == 2
        assert (await cache.get(ONE)).title == "Note"
        assert list(reasons(report)) == ["memories/decision/2025-03-01-note (1).md"]
        again = await take_in(cache, root)
        assert (again.unchanged, again.imported) == (2, [])


async def test_what_cannot_be_changed_is_kept_as_it_is_and_named(tmp_path: Path) -> None:
    broken = b"---\nid: " + ONE.encode() + b"\ncategory: task\ntags: [a\n---\n# Broken\n"
    files = {
        "memories/task/broken.md": broken,
        "memories/task/utf16.md": old_file(TWO, "# Zwei ü").decode().encode("utf-16"),
        "memories/task/latin.md": old_file(THREE, "# Drei ü").decode().encode("cp1252"),
        "memories/task/empty.md": b"",
        "memories/task/.hidden.md": b"x",
    }
    async with opened(tmp_path) as cache:
        report = await take_in(cache, folder(tmp_path / "m", files))
        assert await bytes_of(cache, ONE) == broken
        assert {(await cache.get(memory)).title for memory in (TWO, THREE)} == {"Zwei ü", "Drei ü"}
        assert len(report.remarks) == 3
        assert list(reasons(report)) == ["memories/task/empty.md"]


async def test_private_parts_secrets_and_credentials_stay_out(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    files = {
        "memories/task/private.md": old_file(ONE, "# Open <private>HIDDEN</private> end"),
        "memories/task/all.md": old_file(TWO, "<PRIVATE >HIDDEN"),
        "memories/task/credential.md": old_file(THREE, "# C", projectId='"https://me:HIDDEN@github.com/Acme/W.git"'),
        "memories/task/secret.md": old_file("secret-id", f"# S {token}"),
    }
    root = folder(tmp_path / "m", files)
    refuse = Settings.model_validate({"privacy": {"secrets": "refuse"}})
    async with opened(tmp_path, settings=refuse) as cache:
        report = await take_in(cache, root)
        assert (await cache.get(ONE)).content == "# Open  end"
        assert (await cache.get(THREE)).project_id == "github.com/acme/w"
        assert set(reasons(report)) == {"memories/task/all.md", "memories/task/secret.md"}
        for path in (tmp_path / "home").rglob("*"):
            assert not path.is_file() or not any(text in path.read_bytes() for text in (b"HIDDEN", token.encode()))
    async with opened(tmp_path / "other") as cache:
        report = await take_in(cache, root)
        assert "GitHub token" in next(left.reason for left in report.remarks if "secret" in left.where)
        assert (await cache.get("secret-id")).content == f"# S {token}"


async def test_a_memory_edited_here_is_not_overwritten(tmp_path: Path) -> None:
    root = folder(tmp_path / "m", {"memories/task/a.md": old_file(ONE, "# One")})
    async with opened(tmp_path) as cache:
        await take_in(cache, root)
        await cache.update(ONE, Change(content="# Mine"))
        report = await take_in(cache, root)
        assert (report.unchanged, report.updated, len(report.skipped)) == (0, [], 1)
        assert (await cache.get(ONE)).content == "# Mine"


async def test_the_user_may_file_everything_elsewhere(tmp_path: Path) -> None:
    data = old_file(ONE, "# One", projectId="github.com/a/b", projectName="b")
    root = folder(tmp_path / "m", {"memories/task/a.md": data})
    async with opened(tmp_path / "p") as cache:
        await take_in(cache, root, placement=Placement(project=WIDGET, category="learning"))
        memory = await cache.get(ONE)
        assert (memory.project_id, memory.project_name, memory.category) == (WIDGET.id, "widget", "learning")
    async with opened(tmp_path / "g") as cache:
        await take_in(cache, root, placement=Placement(make_global=True))
        assert (await cache.get(ONE)).project_id is None


async def test_our_own_folder_brings_documents_patterns_and_conflicts_along(tmp_path: Path) -> None:
    from memory_cache import document_file, documents, pattern_file, patterns

    now = datetime(2026, 3, 1, tzinfo=UTC)
    document = document_file.DocumentFile("Doc", "text about zebras", "tutorial", "https://x", "webfetch", now, now)
    seen = (pattern_file.occurrence(now, "laptop", "an example of it"),)
    pattern = pattern_file.PatternFile("ab" * 16, "Run the linter first", "testing", now, now, occurrences=seen)
    conflict = {"memory_id": ONE, "path": "memories/task/a.md", "device": "x", "at": text_format.timestamp(now),
                "base": None, "theirs": old_file(ONE, "# Theirs").decode()}  # fmt: skip
    files = {
        "memories/task/2025-03-01-a-11111111.md": old_file(ONE, "# One"),
        document.path: document_file.encode(document),
        pattern.path: pattern_file.encode(pattern),
        "conflicts/11111111-01234567.json": json.dumps(conflict).encode(),
        "devices/x.json": b"{}",
    }
    root = folder(tmp_path / "m", files)
    async with opened(tmp_path) as cache:
        report = await take_in(cache, root)
        assert sorted(done.type for done in report.imported) == ["conflict", "document", "memory", "pattern"]
        assert (await cache.get(ONE)).path == "memories/task/2025-03-01-a-11111111.md"
        hits, _ = await cache.database.write(lambda c: documents.search(c, "zebras", limit=5, now=now))
        assert (hits[0].created, hits[0].source) == (now, "https://x")
        found = await cache.database.read(lambda c: patterns.mature(c, min_count=1))
        assert (found[0].id, found[0].examples) == (pattern.id, ("an example of it",))
        assert [open_.memory_id for open_ in await cache.conflicts()] == [ONE]
        assert (await take_in(cache, root)).unchanged == 4
