"""conflicts list, show, resolve: every way to settle one, and none that loses a text."""

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest

from command_line import hand_merge
from memory_cache import conflicts, database, files
from memory_cache.conflicts import ConflictRecord
from memory_cache.errors import InvalidInput
from memory_cache.models import Conflict
from tests.command_line.memory_cli import Device

AT = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def conflict(device: Device) -> tuple[str, str]:
    """(memory id, conflict id) of an open conflict: port 3001 here, port 3002 on the device `tower`."""
    memory_id = device.remember("# Port\n\nport 3001\nlast line")
    connection = database.connect(device.home / "cache.sqlite3")
    try:
        with database.transaction(connection):
            conflict_id = _open_conflict(connection, memory_id)
    finally:
        connection.close()
    return memory_id, conflict_id


def _open_conflict(connection: sqlite3.Connection, memory_id: str) -> str:
    row = connection.execute(
        "SELECT path, content FROM files JOIN memories USING (file_id) WHERE id = ?", (memory_id,)
    ).fetchone()
    theirs = row["content"].replace(b"3001", b"3002")
    record = ConflictRecord(memory_id, row["path"], "tower", AT, None, theirs)
    path = conflicts.path_of(record)
    files.add(connection, path, conflicts.encode(record))
    return path.removeprefix("conflicts/").removesuffix(".json")


def test_list_and_show_hold_both_versions(device: Device, conflict: tuple[str, str]) -> None:
    memory_id, conflict_id = conflict
    for words in (("conflicts",), ("conflicts", "list")):
        (found,) = device.json(*words)["conflicts"]
        assert (found["id"], found["memory_id"], found["title"]) == (conflict_id, memory_id, "Port")
        assert "port 3001" in found["mine"]
        assert "port 3002" in found["theirs"]
        assert (found["device"], found["base"]) == ("tower", None)
    assert device("conflicts", "--json", "list").data["conflicts"]
    out = device("conflicts", "show", conflict_id[:8]).out
    assert "<<<<<<< mine" in out
    assert "port 3001\n=======\nport 3002\n>>>>>>> theirs (tower)" in out


@pytest.mark.parametrize(
    ("keep", "content"),
    [
        ("mine", "# Port\n\nport 3001\nlast line"),
        ("theirs", "# Port\n\nport 3002\nlast line"),
        ("both", None),
    ],
)
def test_keep_settles_it_and_the_other_text_stays_in_history(
    device: Device, conflict: tuple[str, str], keep: str, content: str | None
) -> None:
    memory_id, conflict_id = conflict
    memory = device.json("conflicts", "resolve", conflict_id, "--keep", keep)
    assert memory["id"] == memory_id
    if content is None:
        assert "port 3001" in memory["content"]
        assert "port 3002" in memory["content"]
    else:
        assert memory["content"] == content
    assert device.json("conflicts")["conflicts"] == []
    kept = " ".join(revision["content"] for revision in device.json("history", memory_id)["revisions"])
    assert "port 3001" in kept + memory["content"]
    assert "port 3002" in kept + memory["content"]


def test_merged_text_on_standard_input_settles_it(device: Device, conflict: tuple[str, str]) -> None:
    memory_id, conflict_id = conflict
    memory = device.json("conflicts", "resolve", conflict_id, stdin="# Port\n\nports 3001 and 3002\n")
    assert (memory["id"], memory["content"]) == (memory_id, "# Port\n\nports 3001 and 3002")
    assert device.json("conflicts")["conflicts"] == []


@pytest.mark.parametrize("stdin", ["", " \n", "<<<<<<< mine (x)\na\n=======\nb\n>>>>>>> theirs (y)\n"])
def test_text_that_settles_nothing_changes_nothing(device: Device, conflict: tuple[str, str], stdin: str) -> None:
    assert device("conflicts", "resolve", conflict[1], stdin=stdin).code == 2
    assert len(device.json("conflicts")["conflicts"]) == 1


def editor(tmp_path: Path, script: str) -> str:
    program = tmp_path / "my editor.sh"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return f"'{program}' --wait"


MERGE = """[ "$1" = --wait ] || exit 9
sed -i -e '/^<<<<<<< /d' -e '/^=======$/d' -e '/^>>>>>>> /d' "$2" """


def test_the_editor_settles_it(
    device: Device, conflict: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "false")
    monkeypatch.setenv("VISUAL", editor(tmp_path, MERGE))
    memory = device.json("conflicts", "resolve", conflict[1], "--edit")
    assert memory["id"] == conflict[0]
    assert memory["content"] == "# Port\n\nport 3001\nport 3002\nlast line"
    assert memory["tags"] == []
    assert device.json("conflicts")["conflicts"] == []


@pytest.mark.parametrize(("script", "code"), [("exit 1", 1), ("true", 2), (': > "$2"', 2)])
def test_an_editor_that_settles_nothing_changes_nothing(
    device: Device, conflict: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, code: int
) -> None:
    monkeypatch.setenv("EDITOR", editor(tmp_path, script))
    assert device("conflicts", "resolve", conflict[1], "--edit").code == code
    assert len(device.json("conflicts")["conflicts"]) == 1


def test_a_missing_editor_is_named(device: Device, conflict: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "/gone/editor")
    result = device("conflicts", "resolve", conflict[1], "--edit")
    assert result.code == 1
    assert "/gone/editor" in result.err


def test_markers_hold_every_line_of_both_versions() -> None:
    shown = hand_merge.with_markers(
        Conflict(id="c", memory_id="m", title="t", mine="a\nb\nc", theirs="a\nx\nc\nd", at=AT)
    )
    assert {"a", "b", "c", "d", "x"} <= set(shown.split("\n"))
    with pytest.raises(InvalidInput):
        hand_merge.without_markers(shown)
    assert hand_merge.without_markers("====\n") == "====\n"


@pytest.mark.parametrize("words", [("conflicts", "show"), ("conflicts", "resolve", "--keep", "mine"), ("show",)])
def test_an_unknown_conflict_ends_like_an_unknown_memory(device: Device, words: tuple[str, ...]) -> None:
    assert device(*words, "ffffffff-00000000").code == 1
