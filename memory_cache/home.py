"""The one directory that holds everything of this device, and where synced folders are. Standard library only."""

import hashlib
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

# sun_path is 104 bytes on macOS and 108 on Linux, with a final NUL.
_SOCKET_PATH_BYTES = 100


@dataclass(frozen=True, slots=True)
class Home:
    """The directory of this device: settings, cache, logins, log, socket."""

    root: Path

    @classmethod
    def current(cls, environ: Mapping[str, str] = os.environ) -> "Home":
        """`CLAUDE_MEMORY_HOME`, or the platform's usual place for an application's data."""
        chosen = environ.get("CLAUDE_MEMORY_HOME", "").strip()
        if chosen:
            return cls(Path(os.path.abspath(_expand(chosen, environ))))  # noqa: PTH100 - symlinks stay as they are
        return cls(_platform_directory(environ))

    @property
    def config_file(self) -> Path:
        return self.root / "config.toml"

    @property
    def cache_file(self) -> Path:
        return self.root / "cache.sqlite3"

    @property
    def lock_file(self) -> Path:
        return self.root / "daemon.lock"

    @property
    def log_file(self) -> Path:
        return self.root / "daemon.log"

    @property
    def login_dir(self) -> Path:
        return self.root / "login"

    @property
    def socket_path(self) -> Path:
        """The daemon's socket. A home with a long path has it in a private directory under /tmp instead;
        the same for every process, whatever its environment."""
        path = self.root / "daemon.sock"
        if len(os.fsencode(path)) <= _SOCKET_PATH_BYTES or not hasattr(os, "getuid"):
            return path
        name = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:24]
        return Path(f"/tmp/claude-memory-{os.getuid()}") / f"{name}.sock"  # noqa: S108 - made 0700 by `ensure`

    def lies_in(self, folder: Path) -> bool:
        """Whether this folder, or one below it, is the home: memories must not be kept there."""
        return self.root.resolve().is_relative_to(folder.resolve())

    def ensure(self) -> None:
        """Make the directory, readable by its owner only. Raises: OSError."""
        _private_directory(self.root)
        if self.socket_path.parent != self.root:
            _private_directory(self.socket_path.parent)


def _private_directory(path: Path) -> None:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "nt":
        return  # %LOCALAPPDATA% is private by its access list
    facts = path.lstat()
    if path.parent == Path("/tmp") and (stat.S_ISLNK(facts.st_mode) or facts.st_uid != os.getuid()):  # noqa: S108
        raise PermissionError(f"{path} belongs to somebody else")
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        path.chmod(0o700)


def user_home(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's home directory as this environment names it."""
    named = environ.get("USERPROFILE" if os.name == "nt" else "HOME", "")
    return Path(named) if named else Path.home()


def _expand(path: str, environ: Mapping[str, str]) -> Path:
    if path == "~" or path.startswith(("~/", "~\\")):
        return user_home(environ) / path[2:]
    return Path(path)


def _platform_directory(environ: Mapping[str, str]) -> Path:
    home = user_home(environ)
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "claude-memory"
    if os.name == "nt":
        local = environ.get("LOCALAPPDATA", "")
        return (Path(local) if local else home / "AppData" / "Local") / "claude-memory"
    data = environ.get("XDG_DATA_HOME", "")
    return (Path(data) if data.startswith("/") else home / ".local" / "share") / "claude-memory"


def onedrive_roots(
    environ: Mapping[str, str], home_dir: Path, *, windows_users: Path = Path("/mnt/c/Users")
) -> list[Path]:
    """The OneDrive folders of this machine that exist, each once, the likeliest first: the sync
    client's environment variables, the home directory, macOS CloudStorage, Windows seen from WSL."""
    found: dict[Path, Path] = {}
    for candidate in _onedrive_candidates(environ, home_dir, windows_users):
        try:
            if candidate.is_dir():
                found.setdefault(candidate.resolve(), candidate)
        except OSError:
            continue
    return list(found.values())


def _onedrive_candidates(environ: Mapping[str, str], home_dir: Path, windows_users: Path) -> Iterator[Path]:
    for name in ("OneDriveCommercial", "OneDriveConsumer", "OneDrive"):
        if environ.get(name):
            yield Path(environ[name])
    yield home_dir / "OneDrive"
    yield from _matching(home_dir, "OneDrive - *")
    yield from _matching(home_dir / "Library" / "CloudStorage", "OneDrive-*")
    for user in _matching(windows_users, "*"):
        yield from _matching(user, "OneDrive*")


def _matching(directory: Path, pattern: str) -> list[Path]:
    try:
        return sorted(directory.glob(pattern))
    except OSError:
        return []


_SYNCED_NAMES = re.compile(
    r"""OneDrive(\ ?-\ ?.+)? | Dropbox(\ \(.+\))? | iCloud\ ?Drive | Mobile\ Documents | CloudStorage
      | Google\ ?Drive(-.+)? | My\ Drive | Nextcloud | ownCloud | Syncthing""",
    re.VERBOSE | re.IGNORECASE,
)
_SYNCED_MARKS = (".stfolder", ".dropbox", ".dropbox.cache", ".owncloudsync.log", ".tmp.drivedownload")


def synced_folder_of(path: Path, environ: Mapping[str, str] = os.environ) -> Path | None:
    """The folder of a sync client that this path lies in, or None.

    A SQLite file there gets corrupted: the client copies it in the middle of a transaction.
    """
    named = {
        Path(environ[name]) for name in ("OneDriveCommercial", "OneDriveConsumer", "OneDrive") if environ.get(name)
    }
    place = path.resolve()
    for folder in (place, *place.parents):
        if folder in named or _SYNCED_NAMES.fullmatch(folder.name):
            return folder
        # The home directory itself holds ~/.dropbox, the client's own settings.
        if folder != user_home(environ) and any(os.path.lexists(folder / mark) for mark in _SYNCED_MARKS):
            return folder
    return None
