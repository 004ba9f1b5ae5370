"""Our daemon on machine A, rclone as B and onedrive as C work on the same memories; in the end all trees are equal.

Runs inside `with_clients.sh`, which gives rclone its configuration (the remote is `od:`), onedrive its folder, and
all of them the emulator as graph.microsoft.com. See `real_clients.sh`.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from memory_cache.models import Change
from tests.daemon.processes import Device, eventually
from tests.graph_emulator.emulator import TOKEN

FOLDER = "Apps/ClaudeMemory"
PATIENCE = 90.0


def rclone(*arguments: str, text: str = "") -> str:
    """Run rclone; what it printed. Its own retries would hide errors of the emulator."""
    command = ["rclone", "--retries", "1", "--low-level-retries", "1", *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout


def onedrive() -> None:
    """Sync machine C once."""
    command = ["onedrive", f"--confdir={os.environ['ONEDRIVE_CONFDIR']}", "--synchronize", "--verbose"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def tree_of(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class World:
    """The three machines."""

    def __init__(self, base: Path) -> None:
        self.a = Device(base, "a", CLAUDE_MEMORY_STORAGE_BACKEND="onedrive", CLAUDE_MEMORY_GRAPH_TOKEN=TOKEN)
        self.c = Path(os.environ["ONEDRIVE_SYNC_DIR"]) / FOLDER
        self.copies = base / "copies"
        self._clock = 0

    def a_files(self) -> dict[str, bytes]:
        """What A's cache holds."""

        def read(connection: Any) -> dict[str, bytes]:
            rows = connection.execute("SELECT path, content FROM files WHERE content IS NOT NULL")
            return {row[0]: bytes(row[1]) for row in rows}

        return dict(self.a.cache(lambda cache: cache.database.read(read)))

    def drive_files(self) -> dict[str, bytes]:
        """What the drive holds, as rclone sees it."""
        self.copies.mkdir(exist_ok=True)
        target = self.copies / str(time.monotonic_ns())
        rclone("copy", f"od:{FOLDER}", str(target))
        return tree_of(target)

    def texts(self) -> str:
        """Every memory of A as one text."""
        return b"\n".join(self.a_files().values()).decode()

    def replaced(self) -> str:
        """Every version that A has seen replaced as one text."""

        def read(connection: Any) -> bytes:
            return b"\n".join(bytes(row[0]) for row in connection.execute("SELECT content FROM revisions"))

        return bytes(self.a.cache(lambda cache: cache.database.read(read))).decode()

    def path_of(self, words: str) -> str:
        """The path of the memory in which these words are."""
        return next(p for p, data in self.a_files().items() if p.startswith("memories/") and words.encode() in data)

    def edit_on_c(self, path: str, old: str, new: str) -> None:
        """A person edits a file on C; the clients know an edit by its time."""
        file = self.c / path
        assert old in file.read_text("utf-8")
        file.write_text(file.read_text("utf-8").replace(old, new), "utf-8")
        self._clock += 10
        stamp = time.time() + self._clock
        os.utime(file, (stamp, stamp))


def remembered_on_a(world: World) -> None:
    """A remembers; B and C have it."""
    for text in ("Port of the database is 5432", "Tabs, not spaces", "Release on Tuesdays", "Ask Kim about invoices"):
        world.a.remember(text)
    eventually(lambda: rclone("lsf", "-R", "--files-only", "od:").count(".md") == 4, "uploaded")
    onedrive()
    assert {p: d for p, d in tree_of(world.c).items() if p.startswith("memories/")} == {
        p: d for p, d in world.a_files().items() if p.startswith("memories/")
    }


def written_on_b(world: World) -> None:
    """B writes a file by hand, without any front matter; A takes it in and C gets it as A wrote it."""
    rclone("rcat", f"od:{FOLDER}/memories/preferences/Größe & Länge #1.md", text="Metric units, please\n")
    eventually(lambda: any("Metric units" in title for title in world.a.titles()), "A has B's file")
    eventually(lambda: b"id:" in world.drive_files()["memories/preferences/Größe & Länge #1.md"], "A gave it an id")
    onedrive()


def edited_on_c(world: World) -> None:
    """C edits, A has it."""
    world.edit_on_c(world.path_of("5432"), "5432", "6432")
    onedrive()
    eventually(lambda: "6432" in world.texts(), "A has C's edit")


def edited_on_a_and_c(world: World) -> None:
    """A and C edit one memory at once. onedrive overwrites what it did not know: A keeps that in its history."""
    path = world.path_of("Kim")
    world.edit_on_c(path, "invoices", "invoices\nor Lee, said C")
    memory = next(m for m in world.a.cache(lambda cache: cache.export()) if "Kim" in m["content"])
    world.a.cache(lambda cache: cache.update(memory["id"], Change(add_tags=("people",))))
    eventually(lambda: "people" in rclone("cat", f"od:{FOLDER}/{path}"), "A's edit is up")
    onedrive()
    onedrive()
    eventually(lambda: "said C" in world.texts(), "C's edit is kept")
    assert "people" in world.texts() + world.replaced(), "A's edit is kept"


def moved_on_b(world: World) -> None:
    """B moves a file into another folder; onedrive follows by uploading it anew under another id."""
    path = world.path_of("Tabs")
    rclone("moveto", f"od:{FOLDER}/{path}", f"od:{FOLDER}/memories/moved/tabs.md")
    eventually(lambda: "memories/moved/tabs.md" in world.a_files(), "A follows the move")
    onedrive()
    onedrive()
    eventually(lambda: sum("Tabs" in title for title in world.a.titles()) == 1, "one memory, not two")


def is_gone(world: World, words: str) -> bool:
    """A has no memory with these words in its title."""
    return not any(words in title for title in world.a.titles())


def deleted_everywhere(world: World) -> None:
    """Each machine deletes one; all follow."""
    for words, delete in (
        ("Tuesdays", lambda path: rclone("deletefile", f"od:{FOLDER}/{path}")),
        ("Metric", lambda path: (world.c / path).unlink()),
    ):
        delete(world.path_of(words))
        onedrive()
        eventually(partial(is_gone, world, words), f"A follows: {words}")
    memory = next(m for m in world.a.cache(lambda cache: cache.export()) if "6432" in m["content"])
    world.a.cache(lambda cache: cache.forget(memory["id"]))
    eventually(lambda: "6432" not in str(world.drive_files()), "A's deletion is up")
    onedrive()


def all_equal(world: World) -> None:
    """The drive, onedrive's folder and A's cache hold the same bytes."""

    def equal() -> bool:
        onedrive()
        return world.a_files() == world.drive_files() == tree_of(world.c)

    eventually(equal, "all trees are equal")
    titles = world.a.titles()
    assert len(titles) == 2, titles
    assert world.a.run("status")["conflicts"] == 0


STEPS: tuple[Callable[[World], None], ...] = (
    remembered_on_a,
    written_on_b,
    edited_on_c,
    edited_on_a_and_c,
    moved_on_b,
    deleted_everywhere,
    all_equal,
)


def main() -> None:
    """Run the steps; the first that fails ends it."""
    with tempfile.TemporaryDirectory() as temporary:
        world = World(Path(temporary))
        with world.a.daemon():
            for step in STEPS:
                begun = time.monotonic()
                step(world)
                print(f"ok    {step.__name__.replace('_', ' '):<40} {time.monotonic() - begun:6.1f} s", flush=True)
    print(f"all equal, mixed ({os.environ['ACCOUNT']})")


if __name__ == "__main__":
    main()
