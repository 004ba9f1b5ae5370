"""documents, patterns, project-status, storage, cleanup: what they do, print and return."""

import json
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from memory_cache import documents
from memory_cache.cache import open_cache
from memory_cache.document_file import DocumentFile
from memory_cache.documents import Caps
from memory_cache.home import Home
from memory_cache.settings import Settings
from tests.command_line.memory_cli import Device

NOW = datetime.now(UTC)


def fetched(device: Device, content: str, project: str | None = None, **fields: str) -> str:
    """A document that a tool fetched; its id."""

    async def store() -> str:
        values = {
            "title": "React hooks",
            "type": "library-docs",
            "source": "react",
            "source_tool": "context7",
            **fields,
        }
        document = DocumentFile(
            content=content, created=NOW, updated=NOW, projects=(project,) if project else (),
            metadata={"prompt": "how"}, **values,
        )  # fmt: skip
        async with open_cache(Home(device.home), Settings()) as cache:
            return (
                await cache.database.write(lambda c: documents.store(c, document, synced=True, caps=Caps(), now=NOW))
            )[0]

    return anyio.run(store)


def test_documents_are_found_listed_shown_and_removed(device: Device) -> None:
    mine = fetched(device, "useEffect runs after paint", "acme/app")
    fetched(device, "zebra crossing\x1b[31m", title="Zebras")
    found = device.json("documents", "search", "useEffect")
    assert [document["id"] for document in found["documents"]] == [mine]
    assert found["documents"][0].keys() >= {"title", "source", "sourceTool", "snippet", "score", "updated", "projects"}
    assert device.json("documents", "search", "zebra", "--project", "acme/app") == {"documents": [], "more": 0}
    assert "No documents found" in device("documents", "search", "giraffe").out
    assert device.json("documents", "search", "useEffect zebra", "--limit", "1")["more"] == 1
    listed = device.json("documents")
    assert (len(listed["documents"]), listed["more"], listed["bytes"] > 0) == (2, 0, True)
    assert device.json("documents", "list", "--limit", "1")["more"] == 1
    shown = device.json("documents", "show", mine[:8])
    assert (shown["content"], shown["metadata"]) == ("useEffect runs after paint", {"prompt": "how"})
    assert shown["accessCount"] == 3
    out = device("documents", "search", "zebra").out
    assert "\x1b" not in out
    assert device.json("documents", "forget", mine)["id"] == mine
    assert device("documents", "show", mine).code == 1
    assert device("documents", "show", "abc").code == 2


def test_patterns_are_noted_found_and_made_into_drafts(device: Device) -> None:
    text = "Run the linter before every commit"
    first = device.json("patterns", "store", text, "--category", "git", "--example", "ruff check before commit")
    assert (first["new"], first["count"], first["mature"]) == (True, 1, False)
    for _ in range(2):
        again = device.json("patterns", "store", text, "--category", "git")
    assert (again["id"], again["new"], again["count"], again["mature"]) == (first["id"], False, 3, True)
    device.json("patterns", "store", "Open the window in the morning", "--category", "home", "--project", "acme/app")
    found = device.json("patterns", "search", "linter", "--min-count", "3")
    assert [pattern["id"] for pattern in found["patterns"]] == [first["id"]]
    assert found["patterns"][0]["examples"] == ["ruff check before commit"]
    assert device.json("patterns", "search", "linter", "--category", "home")["patterns"] == []
    assert [pattern["id"] for pattern in device.json("patterns")["patterns"]] == [first["id"]]
    (marked,) = device.json("patterns", "mark", first["id"][:8])["patterns"]
    assert Path(marked["draft"]).read_text().startswith("---\nname: ")
    assert Path(marked["draft"]).is_relative_to(device.home)
    assert device.json("patterns", "mature")["patterns"] == []
    assert len(device.json("patterns", "mature", "--with-skills")["patterns"]) == 1
    assert "ready" not in device("patterns", "search", "linter").out
    assert device("patterns", "store", "short", "--category", "git").code == 2
    assert device("patterns", "mark", "0000").code == 1


def test_project_status_shows_one_project_or_all(device: Device) -> None:
    assert "No project has memories" in device("project-status").out
    device.json("remember", "Ship it", "--category", "task", "--project", "acme/app")
    device.json("remember", "Beta since May", "--category", "project", "--project", "acme/app")
    device.json("remember", "Elsewhere", "--category", "task", "--project", "acme/other")
    everything = device.json("project-status")["projects"]
    assert {(project["id"], project["memories"]) for project in everything} == {("acme/app", 2), ("acme/other", 1)}
    one = device.json("project-status", "acme/app")
    assert one["categories"] == {"project": 1, "task": 1}
    assert (one["latest"]["content"], [task["content"] for task in one["tasks"]]) == ("Beta since May", ["Ship it"])
    out = device("project-status", "app").out
    assert "Open tasks:" in out
    assert "Beta since May" in out
    assert device.json("project-status", ".")["categories"] == {}


def test_cleanup_moves_expired_memories_to_the_trash(device: Device) -> None:
    gone = device.remember("Old", "--ttl", "1d")
    kept = device.remember("Fresh")
    old = json.loads(device("export").out)
    past = [{**memory, "expiresAt": "2020-01-01T00:00:00Z"} for memory in old if memory["id"] == gone]
    device("forget", gone)
    device("trash", "--purge", "0")
    source = device.work / "past.json"
    source.write_text(json.dumps(past))
    device.json("import", str(source))
    assert [memory["id"] for memory in device.json("cleanup", "--dry-run")["memories"]] == [gone]
    assert "1 memory moved to the trash." in device("cleanup").out
    assert device.json("cleanup")["memories"] == []
    assert [memory["id"] for memory in device.json("list")["memories"]] == [kept]
    assert [entry["id"] for entry in device.json("trash")["trash"]] == [gone]


def test_the_storage_folder_is_shown_and_chosen(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = tmp_path / "user"
    (user / "OneDrive").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("USERPROFILE", str(user))
    assert device.json("storage") == {
        "backend": "folder", "path": None, "folders": [str(user / "OneDrive" / "Apps" / "ClaudeMemory")],
    }  # fmt: skip
    chosen = device.json("storage", "select", "1")["path"]
    assert Path(chosen).is_dir()
    assert device.json("storage", "list")["path"] == chosen
    other = tmp_path / "mémoires à moi"
    assert device.json("storage", "custom", f"{other}/")["path"] == str(other)
    assert device.json("storage", "custom", "~/Notes")["path"] == str(user / "Notes")
    assert device.json("storage", "reset")["path"] == chosen
    for words in (("select", "7"), ("custom", "relative"), ("custom", str(tmp_path / "no" / "parent"))):
        assert device("storage", *words).code == 2
    assert "1. " in device("storage").out
    monkeypatch.setenv("CLAUDE_MEMORY_STORAGE_PATH", str(tmp_path))
    assert device("storage", "select", "1").code == 2
