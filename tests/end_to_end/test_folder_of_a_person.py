"""A folder that a person, an older server and ordinary editors write into, beside a running daemon."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "command_line"]
FIRST = "0b54ab0e-5a43-4c5a-9c0e-000000000001"
SECOND = "0b54ab0e-5a43-4c5a-9c0e-000000000002"
INDEXED_OTHERWISE = "0b54ab0e-5a43-4c5a-9c0e-00000000ffff"

OLD_FILES = {
    "memories/decision/2025-03-04-use-postgres.md": (
        f"---\nid: {FIRST}\ncategory: decision\ntags: db, storage\ncreated: 2025-03-04T10:00:00.000Z\n"
        "updated: 2025-03-05T10:00:00.000Z\nprojectId: github.com/Acme/Widget\nprojectName: Widget\n---\n\n"
        "# Use Postgres\n\nBecause of the JSON type.\n"
    ),
    "memories/task/2025-03-06-.md": (
        f"---\nid: {SECOND}\ncategory: task\ntags:\n  - ops\ncreated: '2025-03-06T10:00:00.000Z'\n"
        "updated: '2025-03-06T10:00:00.000Z'\npriority: high\nexpiresAt: '2999-01-01T00:00:00.000Z'\n---\n\n"
        "# 決定\n\n証明書を更新する\n"
    ),
}
OLD_INDEX = {
    "version": 1,
    "memories": [
        {"id": INDEXED_OTHERWISE, "category": "decision", "title": "Use Postgres", "tags": "db, storage",
         "created": "2025-03-04T10:00:00.000Z", "updated": "2025-03-05T10:00:00.000Z",
         "path": "memories/decision/2025-03-04-use-postgres.md"},
        {"id": SECOND, "category": "task", "title": "決定", "tags": ["ops"], "created": "2025-03-06T10:00:00.000Z",
         "updated": "2025-03-06T10:00:00.000Z", "path": "memories/task/2025-03-06-.md"},
        {"id": "gone", "category": "task", "title": "設計", "tags": [], "created": "2025-03-06T10:00:00.000Z",
         "updated": "2025-03-06T10:00:00.000Z", "path": "memories/task/2025-03-06-.md"},
    ],
}  # fmt: skip


class Device:
    """One device with a running daemon over the person's folder."""

    def __init__(self, base: Path) -> None:
        self.base, self.folder = base, base / "OneDrive Ünïcode" / "Apps" / "ClaudeMemory"
        self.folder.mkdir(parents=True)
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("CLAUDE_", "OneDrive"))},
            "PYTHONPATH": str(ROOT), "HOME": str(base),
            "CLAUDE_MEMORY_HOME": str(base / "home"), "CLAUDE_MEMORY_STORAGE_PATH": str(self.folder),
        }  # fmt: skip

    def run(self, *arguments: str) -> Any:
        done = subprocess.run(
            [*COMMAND, *arguments, "--json"],
            env=self.environment,
            cwd=self.base,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def memories(self) -> dict[str, dict[str, Any]]:
        return {memory["id"]: memory for memory in self.run("list")["memories"]}

    def until(self, good: Callable[[dict[str, dict[str, Any]]], bool]) -> dict[str, dict[str, Any]]:
        deadline = time.monotonic() + 30
        while not good(found := self.memories()):
            assert time.monotonic() < deadline, found
        return found


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Device]:
    person = Device(tmp_path)
    for path, text in OLD_FILES.items():
        (person.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (person.folder / path).write_text(text, "utf-8")
    (person.folder / "index.json").write_text(json.dumps(OLD_INDEX, ensure_ascii=False), "utf-8")
    with (tmp_path / "daemon.log").open("wb") as log:
        daemon = subprocess.Popen([*COMMAND, "daemon", "run"], env=person.environment, cwd=ROOT, stdout=log, stderr=log)
        try:
            while not (tmp_path / "home" / "daemon.sock").exists():
                assert daemon.poll() is None, (tmp_path / "daemon.log").read_text()
                time.sleep(0.05)
            yield person
        finally:
            daemon.terminate()
            daemon.wait(20)


def test_an_older_servers_store_is_taken_in_whole_and_left_as_it_is(device: Device) -> None:
    found = device.until(lambda memories: len(memories) >= 2)
    assert set(found) == {FIRST, SECOND}
    assert found[FIRST]["tags"] == ["db", "storage"]
    assert found[FIRST]["updated"].startswith("2025-03-05T10:00:00")
    assert found[SECOND]["title"] == "決定"
    assert [hit["id"] for hit in device.run("recall", "証明書", "--all")["hits"]] == [SECOND]
    for path, text in OLD_FILES.items():
        assert (device.folder / path).read_text("utf-8") == text
    device.run("remember", "--category", "learning", "--global", "A new one beside the old")
    deadline = time.monotonic() + 30
    while "A new one beside the old" not in (device.folder / "index.json").read_text("utf-8"):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    index = json.loads((device.folder / "index.json").read_text("utf-8"))
    assert {FIRST, SECOND} <= {entry["id"] for entry in index["memories"]}


def by_sed(path: Path) -> None:
    subprocess.run(["sed", "-i", "s/JSON type/JSONB type/", str(path)], check=True)


def by_rename_over(path: Path) -> None:
    aside = path.with_suffix(".tmp")
    aside.write_text(path.read_text("utf-8").replace("JSON type", "JSONB type"), "utf-8")
    aside.replace(path)


def as_vim_does(path: Path) -> None:
    # :w with 'backupcopy=no': the old file becomes a backup, a new one is written, the backup goes.
    text = path.read_text("utf-8")
    backup = path.with_name(path.name + "~")
    path.rename(backup)
    path.write_text(text.replace("JSON type", "JSONB type"), "utf-8")
    backup.unlink()


def by_vim(path: Path) -> None:
    editor = shutil.which("vim") or shutil.which("ex")
    if editor is None:
        pytest.skip("no vim on this machine; its way of saving is tried by `as_vim_does`")
    subprocess.run([editor, "-es", "-u", "NONE", "-c", "%s/JSON type/JSONB type/", "-c", "wq", str(path)], check=True)


@pytest.mark.parametrize("edit", [by_sed, by_rename_over, as_vim_does, by_vim])
def test_an_edit_by_hand_is_seen_and_nothing_else_of_the_file_changes(
    device: Device, edit: Callable[[Path], None]
) -> None:
    (name, text), _ = OLD_FILES.items()
    device.until(lambda memories: FIRST in memories)
    edit(device.folder / name)
    device.until(lambda memories: "JSONB type" in memories[FIRST]["content"])
    assert (device.folder / name).read_text("utf-8") == text.replace("JSON type", "JSONB type")
    assert device.run("trash")["trash"] == []


@pytest.mark.parametrize(
    "body", ["# By hand\r\n\r\nA line.\r\n", "no heading, no final newline", "---\nnot: [closed\n---\ntext\n", "---\n"]
)
def test_a_hand_written_file_gets_an_id_once_and_keeps_its_body(device: Device, body: str) -> None:
    path = device.folder / "memories" / "note by hand.md"
    path.write_bytes(body.encode())
    found = device.until(lambda memories: len(memories) == 3)
    (memory_id,) = set(found) - {FIRST, SECOND}
    deadline = time.monotonic() + 30
    while memory_id.encode() not in (written := path.read_bytes()):
        assert time.monotonic() < deadline, written
        time.sleep(0.05)
    assert written.endswith(body.encode())
    assert written.startswith(b"---")
    assert len(re.findall(rb"^id:", written, re.MULTILINE)) == 1
    time.sleep(1)
    assert path.read_bytes() == written
    assert set(device.memories()) == {FIRST, SECOND, memory_id}
