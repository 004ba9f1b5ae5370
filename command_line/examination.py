"""Gathers what `doctor` judges: every look is on its own, and one that fails is itself a finding."""

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import anyio

from command_line import checks, daemon_client, registration
from command_line.checks import Check, Facts
from command_line.device_files import device_files
from command_line.errors import CommandFailed
from command_line.storage_choice import APP_FOLDER
from command_line.version import version
from daemon import lock
from daemon.heartbeat import devices
from memory_cache import settings as settings_file
from memory_cache import spool
from memory_cache.cache import MemoryCache, open_cache
from memory_cache.errors import MemoryCacheError
from memory_cache.home import Home, onedrive_roots, user_home
from memory_cache.settings import Settings
from storage_backends.errors import StorageError
from storage_backends.folder import FolderStorage


def examine(home: Home, environ: Mapping[str, str] = os.environ) -> list[Check]:
    """Every check's answer, as things stand now."""
    return checks.judge(gather(home, environ))


def gather(home: Home, environ: Mapping[str, str] = os.environ) -> Facts:
    """The facts. Raises nothing that a broken set-up could cause."""
    facts = Facts(now=datetime.now(UTC), version=version(), home=str(home.root))
    facts.home_free = _free(home.root)
    facts.open_to_others = [str(path) for path in (home.root, *device_files(home)) if _open_to_others(path)]
    facts.spooled = len(spool.waiting(str(home.root)))
    facts.registrations = _registrations(environ)
    _look_at_daemon(home, facts)
    try:
        settings = settings_file.load(home, environ)
    except MemoryCacheError as error:
        facts.settings_error = f"{error.message} {error.hint}".rstrip()
        return facts
    facts.backend = settings.storage.backend
    _look_at_storage(home, settings, environ, facts)
    anyio.run(_look_into_cache, home, settings, facts)
    return facts


def _look_at_daemon(home: Home, facts: Facts) -> None:
    try:
        facts.daemon = daemon_client.status(home)
    except CommandFailed as silent:
        facts.lock_held_by = silent.message
        return
    if facts.daemon is None and home.lock_file.exists():
        try:
            with lock.hold(home.lock_file, "doctor"):
                facts.stale_socket = home.socket_path.exists()
        except lock.AlreadyLocked as held:
            facts.lock_held_by = str(held)
        except OSError:
            facts.lock_held_by = ""


async def _look_into_cache(home: Home, settings: Settings, facts: Facts) -> None:
    try:
        async with open_cache(home, settings, examine=True) as cache:
            await _read_cache(cache, facts)
    except MemoryCacheError as error:
        facts.cache_error = (error.message, error.hint)
    except OSError as error:
        facts.cache_error = (f"The cache cannot be opened: {error.strerror}.", "Look at the home's permissions.")


async def _read_cache(cache: MemoryCache, facts: Facts) -> None:
    status = await cache.status()
    facts.problems = [(p.path, p.code, p.message) for p in await cache.problems()]
    facts.conflicts, facts.pending = status.conflicts, status.pending
    facts.held, facts.last_round = status.health.held_deletes, status.health.last_round
    facts.health_state, facts.device_id = status.health.state, status.device_id
    facts.devices = await cache.database.read(devices)
    if facts.storage_problem is None and status.health.state not in ("ok", "never", "held"):
        facts.storage_problem = (status.health.message, status.health.hint)


def _look_at_storage(home: Home, settings: Settings, environ: Mapping[str, str], facts: Facts) -> None:
    if settings.storage.backend == "onedrive":
        _look_at_onedrive(home, settings, environ, facts)
        return
    folder = settings.storage.folder()
    if folder is None:
        facts.storage_problem = ("No storage has been chosen yet.", "`claude-memory setup`")
        return
    facts.location = str(folder)
    if not folder.is_dir():
        facts.storage_problem = (
            f"The storage folder {folder} is missing or not mounted.",
            "Mount it, or choose another one with `claude-memory setup`. Nothing is deleted meanwhile.",
        )
        return
    facts.storage_free = _free(folder)
    facts.storage_writable, facts.clock_skew = _write_probe(folder)
    try:
        facts.left_out = anyio.run(_left_out, folder)
    except StorageError as error:
        facts.storage_problem = (error.message, error.hint)


async def _left_out(folder: Path) -> dict[str, str]:
    """Links, names that are no text, and the like: where memories lie, each with the reason."""
    async with FolderStorage(folder) as storage:
        await storage.changes(None)
        return {path: reason for path, reason in storage.skipped.items() if path.startswith("memories/")}


def _write_probe(folder: Path) -> tuple[bool, float | None]:
    """Whether a file can be made there, and how far its time is from ours (seconds, ours minus theirs)."""
    try:
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=".~claude-memory-doctor-", suffix=".tmp")
    except OSError:
        return False, None
    try:
        skew = time.time() - os.fstat(descriptor).st_mtime
    finally:
        os.close(descriptor)
        Path(name).unlink(missing_ok=True)
    return True, skew


def _look_at_onedrive(home: Home, settings: Settings, environ: Mapping[str, str], facts: Facts) -> None:
    from storage_backends import onedrive

    options = onedrive.OneDriveSettings(**settings.onedrive.model_dump())
    found = anyio.run(onedrive.check_up, options, home.login_dir, environ)
    facts.location = "OneDrive"
    facts.findings = [(f.level, f.title, f.message, f.hint) for f in found]
    for root in onedrive_roots(environ, user_home(environ)):
        if (root / APP_FOLDER / "memories").is_dir():
            facts.mirrored_folder = str(root / APP_FOLDER)


def _free(place: Path) -> int | None:
    try:
        return shutil.disk_usage(place).free
    except OSError:
        return None


def _open_to_others(path: Path) -> bool:
    if os.name == "nt":
        return False
    try:
        return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)
    except OSError:
        return False


def _registrations(environ: Mapping[str, str]) -> list[tuple[str, str, bool]]:
    """(client, program, exists) of each client whose configuration starts a claude-memory."""
    places = {
        "Claude Code": registration.claude_code_config_file(environ),
        "Claude Desktop": registration.desktop_config_file(environ),
    }
    found = []
    for client, path in places.items():
        program = registration.program_in(path)
        if program:
            exists = Path(program).is_file() if os.path.isabs(program) else shutil.which(program) is not None  # noqa: PTH117
            found.append((client, program, exists))
    return found
