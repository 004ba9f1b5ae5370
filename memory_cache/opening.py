"""Opening this device's cache: refused in a synced folder, examined when there is reason to, replaced when damaged.

A damaged file is moved aside, never deleted at once. A new one takes over every row that is whole, above all those that
were never uploaded; the rest comes from the storage again. Deletions that had not reached the storage are not taken
over: a damaged cache never causes a delete. A file that was removed while processes worked with it is treated alike:
they leave a copy of what they held (`database.orphans_of`).
"""

import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import anyio.to_thread

from memory_cache import database, salvage
from memory_cache.database import Database, orphans_of, suspect_mark
from memory_cache.errors import CacheDamaged, CacheUnusable
from memory_cache.home import Home, synced_folder_of

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_KEPT_ASIDE = 3
_WAIT_SECONDS = 60.0
_LEAVE_SECONDS = 5.0


@asynccontextmanager
async def open_home(home: Home, *, examine: bool = False) -> AsyncIterator[Database]:
    """The database of this home, migrated and whole.

    Args:
        examine: run `quick_check` even when nothing speaks for damage. It is run anyway when the last process
            did not close the cache, or met damage in it; but only by the one process that has it open.

    Raises: CacheUnusable: inside a synced folder, no permission, newer schema; damaged while others have it open.
    """
    use = await anyio.to_thread.run_sync(_prepare, home, examine)
    try:
        async with database.open_database(home.cache_file) as opened:
            yield opened
    finally:
        use.release()


class _Use:
    """A shared lock on the cache, held while it is open: who gets it exclusively knows that nobody else is in it.

    Windows needs none: there an open file cannot be moved.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)

    def alone(self) -> bool:
        if fcntl is None:
            return True
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def alone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not self.alone():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def share(self) -> None:
        if fcntl is None:
            return
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError:
                if time.monotonic() > deadline:
                    raise CacheUnusable(
                        "Another process has been repairing the cache for a minute.", "Try again later."
                    ) from None
                time.sleep(0.02)
            else:
                return

    def release(self) -> None:
        os.close(self._descriptor)


def _prepare(home: Home, examine: bool) -> _Use:
    synced = synced_folder_of(home.root)
    if synced is not None:
        raise CacheUnusable(
            f"The cache would lie in {home.root}, inside the synced folder {synced}; sync clients damage databases.",
            "Set CLAUDE_MEMORY_HOME to a folder that is not synced. Only the memories belong into a synced folder.",
        )
    path = home.cache_file
    try:
        home.ensure()
        use = _Use(path.with_name(path.name + ".use"))
    except OSError as error:
        raise CacheUnusable(
            f"The folder {home.root} cannot be used: {error.strerror}.", "Check its permissions."
        ) from error
    try:
        # Whoever still works with a cache that was removed notices within seconds, and hands on what it held.
        if use.alone() or (not path.exists() and use.alone_within(_LEAVE_SECONDS)):
            _repair_if_damaged(path, examine)
        elif not path.exists():
            _create(path)
        use.share()
        if orphans_of(path):
            _unite(path)
    except BaseException:
        use.release()
        raise
    return use


def _repair_if_damaged(path: Path, examine: bool) -> None:
    mark = suspect_mark(path)
    left_open = _size(path.with_name(path.name + "-wal")) > 0
    if not path.exists():
        if orphans := orphans_of(path):
            _replace(orphans[0], path)
        else:
            _create(path)
    elif not _whole(path, deep=examine or left_open or mark.exists()):
        _replace(path, path)
    mark.unlink(missing_ok=True)


def _create(path: Path) -> None:
    """A new file, readable by its owner only. Several processes may do this at once."""
    with _one_at_a_time(path):
        if path.exists():
            return
        # A log without its database would be played into the new one; and whoever still works with one that was
        # removed has these two open: another database must not share them.
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        with suppress(OSError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


@contextmanager
def _one_at_a_time(path: Path) -> Iterator[None]:
    descriptor = os.open(path.with_name(path.name + ".create"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _whole(path: Path, *, deep: bool) -> bool:
    try:
        connection = database.connect(path)
    except CacheDamaged:
        return False
    try:
        if deep:
            with database.explained(path):
                return str(connection.execute("PRAGMA quick_check(1)").fetchone()[0]) == "ok"
    except CacheDamaged:
        return False
    finally:
        connection.close()
    return True


def _replace(source: Path, path: Path) -> None:
    """Make a new cache of what can be read of the damaged or removed one, and set that one aside."""
    fresh = path.with_name(path.name + ".new")
    for suffix in ("", "-wal", "-shm"):
        fresh.with_name(fresh.name + suffix).unlink(missing_ok=True)
    aside = _aside(path)
    connection = database.connect_migrated(fresh)
    try:
        salvage.take_over(source, connection, kept_as=aside)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()
    fresh.chmod(0o600)
    try:
        # The log goes first: beside a new database it would be played into that.
        for suffix in ("-wal", "-shm", ""):
            part = source.with_name(source.name + suffix)
            if part.exists():
                part.replace(aside.with_name(aside.name + suffix))
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        fresh.replace(path)
    except OSError as error:
        raise CacheUnusable(
            f"The damaged cache {path} cannot be replaced: {error.strerror}.",
            "End all other processes that use it, then try again.",
        ) from error
    _forget_old_ones(path)


def _unite(path: Path) -> None:
    """Another process made a new cache before the removed one's last user had left. Others may have it open."""
    with _one_at_a_time(path):
        for orphan in orphans_of(path):
            aside = _aside(path)
            connection = database.connect_migrated(path)
            try:
                salvage.put_beside(orphan, connection, mark=aside.name.rpartition("damaged-")[2])
            finally:
                connection.close()
            orphan.replace(aside)
        _forget_old_ones(path)


def _aside(path: Path) -> Path:
    return path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}")


def _forget_old_ones(path: Path) -> None:
    kept = sorted(p for p in path.parent.glob(f"{path.name}.damaged-*") if not p.name.endswith(("-wal", "-shm")))
    for old in kept[:-_KEPT_ASIDE]:
        for suffix in ("", "-wal", "-shm"):
            old.with_name(old.name + suffix).unlink(missing_ok=True)
