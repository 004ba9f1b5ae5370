"""What `doctor --repair` mends. Nothing a person wrote is deleted, and nothing that only this device has is dropped."""

import os
import sqlite3
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio

from command_line.checks import Check
from command_line.device_files import device_files
from command_line.errors import CommandFailed
from daemon import lock
from memory_cache import files, settings, text_format
from memory_cache.cache import MemoryCache, open_cache
from memory_cache.home import Home
from memory_cache.problems import Code


def repair(home: Home, found: Sequence[Check]) -> list[str]:
    """Mend, and say what was done, a sentence each. Raises: CommandFailed, MemoryCacheError, StorageError."""
    done = _close_files(home) + _remove_stale_socket(home)
    if any(check.name == "settings" and check.state != "ok" for check in found):
        return done
    done += anyio.run(_mend_cache, home)
    return done + _look_at_the_whole_storage(home)


def _close_files(home: Home) -> list[str]:
    done = []
    for path in (home.root, *device_files(home)):
        mode = path.stat().st_mode
        if os.name != "nt" and mode & 0o077:
            path.chmod(mode & 0o700)
            done.append(f"closed {path} to other users")
    return done


def _remove_stale_socket(home: Home) -> list[str]:
    if os.name == "nt" or not home.socket_path.exists():
        return []
    try:
        with lock.hold(home.lock_file, "repair"):
            home.socket_path.unlink(missing_ok=True)
    except lock.AlreadyLocked:
        return []
    return [f"removed the socket of a dead daemon, {home.socket_path}"]


async def _mend_cache(home: Home) -> list[str]:
    # Opening a damaged cache sets it aside and takes over what only this device has.
    async with open_cache(home, settings.load(home, os.environ), examine=True) as cache:
        done = await _settle_duplicate_ids(cache)
        await cache.rebuild()
        return [*done, "derived memories, search and conflicts anew from the files in the cache"]


async def _settle_duplicate_ids(cache: MemoryCache) -> list[str]:
    done = []
    for problem in await cache.problems():
        if problem.code != Code.DUPLICATE_ID:
            continue
        settled = await cache.database.write(partial(_own_id, problem.path))
        if settled:
            done.append(f"{problem.path} has the id {settled} now")
    return done


def _own_id(path: str, connection: sqlite3.Connection) -> str:
    """Write the id that the memory is known by into its file; empty when it cannot be done."""
    record = files.by_path(connection, path)
    if record is None or record.content is None:
        return ""
    row = connection.execute(
        "SELECT id FROM memories WHERE file_id = ? AND read_only IS NULL", (record.file_id,)
    ).fetchone()
    if row is None:
        return ""
    files.write(connection, record.file_id, text_format.rewrite(record.content, set={"id": row["id"]}))
    return str(row["id"])


def _look_at_the_whole_storage(home: Home) -> list[str]:
    from command_line import sync_command
    from memory_cache.errors import SettingsError

    if settings.load(home, os.environ).storage.folder() is None and not Path(home.login_dir).is_dir():
        return []
    try:
        report, _ = sync_command.sync_now(home, full=True, confirm_deletes=False, tell=lambda message: None)
    except (CommandFailed, SettingsError) as error:
        return [f"the storage could not be looked at: {error}"]
    return [f"compared every file with the storage: {sync_command.in_words(report)}"]
