"""What this program keeps on a device, and how it is taken away: by name, so that nothing else ever goes along."""

import contextlib
import shutil
from pathlib import Path

from memory_cache.home import Home

_NAMES = ("config.toml", "daemon.lock", "daemon.address", "http-token")
_PATTERNS = ("cache.sqlite3*", "daemon.log*", "*.sock")
_FOLDERS = ("login", "spool")


def device_files(home: Home) -> list[Path]:
    """Everything of ours in the home that exists."""
    found = [home.root / name for name in (*_NAMES, *_FOLDERS)]
    for pattern in _PATTERNS:
        found += sorted(home.root.glob(pattern))
    return [path for path in dict.fromkeys([*found, home.socket_path]) if path.exists()]


def remove_device_files(home: Home) -> list[str]:
    """Stop the daemon, remove our files, and the home itself when nothing else is in it."""
    from command_line.daemon_commands import stop_daemon

    stop_daemon(home)
    for path in device_files(home):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # something of the user's is in it
        home.root.rmdir()
    return []
