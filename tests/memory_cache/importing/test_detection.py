"""Which source a path is, told by its content."""

import json
from pathlib import Path

import pytest

from memory_cache.errors import InvalidInput
from memory_cache.importing import sources

FILES = {
    "export": ("x.json", '[{"id": "a", "category": "task", "content": "x"}]'),
    "claude-memory-mcp": ("x.json", '[{"memory_type": "decision", "content": "x"}]'),
    "server-memory": ("memory.json", '{"type":"entity","name":"A","entityType":"x","observations":[]}\n'),
    "memory-folder": ("x.md", "---\nid: a-b-c\ncategory: task\n---\nText"),
    "basic-memory": ("x.md", "---\npermalink: a/b\ntitle: x\n---\nText"),
    "claude-md": ("CLAUDE.md", "# x"),
    "notes": ("x.txt", "Text"),
}


@pytest.mark.parametrize("kind", FILES)
def test_a_file_is_told_by_its_content(tmp_path: Path, kind: str) -> None:
    name, text = FILES[kind]
    (tmp_path / name).write_text(text)
    assert sources.detect(tmp_path / name) == kind


@pytest.mark.parametrize(
    ("kind", "files"),
    [
        ("memory-folder", {"memories/task/a.md": "x"}),
        ("memory-folder", {"Apps/ClaudeMemory/index.json": json.dumps({"version": 1, "memories": []})}),
        ("auto-memory", {"memory/MEMORY.md": "x"}),
        ("auto-memory", {"MEMORY.md": "x", "a.md": "y"}),
        ("auto-memory", {"projects/-a/memory/MEMORY.md": "x"}),
        ("claude-md", {"CLAUDE.md": "x", "README.md": "y"}),
        ("claude-md", {".claude/CLAUDE.md": "x"}),
        ("basic-memory", {"a.md": "---\npermalink: a\n---\nx", "b/c.md": "---\npermalink: b\n---\nx"}),
        ("notes", {"a.md": "x", "b.md": "---\npermalink: b\n---\nx", "c.txt": "x"}),
        ("notes", {"src/memory/code.md": "x"}),
    ],
)
def test_a_folder_is_told_by_what_lies_in_it(tmp_path: Path, kind: str, files: dict[str, str]) -> None:
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert sources.detect(tmp_path) == kind


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("x.json", b'{"a": 1}'),
        ("x.json", b"[1, 2"),
        ("x.csv", b"a,b\n1,2\n"),
        ("x.bin", b"\x00\x01"),
        ("x.db", b"SQLite format 3\x00" + bytes(5000)),
        ("x.pdf", b"%PDF"),
    ],
)
def test_what_is_nothing_known_is_refused_with_the_list_of_kinds(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InvalidInput) as refused:
        sources.detect(tmp_path / name)
    assert "--from" in refused.value.hint


def test_what_cannot_be_read_is_refused_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", denied)  # root may read everything
    (tmp_path / ".claude").mkdir()
    with pytest.raises(InvalidInput, match="Permission denied"):
        list(sources.SOURCES["claude-md"].read(tmp_path, tmp_path))
    monkeypatch.setattr(Path, "is_dir", denied)
    with pytest.raises(InvalidInput, match="Permission denied"):
        sources.detect(tmp_path)


def test_an_empty_folder_and_a_missing_path_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InvalidInput):
            sources.detect(path)


def test_what_could_be_two_things_names_both(tmp_path: Path) -> None:
    (tmp_path / "projects/-a/memory").mkdir(parents=True)
    (tmp_path / "projects/-a/memory/MEMORY.md").write_text("x")
    (tmp_path / "CLAUDE.md").write_text("x")
    with pytest.raises(InvalidInput) as refused:
        sources.detect(tmp_path)
    assert "auto-memory" in refused.value.hint
    assert "claude-md" in refused.value.hint
