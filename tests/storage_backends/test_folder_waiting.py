"""Waiting ends for everything that others do to the content, for nothing else, and without events too."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from storage_backends import folder_waiting, folder_watch
from storage_backends.folder import FolderStorage

from .contract import View
from .folder_help import mounted, storage

QUIET = 0.4


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "store"


async def ready(device: FolderStorage) -> View:
    """A caller that knows everything, of a device that watches."""
    view = await View().follow(device)
    while await device.wait_for_change(0.1):
        await view.follow(device)
    return view


async def wakes(device: FolderStorage, act: Callable[[], object], *, within: float = 20) -> bool:
    """Whether waiting ends after `act`, which is done while it waits."""
    woken = False

    async def wait() -> None:
        nonlocal woken
        woken = await device.wait_for_change(within)

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.sleep(0.1)
        result = act()
        if isinstance(result, Awaitable):
            await result
    return woken


async def test_an_edit_in_place_is_seen_by_events_alone(root: Path) -> None:
    async with storage(root) as device:
        await device.create("memories/task/a.md", b"old")
        view = await ready(device)
        for number in range(3):
            assert await wakes(device, lambda n=number: (root / "memories/task/a.md").write_bytes(b"%d" % n))
            await view.follow(device)
            assert (await device.read("memories/task/a.md")).item == view.items["memories/task/a.md"]
        assert device.polling_reason is None


@pytest.mark.skipif(os.name != "posix" or shutil.which("sed") is None, reason="needs sed")
async def test_saves_of_editors_and_removals_wake(root: Path) -> None:
    async with storage(root) as device:
        await device.create("memories/a.md", b"old")
        view = await ready(device)
        file = root / "memories/a.md"
        for command in (
            ["sed", "-i", "s/old/new/", str(file)],
            ["mv", str(file), str(file) + ".b.md"],
            ["rm", str(file) + ".b.md"],
        ):
            assert await wakes(device, lambda c=command: subprocess.run(c, check=True))
            await view.follow(device)
        assert view.paths == set()


async def test_files_in_new_folders_are_watched_too(root: Path) -> None:
    async with storage(root) as device:
        view = await ready(device)
        assert await wakes(device, lambda: (root / "new/deep").mkdir(parents=True) or (root / "new/deep/a.md").touch())
        await view.follow(device)
        assert view.paths == {"new/deep/a.md"}
        await ready(device)
        assert await wakes(device, lambda: (root / "new/deep/a.md").write_bytes(b"edited in place"))


async def test_a_change_made_while_nobody_waited_ends_the_next_wait(root: Path) -> None:
    async with storage(root) as device:
        await ready(device)
        (root / "a.md").write_bytes(b"x")
        assert await device.wait_for_change(20)


async def test_a_cancelled_wait_does_not_swallow_the_hint(root: Path) -> None:
    async with storage(root) as device:
        await ready(device)
        with anyio.move_on_after(0.2):
            async with anyio.create_task_group() as group:
                group.start_soon(device.wait_for_change, 20)
                (root / "a.md").write_bytes(b"x")
                group.cancel_scope.cancel()
        assert await device.wait_for_change(20)


async def test_an_edit_while_the_watch_begins_is_seen(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = folder_waiting.Watcher

    def edit_first(*arguments: object) -> object:
        (root / "a.md").write_bytes(b"edited in place, before the watch and after the last look")
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(folder_waiting, "Watcher", edit_first)
    async with storage(root) as device:
        await device.create("a.md", b"old")
        await View().follow(device)
        assert await device.wait_for_change(20)


async def test_what_is_found_out_after_a_page_is_not_taken_for_told(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with storage(root) as device:
        await ready(device)
        real = device._waiting.told

        def found_out_first() -> None:
            (root / "a.md").write_bytes(b"x")
            device._state.refresh(None)  # as the waiting thread may do at this very moment
            real()

        monkeypatch.setattr(device._waiting, "told", found_out_first)
        await device.changes(None)
        assert await device.wait_for_change(0.5)


async def test_own_writes_and_temporary_files_wake_nobody(root: Path) -> None:
    async with storage(root) as device:
        item = await device.create("memories/a.md", b"old")
        await ready(device)

        async def write() -> None:
            updated = await device.update(item.item_id, b"new", item.version)
            new = await device.create("memories/b.md", b"x")
            await device.delete(new.item_id, new.version)
            await device.update(item.item_id, b"newer", updated.version)
            for name in (".a.md.swp", "4913", "a.md~", ".~lock.a.md#", "x.tmp"):
                (root / "memories" / name).write_bytes(b"x")
                (root / "memories" / name).unlink()

        assert not await wakes(device, write, within=1.0)


async def test_what_own_writes_did_is_still_in_the_stream(root: Path) -> None:
    async with storage(root) as device:
        view = await ready(device)
        await device.create("a.md", b"x")
        assert (await view.follow(device)).paths == {"a.md"}


async def test_a_root_that_goes_and_comes_back_wakes_twice(root: Path, tmp_path: Path) -> None:
    async with storage(root) as device:
        await device.create("a.md", b"x")
        await ready(device)
        assert await wakes(device, lambda: root.rename(tmp_path / "away"))
        with pytest.raises(Exception, match="not there"):
            await device.changes(None)
        assert not await device.wait_for_change(QUIET)
        assert await wakes(device, lambda: (tmp_path / "away").rename(root))
        view = await ready(device)
        assert view.paths == {"a.md"}
        assert await wakes(device, lambda: (root / "a.md").write_bytes(b"edited in place"))


async def test_an_unmount_wakes(root: Path) -> None:
    root.mkdir()
    with mounted(root, "-t", "tmpfs", "none"):
        async with FolderStorage(root) as device:
            await device.create("a.md", b"x")
            await ready(device)
            assert await wakes(device, lambda: subprocess.run(["umount", str(root)], check=True))


async def test_waiting_for_a_root_that_never_was_ends_when_it_comes(root: Path) -> None:
    async with FolderStorage(root) as device:
        assert not await device.wait_for_change(0.05)
        assert await wakes(device, lambda: FolderStorage.prepare(root))


async def test_without_events_the_folder_is_looked_at_again_and_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "OS file watch limit reached")

    monkeypatch.setattr(folder_waiting, "Watcher", refuse)
    monkeypatch.setattr(folder_waiting, "SHORTEST_POLL_SECONDS", 0.1)
    async with storage(root) as device:
        view = await ready(device)
        assert "limit" in str(device.polling_reason)
        assert await wakes(device, lambda: (root / "a.md").write_bytes(b"x"))
        assert (await view.follow(device)).paths == {"a.md"}


async def test_a_network_mount_is_polled_because_its_events_do_not_tell_of_other_machines(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_waiting, "SHORTEST_POLL_SECONDS", 0.1)
    monkeypatch.setattr(folder_waiting, "why_events_are_missing", lambda path: "nfs4")
    async with storage(root) as device:
        await ready(device)
        assert "nfs4" in str(device.polling_reason)
        assert await wakes(device, lambda: (root / "a.md").write_bytes(b"x"))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_kind_of_file_system_is_that_of_the_nearest_mount(tmp_path: Path) -> None:
    assert folder_watch.why_events_are_missing(str(tmp_path)) is None
    with mounted(tmp_path / "a b", "-t", "tmpfs", "none"):
        assert folder_watch.why_events_are_missing(str(tmp_path / "a b" / "c")) is None


LIMITED = """
import sys, anyio
from pathlib import Path
from storage_backends import folder_waiting
from storage_backends.folder import FolderStorage

async def main(root):
    folder_waiting.SHORTEST_POLL_SECONDS = 0.1
    async with FolderStorage(Path(root)) as device:
        await device.changes(None)
        await device.wait_for_change(0.1)
        print(device.polling_reason)
        (Path(root) / "1" / "a.md").write_bytes(b"x")
        print(await device.wait_for_change(20))

anyio.run(main, sys.argv[1])
"""


@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare")
async def test_used_up_watches_of_the_system_lead_to_polling(root: Path) -> None:
    for number in range(6):
        (root / str(number)).mkdir(parents=True)
    project = Path(folder_watch.__file__).parents[1]
    limit = 'echo 3 > /proc/sys/user/max_inotify_watches && exec "$@"'
    command = [
        "unshare",
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        limit,
        "sh",
        sys.executable,
        "-c",
        LIMITED,
        str(root),
    ]
    done = await anyio.to_thread.run_sync(
        lambda: subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(project)}, check=False
        )
    )
    if done.returncode != 0 and "Traceback" not in done.stderr:
        pytest.skip(f"no user namespaces here: {done.stderr.strip()}")
    assert done.stdout.splitlines() == ["OS file watch limit reached.", "True"], done.stderr


async def test_waiting_leaves_no_thread_behind(root: Path) -> None:
    before = {thread.ident for thread in threading.enumerate() if not thread.name.startswith("AnyIO")}
    async with storage(root) as device:
        await ready(device)
        with anyio.move_on_after(0.05):
            await device.wait_for_change(3600)
    left = {thread.ident for thread in threading.enumerate() if not thread.name.startswith("AnyIO")}
    assert left <= before


async def test_links_are_not_watched_out_of_the_root(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside/deep").mkdir(parents=True)
    async with storage(root) as device:
        (root / "link").symlink_to(tmp_path / "outside", target_is_directory=True)
        await ready(device)
        assert not await wakes(device, lambda: (tmp_path / "outside/deep/a.md").write_bytes(b"x"), within=QUIET)
