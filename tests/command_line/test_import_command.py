"""`import`: what it takes in, says, and returns."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line.memory_cli import Device

ROOT = Path(__file__).parents[2]


def notes(folder: Path, count: int = 2) -> Path:
    folder.mkdir()
    for number in range(count):
        (folder / f"note-{number}.md").write_text(f"# Note {number}\n\nzebra {number}\n")
    return folder


def test_a_folder_of_notes_is_taken_in_and_found(device: Device, tmp_path: Path) -> None:
    source = notes(tmp_path / "notes")
    (source / "empty.md").write_text("")
    report = device.json("import", str(source), "--project", "acme/zoo", "--category", "decision")
    assert report["kind"] == "notes"
    assert report["source"] == str(source)
    assert [(done["type"], done["title"], done["where"]) for done in report["imported"]] == [
        ("memory", "Note 0", "note-0.md"), ("memory", "Note 1", "note-1.md"),
    ]  # fmt: skip
    assert (report["updated"], report["unchanged"], report["dryRun"], report["remarks"]) == ([], 0, False, [])
    assert report["skipped"] == [{"where": "empty.md", "reason": "It is empty."}]
    hits = device.json("recall", "zebra", "--project", "acme/zoo")["hits"]
    assert {hit["category"] for hit in hits} == {"decision"}
    assert {hit["id"] for hit in hits} == {done["id"] for done in report["imported"]}
    assert device.json("import", str(source))["unchanged"] == 2
    assert len(device.json("import", str(source), "--category", "task")["updated"]) == 2
    assert device.json("import", str(source))["unchanged"] == 2
    assert {memory["category"] for memory in device.json("list")["memories"]} == {"task"}


def test_a_dry_run_changes_nothing_and_says_what_would_be_done(device: Device, tmp_path: Path) -> None:
    source = notes(tmp_path / "notes")
    result = device("import", str(source), "--dry-run")
    assert "2 memories would be imported." in result.out
    assert device.json("list")["memories"] == []


def test_words_are_for_people(device: Device, tmp_path: Path) -> None:
    rows = [
        {"memory_type": "decision", "content": f"Text {n}", "project_id": "widget", "id": f"x{n}"} for n in range(3)
    ]
    rows.append({"memory_type": "decision", "content": ""})
    source = tmp_path / "rows.json"
    source.write_text(json.dumps(rows))
    out = device("import", str(source)).out
    assert "claude-memory-mcp: " in out
    assert "3 memories imported." in out
    assert "1 skipped:\n  rows.json, row 4: It has no content." in out
    assert "3 memories filed under the plain name widget." in out
    assert out.rstrip().endswith("--map=widget=DIRECTORY")
    report = device.json("import", str(source), f"--map=widget={device.work}")
    assert len(report["updated"]) == 3
    assert {memory["projectId"] for memory in device.json("list")["memories"]} == {f"local:{device.work.as_posix()}"}


@pytest.mark.parametrize(
    "words",
    [
        ("missing",),
        ("notes", "--from", "nonsense"),
        ("notes", "--from", "export"),
        ("notes", "--project", " "),
        ("notes", "--project", "p", "--global"),
        ("notes", "--category", "../x"),
        ("notes", "--map", "widget"),
        ("notes", "--map", "=x"),
        ("nothing",),
    ],
)
def test_wrong_use_exits_2(device: Device, tmp_path: Path, words: tuple[str, ...]) -> None:
    notes(tmp_path / "notes")
    (tmp_path / "nothing").mkdir()
    result = device("import", str(tmp_path / words[0]), *words[1:])
    assert result.code == 2
    assert result.err.strip()
    assert device.json("list")["memories"] == []


def test_nothing_but_failures_exits_1(device: Device, tmp_path: Path) -> None:
    source = tmp_path / "rows.json"
    source.write_text('[{"memory_type": "x", "content": ""}]')
    result = device("import", str(source), "--json")
    assert result.code == 1
    assert len(result.data["skipped"]) == 1
    assert device("import", str(source), "--from", "claude-memory-mcp", "--dry-run").code == 1


def test_the_storage_of_this_device_is_not_imported_into_itself(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = tmp_path / "storage"
    (storage / "memories" / "task").mkdir(parents=True)
    (storage / "memories" / "task" / "a.md").write_text("# A")
    monkeypatch.setenv("CLAUDE_MEMORY_STORAGE_PATH", str(storage))
    for path in (storage, storage / "memories", storage / ".." / "storage"):
        result = device("import", str(path))
        assert result.code == 2
        assert "sync" in result.err


def test_an_export_comes_back_on_another_device(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    device.remember("One", "--tags", "a", "--priority", "high")
    device.remember("# Two\n\n```\ncode\n```", "--global", "--ttl", "1y")
    exported = device.json("export")
    for form in ("json", "markdown"):
        target = tmp_path / f"export.{form}"
        device("export", "--format", form, "--output", str(target))
        monkeypatch.setenv("CLAUDE_MEMORY_HOME", str(tmp_path / form))
        report = device.json("import", str(target), "--from", "export")
        assert (len(report["imported"]), report["skipped"]) == (2, [])
        assert device.json("export") == exported
        monkeypatch.setenv("CLAUDE_MEMORY_HOME", str(device.home))


def test_progress_is_shown_on_a_terminal_only(tmp_path: Path) -> None:
    source = notes(tmp_path / "notes", 120)
    environ = {**os.environ, "CLAUDE_MEMORY_HOME": str(tmp_path / "home"), "TERM": "xterm"}
    command = [sys.executable, "-m", "command_line", "import", str(source)]
    main, terminal = pty.openpty()
    with os.fdopen(main, "rb", buffering=0) as shown:
        process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=terminal)
        os.close(terminal)
        assert process.stdout is not None
        out = process.stdout.read()
        process.stdout.close()
        assert process.wait(60) == 0
        assert b"read" in shown.read(65536)
    assert b"120 memories imported." in out
    again = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, check=True)
    assert (again.stderr, b"120 unchanged." in again.stdout) == (b"", True)
