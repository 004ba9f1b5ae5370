"""What this program keeps on a device, and how it is taken away: by name, so that nothing else ever goes along."""

import contextlib
import shutil
from pathlib import Path
from typing import Any

from command_line.errors import CommandFailed
from memory_cache.home import Home

_NAMES = ("config.toml", "daemon.lock", "start.lock", "daemon.address", "http-token", "patterns.json")
_PATTERNS = ("cache.sqlite3*", "daemon.log*", "*.sock")
_FOLDERS = ("login", "spool")
KEPT_FOLDERS = ("exports", "skills")
"""What the user had written: it stays."""


def device_files(home: Home) -> list[Path]:
    """Everything of ours in the home that exists."""
    found = [home.root / name for name in (*_NAMES, *_FOLDERS)]
    for pattern in _PATTERNS:
        found += sorted(home.root.glob(pattern))
    return [path for path in dict.fromkeys([*found, home.socket_path]) if path.exists()]


def remove_device_files(home: Home) -> list[str]:
    """Bring the last changes into the storage, stop the daemon, remove our files, and the home itself when nothing
    else is in it.

    Raises: CommandFailed when the storage has not got everything that only this device holds; nothing is removed then.
    """
    from command_line.daemon_commands import stop_daemon

    _bring_out(home)
    stop_daemon(home)
    for path in device_files(home):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    for folder in (home.socket_path.parent, home.root):
        with contextlib.suppress(OSError):  # another home's socket, or something of the user's is in it
            folder.rmdir()
    return ["The trash and the earlier texts of this device went along."]


def _bring_out(home: Home) -> None:
    if not home.cache_file.exists():
        return
    import anyio

    from command_line import status_command, sync_command

    if not _pending(anyio.run(status_command.gather, home)):
        return
    try:
        sync_command.sync_now(home, full=False, confirm_deletes=False, tell=lambda message: None)
    except Exception as error:
        raise _not_yet(f"and the storage cannot take them now ({error})") from error
    left = _pending(anyio.run(status_command.gather, home))
    if left:
        raise _not_yet(f"{left} of them after another try")


def _pending(status: dict[str, Any]) -> int:
    return int(status["sync"]["pending"])


def _not_yet(why: str) -> CommandFailed:
    return CommandFailed(
        "Not removed",
        f"This device holds memories that the storage has not got, {why}.",
        "Run `claude-memory sync` and look at `claude-memory doctor`; then uninstall again.",
    )
