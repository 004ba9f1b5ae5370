"""Nobody's save is ever destroyed, nobody sees half a file, and a process killed anywhere leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from storage_backends import folder_rename, folder_root, folder_write
from storage_backends.errors import ItemBusy, NotFound, StorageError, VersionMismatch
from storage_backends.folder import FolderStorage
from storage_backends.folder_directory import Directory
from storage_backends.folder_snapshot import digest_of
from storage_backends.folder_temporary import LEFTOVER_SECONDS, Stage, temporary_name

from .contract import View
from .folder_help import Clock, names, storage, temporary_files, tree

posix = pytest.mark.skipif(os.name != "posix", reason="uses calls of POSIX")
linux = pytest.mark.skipif(sys.platform != "linux", reason="uses calls of Linux")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture(params=["exchange", "no exchange"])
def exchange(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The update with and without the file system's exchange."""
    if request.param == "no exchange":

        def refuse(fd: int | None, one: str, other: str) -> None:
            raise folder_rename.ExchangeUnsupported

        monkeypatch.setattr(folder_rename, "exchange", refuse)
    return str(request.param)


# Somebody else saves in the very instant


def save_in_place(file: Path) -> None:
    file.write_bytes(b"an editor's save")


def save_by_rename(file: Path) -> None:
    new = file.with_name("editor.part")
    new.write_bytes(b"an editor's save")
    new.rename(file)


def save_with_the_same_size_and_time(file: Path) -> None:
    before = file.stat()
    file.write_bytes(b"OLD")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def remove(file: Path) -> None:
    file.unlink()


def replace_by_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def replace_by_link(file: Path) -> None:
    file.unlink()
    file.symlink_to(file.parent)


SAVES = [save_in_place, save_by_rename, save_with_the_same_size_and_time]
REMOVALS = [remove, replace_by_folder, replace_by_link]


def just_before(monkeypatch: pytest.MonkeyPatch, call: str, act: Callable[[], None], *, turn: int = 1) -> None:
    """Let `act` happen right before the nth time that a `Directory` does `call`."""
    real = getattr(Directory, call)
    count = 0

    def wrapped(self: Directory, *arguments: object) -> object:
        nonlocal count
        count += 1
        if count == turn:
            act()
        return real(self, *arguments)

    monkeypatch.setattr(Directory, call, wrapped)


@posix
@pytest.mark.parametrize("save", SAVES)
async def test_a_save_in_the_instant_of_an_update_stays(
    root: Path, monkeypatch: pytest.MonkeyPatch, exchange: str, save: Callable[[Path], None]
) -> None:
    async with storage(root) as device:
        item = await device.create("memories/a.md", b"old")
        file = root / "memories/a.md"
        # The last step before the change: the file was read and compared, the new one is written
        just_before(monkeypatch, "rename", lambda: save(file))
        with pytest.raises(VersionMismatch):
            await device.update(item.item_id, b"mine, longer", item.version)
        saved = b"OLD" if save is save_with_the_same_size_and_time else b"an editor's save"
        assert tree(root) == {"memories/a.md": saved}
        item = await device.stat(item.item_id)
        await device.update(item.item_id, b"mine, again", item.version)
        assert tree(root) == {"memories/a.md": b"mine, again"}


@posix
@pytest.mark.parametrize("save", SAVES)
async def test_a_save_in_the_instant_of_a_delete_stays(
    root: Path, monkeypatch: pytest.MonkeyPatch, save: Callable[[Path], None]
) -> None:
    async with storage(root) as device:
        item = await device.create("memories/a.md", b"old")
        just_before(monkeypatch, "rename", lambda: save(root / "memories/a.md"))
        with pytest.raises(VersionMismatch):
            await device.delete(item.item_id, item.version)
        saved = b"OLD" if save is save_with_the_same_size_and_time else b"an editor's save"
        assert tree(root) == {"memories/a.md": saved}


@posix
@pytest.mark.parametrize("removal", REMOVALS)
async def test_what_takes_the_place_in_the_instant_of_an_update_stays(
    root: Path, monkeypatch: pytest.MonkeyPatch, exchange: str, removal: Callable[[Path], None]
) -> None:
    async with storage(root) as device:
        item = await device.create("memories/a.md", b"old")
        just_before(monkeypatch, "rename", lambda: removal(root / "memories/a.md"))
        with pytest.raises((VersionMismatch, NotFound)):
            await device.update(item.item_id, b"mine", item.version)
        assert tree(root) == {}
        assert temporary_files(root) == []
        assert names(root / "memories") == ([] if removal is remove else ["a.md"])


@linux
async def test_a_program_that_still_writes_into_the_old_file_is_waited_for(root: Path, exchange: str) -> None:
    async with storage(root) as device:
        item = await device.create("a.md", b"old")
        with (root / "a.md").open("r+b") as handle:
            for call in (device.update(item.item_id, b"mine", item.version), device.delete(item.item_id, item.version)):
                with pytest.raises(ItemBusy):
                    await call
            item = await device.stat(item.item_id)
            handle.write(b"late")
        assert tree(root) == {"a.md": b"late"}
        with pytest.raises(VersionMismatch):
            await device.update(item.item_id, b"mine", item.version)


@linux
async def test_two_saves_in_the_two_instants_of_an_undone_update_both_stay(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with storage(root) as device:
        item = await device.create("memories/a.md", b"old")
        file = root / "memories/a.md"
        just_before(monkeypatch, "exchange", lambda: save_in_place(file))

        def save_again() -> None:
            new = file.with_name("editor.part")
            new.write_bytes(b"a second save")
            new.rename(file)

        just_before(monkeypatch, "exchange", save_again, turn=2)
        with pytest.raises(VersionMismatch):
            await device.update(item.item_id, b"mine", item.version)
        assert sorted(tree(root).values()) == [b"a second save", b"an editor's save"]
        assert len((await View().follow(device)).paths) == 2  # beside each other, for everybody to see


@linux
async def test_a_removal_in_the_instant_of_undoing_loses_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with storage(root) as device:
        item = await device.create("a.md", b"old")
        just_before(monkeypatch, "exchange", lambda: save_in_place(root / "a.md"))
        just_before(monkeypatch, "exchange", (root / "a.md").unlink, turn=2)
        with pytest.raises(VersionMismatch):
            await device.update(item.item_id, b"mine", item.version)
        assert tree(root) == {"a.md": b"an editor's save"}


async def test_a_new_file_in_the_instant_of_a_creation_stays(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with storage(root) as device:
        FolderStorage.prepare(root / "memories")
        just_before(monkeypatch, "rename_new", lambda: save_in_place(root / "memories/a.md"))
        with pytest.raises(StorageError):
            await device.create("memories/a.md", b"mine")
        assert tree(root) == {"memories/a.md": b"an editor's save"}


async def test_a_file_being_replaced_is_busy_and_not_gone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where files cannot be exchanged, the name is missing for a moment; nobody may take that for a removal."""
    monkeypatch.setattr(folder_rename, "exchange", _unsupported)
    async with storage(root) as device, FolderStorage(root) as other:
        item = await device.create("memories/a.md", b"old")
        view = await View().follow(other)
        seen: list[object] = []

        def look() -> None:
            assert names(root / "memories") != ["a.md"]
            for call in (other._stat, other._read):
                with pytest.raises(ItemBusy) as caught:
                    call(item.item_id)
                seen.append(caught.value)
            page = other._changes(view.cursor)
            seen.append(page)
            assert list(page.removed) == []

        just_before(monkeypatch, "rename_new", look)
        await device.update(item.item_id, b"new", item.version)
        assert len(seen) == 3


def _unsupported(fd: int | None, one: str, other: str) -> None:
    raise folder_rename.ExchangeUnsupported


# Several processes

WRITER = """
import sys, anyio
from pathlib import Path
from storage_backends.errors import ItemBusy, VersionMismatch
from storage_backends.folder import FolderStorage

async def main(root, rounds):
    async with FolderStorage(Path(root)) as device:
        done = 0
        while done < rounds:
            try:
                content = await device.read("counter.md")
                await device.update("counter.md", b"%d" % (int(content.data) + 1), content.item.version)
                done += 1
            except (VersionMismatch, ItemBusy):
                pass

anyio.run(main, sys.argv[1], int(sys.argv[2]))
"""

ENDLESS_WRITER = """
import sys, anyio
from pathlib import Path
from storage_backends import folder_rename
from storage_backends.folder import FolderStorage

def refuse(fd, one, other):
    raise folder_rename.ExchangeUnsupported

async def main(root):
    async with FolderStorage(Path(root)) as device:
        number = 0
        print("ready", flush=True)
        while True:
            content = await device.read("memories/a.md")
            number += 1
            digit = b"%d" % (number % 10)
            item = await device.update("memories/a.md", digit * 30_000, content.item.version)
            new = await device.create(f"memories/{sys.argv[3]}-{number}.md", digit * 5_000)
            if number % 2:
                await device.delete(new.item_id, new.version)

if sys.argv[2] == "no exchange":
    folder_rename.exchange = refuse
anyio.run(main, sys.argv[1])
"""


def run(script: str, *arguments: str) -> subprocess.Popen[str]:
    project = str(Path(folder_write.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": project}
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments], env=environment, stdout=subprocess.PIPE, text=True
    )


async def test_no_increment_of_three_processes_is_lost(root: Path) -> None:
    async with storage(root) as device:
        await device.create("counter.md", b"0")
        writers = [run(WRITER, str(root), "40") for _ in range(3)]
        for writer in writers:
            writer.communicate(timeout=60)
            assert writer.returncode == 0
        assert tree(root) == {"counter.md": b"120"}


@posix
@pytest.mark.parametrize("mode", ["exchange", "no exchange"])
async def test_a_process_killed_at_any_moment_leaves_whole_files_only(root: Path, mode: str) -> None:
    clock = Clock()
    FolderStorage.prepare(root)
    async with FolderStorage(root, clock=clock) as device:
        await device.create("memories/a.md", b"0" * 30_000)
        for turn in range(6):
            writer = run(ENDLESS_WRITER, str(root), mode, str(turn))
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(0.02 + 0.013 * turn)
            writer.send_signal(signal.SIGKILL)
            writer.communicate()
            view = await View().follow(device)
            clock.ahead += LEFTOVER_SECONDS + 1
            view = await View().follow(device)  # clears up
            await view.follow(device)
            assert "memories/a.md" in view.paths
            assert temporary_files(root) == []
            for path, data in tree(root).items():
                assert len(set(data)) == 1
                assert len(data) == (30_000 if path == "memories/a.md" else 5_000)


# Leftovers of killed processes


def leftover(root: Path, stage: Stage, data: bytes, *, seen: bytes | None = None, ours: bytes | None = None) -> None:
    name = temporary_name(
        stage,
        "a.md",
        seen=digest_of(seen) if seen is not None else "none",
        ours=digest_of(ours) if ours is not None else "none",
    )
    (root / name).write_bytes(data)


@pytest.fixture
def aged(root: Path) -> FolderStorage:
    FolderStorage.prepare(root)
    clock = Clock()
    clock.ahead = LEFTOVER_SECONDS + 1
    return FolderStorage(root, clock=clock)


LEFTOVERS: dict[str, tuple[Stage, bytes, bytes | None, bytes | None, bool, list[bytes]]] = {
    # what it is: stage, bytes in it, seen, ours, whether the living file is there, what is there in the end
    "half written": (Stage.WRITING, b"ha", None, b"half", True, [b"living"]),
    "whole, before the exchange": (Stage.READY, b"ours", b"living", b"ours", True, [b"living"]),
    "displaced, as seen": (Stage.READY, b"seen", b"seen", b"living", True, [b"living"]),
    "displaced, unseen": (Stage.READY, b"editor", b"seen", b"living", True, [b"editor", b"living"]),
    "awaiting its successor": (Stage.AWAITED, b"seen", b"seen", None, False, [b"seen"]),
    "followed by its successor": (Stage.AWAITED, b"seen", b"seen", None, True, [b"living"]),
    "about to be deleted": (Stage.DELETED, b"seen", b"seen", None, False, []),
    "about to be deleted, unseen": (Stage.DELETED, b"editor", b"seen", None, False, [b"editor"]),
    "deleted, unseen, made anew": (Stage.DELETED, b"editor", b"seen", None, True, [b"editor", b"living"]),
}


@pytest.mark.parametrize("case", LEFTOVERS)
async def test_an_old_leftover_is_cleared_and_unseen_bytes_come_back(
    root: Path, aged: FolderStorage, case: str
) -> None:
    stage, data, seen, ours, is_living, expected = LEFTOVERS[case]
    if is_living:
        (root / "a.md").write_bytes(b"living")
    leftover(root, stage, data, seen=seen, ours=ours)
    async with aged as device:
        await device.changes(None)
        view = await View().follow(device)
        assert sorted(tree(root).values()) == expected
        assert temporary_files(root) == []
        assert len(view.paths) == len(expected)
        assert ("a.md" in view.paths) == bool(expected)


async def test_young_leftovers_and_other_programs_temporary_files_stay(root: Path, aged: FolderStorage) -> None:
    FolderStorage.prepare(root)
    for name in ("a.tmp", ".~claude-memory.tmp", ".~claude-memory-x-none-none-00000000-a.md.tmp", ".~lock.a.md#"):
        (root / name).write_bytes(b"x")
    others = set(names(root))
    async with aged as device:
        await device.changes(None)
    assert set(names(root)) == others
    leftover(root, Stage.WRITING, b"ha", ours=b"half")
    async with FolderStorage(root) as device:
        await device.changes(None)
        await device.changes(None)
    assert len(names(root)) == len(others) + 1


@posix
async def test_a_held_lock_makes_writers_wait_and_then_give_up(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    monkeypatch.setattr(folder_root, "LOCK_SECONDS", 0.05)
    async with storage(root) as device:
        item = await device.create("a.md", b"x")
        descriptor = os.open(root, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            with pytest.raises(ItemBusy):
                await device.update(item.item_id, b"y", item.version)
            assert (await device.read(item.item_id)).data == b"x"
        finally:
            os.close(descriptor)
        await device.update(item.item_id, b"y", item.version)
