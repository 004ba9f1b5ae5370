"""`claude-memory status`: this device, its storage, its daemon, and the other devices."""

import argparse
import os
from typing import TYPE_CHECKING, Any

from command_line.arguments import Commands, add_command, wants_json

if TYPE_CHECKING:
    from memory_cache.cache import MemoryCache
    from memory_cache.home import Home
    from memory_cache.models import SyncHealth
    from memory_cache.settings import Settings

STATES = {"never": "not looked at yet", "not-set-up": "not set up"}


def register(commands: Commands) -> None:
    """Add the command."""
    add_command(commands, "status", run, "this device, its storage, its daemon, and the other devices")


def run(args: argparse.Namespace) -> int:
    """Print it."""
    import anyio

    from command_line.output import Answer, show
    from memory_cache.home import Home

    status = anyio.run(gather, Home.current())
    show(Answer(status, in_words(status)), as_json=wants_json(args))
    return 0


async def gather(home: "Home") -> dict[str, Any]:
    """The status as `--json` prints it. Raises: SettingsError, CacheUnusable."""
    import anyio.to_thread

    from command_line import daemon_client
    from command_line.errors import CommandFailed
    from memory_cache import settings as settings_file
    from memory_cache.cache import open_cache

    settings = settings_file.load(home, os.environ)
    try:
        running = await anyio.to_thread.run_sync(daemon_client.status, home)
    except CommandFailed as silent:
        running = {"pid": None, "problem": silent.message}
    async with open_cache(home, settings) as cache:
        return await describe(home, settings, cache, running)


async def describe(
    home: "Home", settings: "Settings", cache: "MemoryCache", running: dict[str, Any] | None
) -> dict[str, Any]:
    """The status of an opened cache; `running` is what the daemon says of itself."""
    from command_line.version import version
    from daemon.heartbeat import devices
    from memory_cache.clock import to_text

    counts = await cache.status()
    health = counts.health
    return {
        "daemon": {"running": running is not None, **(running or {"pid": None})},
        "storage": storage_state(settings, health),
        "sync": {
            "last": to_text(health.last_round) if health.last_round else None,
            "pending": counts.pending,
            "held": health.held_deletes,
            "throttled_until": to_text(health.throttled_until) if health.throttled_until else None,
        },
        "conflicts": counts.conflicts,
        "problems": counts.problems,
        "login": login_state(home, settings, health),
        "cache": {
            "memories": counts.memories, "expired": counts.expired, "trash": counts.trash, "bytes": counts.bytes,
        },
        "search": counts.search,
        "device": {"id": counts.device_id, "name": counts.device_name},
        "devices": await cache.database.read(devices),
        "project": await _project(),
        "home": str(home.root),
        "version": version(),
    }  # fmt: skip


def storage_state(settings: "Settings", health: "SyncHealth") -> dict[str, Any]:
    """Where the storage is and how it was last found; a folder is looked at right now as well."""
    folder = settings.storage.folder() if settings.storage.backend == "folder" else None
    root = str(folder) if folder is not None else health.location
    state, message, hint = health.state, health.message, health.hint
    if settings.storage.backend == "folder":
        if folder is None:
            state, message, hint = "not-set-up", "No storage has been chosen yet.", "Run `claude-memory up` or `setup`."
        elif state in {"ok", "never"} and not folder.is_dir():
            state, message = "unreachable", f"The folder {folder} is not there."
    shown = {"backend": settings.storage.backend, "root": root, "state": state}
    return {**shown, **({"message": message} if message else {}), **({"hint": hint} if hint else {})}


def login_state(home: "Home", settings: "Settings", health: "SyncHealth") -> str:
    """`none` where no login is needed, else `ok`, `needed` or `offline` (no way to tell whether it still holds)."""
    if settings.storage.backend == "folder":
        return "none"
    from storage_backends import onedrive
    from storage_backends.errors import PermanentError

    if health.state == "needs-login":
        return "needed"
    try:
        options = onedrive.OneDriveSettings(**settings.onedrive.model_dump())
        found = onedrive.login_state(options, home.login_dir, os.environ)
    except PermanentError:
        return "needed"
    return "offline" if found.state == "ok" and health.state == "unreachable" else found.state


async def _project() -> dict[str, Any] | None:
    from pathlib import Path

    import anyio.to_thread

    from memory_cache import project as projects

    found = await anyio.to_thread.run_sync(lambda: projects.resolve(None, environ=os.environ, cwd=Path.cwd()))
    return None if found is None else {"id": found.id, "name": found.name, "source": found.source}


def in_words(status: dict[str, Any]) -> str:
    """The status in a few lines."""
    daemon, storage, sync, cache = status["daemon"], status["storage"], status["sync"], status["cache"]
    last = f"last {sync['last']}" if sync["last"] else "not yet"
    lines = [
        f"storage   {storage['root'] or storage['backend']}: {STATES.get(storage['state'], storage['state'])}",
        f"daemon    {'running, process ' + str(daemon['pid']) if daemon['running'] else 'not running'}",
        f"memories  {cache['memories']}, {cache['trash']} in the trash, {cache['expired']} expired",
        f"search    {status['search']}",
        f"sync      {last}, {sync['pending']} pending, {sync['held']} held",
    ]
    if storage.get("message"):
        lines.insert(1, f"          {storage['message']} {storage.get('hint', '')}".rstrip())
    if status["conflicts"]:
        lines.append(f"conflicts {status['conflicts']} open; `claude-memory conflicts` shows them")
    if status["problems"]:
        lines.append(f"problems  {status['problems']}; `claude-memory doctor` shows them")
    if status["login"] not in {"none", "ok"}:
        lines.append(f"login     {status['login']}; `claude-memory login`")
    if status["project"]:
        lines.append(f"project   {status['project']['name']} ({status['project']['id']})")
    for device in status["devices"]:
        if device.get("id") == status["device"]["id"]:
            # Its own note is as old as the note of any other device; what is true now stands above.
            lines.append(f"device    {device.get('name')} (this device)")
            continue
        lines.append(
            f"device    {device.get('name')}: told at {device.get('last_round')}, "
            f"{device.get('pending', 0)} pending, {device.get('conflicts', 0)} conflicts"
        )
    return "\n".join(lines)
