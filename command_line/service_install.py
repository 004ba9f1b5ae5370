"""Hand the daemon to the platform's service manager, and take it back."""

import getpass
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from command_line import daemon_client, service_units
from command_line.errors import CommandFailed
from command_line.service_units import LAUNCHD_LABEL, SYSTEMD_UNIT, WINDOWS_TASK, Manager
from memory_cache.home import Home, user_home

_BOOTSTRAP_TRIES = 6


def manager() -> Manager:
    """The service manager of this platform."""
    if sys.platform == "win32":
        return "windows"
    return "launchd" if sys.platform == "darwin" else "systemd"


def program() -> str:
    """The absolute path of `claude-memory` as it is installed here. Raises: CommandFailed."""
    name = "claude-memory.exe" if os.name == "nt" else "claude-memory"
    for folder in (Path(sys.argv[0]).absolute().parent, Path(sys.executable).parent):
        if (folder / name).is_file():
            return str(folder / name)
    raise CommandFailed(
        "Not installed", "The command claude-memory is not beside this Python.",
        "Install the project (uv tool install, pipx, or pip install -e .) and run this again.",
    )  # fmt: skip


def definition(kind: Manager, home: Home, environ: Mapping[str, str] = os.environ) -> bytes:
    """The service definition as it is written to disk."""
    # Its log is the rotated file of the home on every platform: launchd would never rotate, Windows keep nothing.
    command = [program(), "daemon", "run", "--background"]
    # Only a home that was chosen has to be told; the usual one is found without help.
    kept = {"CLAUDE_MEMORY_HOME": str(home.root)} if environ.get("CLAUDE_MEMORY_HOME") else {}
    if kind == "systemd":
        return service_units.systemd_unit(command, kept).encode()
    if kind == "launchd":
        return service_units.launchd_agent(command, kept, str(home.log_file))
    return service_units.windows_task([*command, *_home_argument(kept)], getpass.getuser()).encode("utf-16")


def _home_argument(kept: Mapping[str, str]) -> list[str]:
    return ["--home", kept["CLAUDE_MEMORY_HOME"]] if kept else []


def definition_file(kind: Manager, environ: Mapping[str, str] = os.environ) -> Path:
    """Where the definition lives."""
    home = user_home(environ)
    if kind == "systemd":
        configuration = environ.get("XDG_CONFIG_HOME", "")
        base = Path(configuration) if configuration.startswith("/") else home / ".config"
        return base / "systemd" / "user" / SYSTEMD_UNIT
    if kind == "launchd":
        return home / "Library" / "LaunchAgents" / f"{LAUNCHD_LABEL}.plist"
    return Home.current(environ).root / "claude-memory-task.xml"


def install(home: Home) -> tuple[bool, list[str]]:
    """Write the definition and start the service, anew where it was installed before.

    Returns whether the manager runs it now, and what was done and is left to do, as sentences.

    Raises: CommandFailed when the file cannot be written. A manager that is not there is no failure: the
    definition is in place for the day it is.
    """
    kind = manager()
    target = definition_file(kind)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(definition(kind, home))
    except OSError as error:
        raise CommandFailed("Cannot install", f"{target} cannot be written: {error.strerror}.") from error
    done = [f"Wrote {target}."]
    for command in _forget_commands(kind):
        _run(command)  # fails when there was none before
    commands = _start_commands(kind, target)
    for command in commands:
        if command is commands[-1]:
            daemon_client.stop(home)  # one that was started by hand would keep the service's from running
        problem = _run_patiently(command)
        if problem:
            done.append(
                f"The service manager did not take it (`{shlex.join(command)}`: {problem}). Once there is one (after a "
                "login), `claude-memory daemon install` tries again."
            )
            return False, done
    done.append("The daemon runs now and starts with every login.")
    if kind == "systemd":
        done.append("On a machine without a login (a server): `loginctl enable-linger` keeps it running.")
    return True, done


def uninstall() -> list[str]:
    """Stop the service and remove its definition. Memories, cache and settings stay."""
    kind = manager()
    target = definition_file(kind)
    if not target.exists():
        return []
    for command in _stop_commands(kind, target):
        _run(command)
    target.unlink(missing_ok=True)
    if kind == "systemd":
        _run(["systemctl", "--user", "daemon-reload"])
    return [f"Removed {target}."]


def _forget_commands(kind: Manager) -> list[list[str]]:
    """What makes way for a new definition: launchd refuses one whose label it knows, and keeps the old."""
    return [["launchctl", "bootout", f"{_launchd_domain()}/{LAUNCHD_LABEL}"]] if kind == "launchd" else []


def _start_commands(kind: Manager, target: Path) -> list[list[str]]:
    if kind == "systemd":
        return [
            ["systemctl", "--user", "daemon-reload"],
            ["systemctl", "--user", "enable", SYSTEMD_UNIT],
            ["systemctl", "--user", "restart", SYSTEMD_UNIT],
        ]
    if kind == "launchd":
        return [["launchctl", "bootstrap", _launchd_domain(), str(target)]]
    return [
        ["schtasks", "/create", "/tn", WINDOWS_TASK, "/xml", str(target), "/f"],
        ["schtasks", "/run", "/tn", WINDOWS_TASK],
    ]


def _stop_commands(kind: Manager, target: Path) -> list[list[str]]:
    if kind == "systemd":
        return [["systemctl", "--user", "disable", "--now", SYSTEMD_UNIT]]
    if kind == "launchd":
        return [["launchctl", "bootout", f"{_launchd_domain()}/{LAUNCHD_LABEL}"]]
    return [["schtasks", "/end", "/tn", WINDOWS_TASK], ["schtasks", "/delete", "/tn", WINDOWS_TASK, "/f"]]


def _launchd_domain() -> str:
    return f"gui/{os.getuid()}" if hasattr(os, "getuid") else "gui/0"


def _run_patiently(command: list[str]) -> str:
    """As `_run`. launchd takes its time to forget a label, and refuses to learn it anew meanwhile."""
    problem = _run(command)
    for _ in range(_BOOTSTRAP_TRIES if command[:2] == ["launchctl", "bootstrap"] else 0):
        if not problem:
            break
        time.sleep(0.5)
        problem = _run(command)
    return problem


def _run(command: list[str]) -> str:
    """Run it; empty when it worked, else why not."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    said = (done.stderr or done.stdout).strip().splitlines()
    return said[-1] if said else f"exit code {done.returncode}"
