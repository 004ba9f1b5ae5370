"""Starting a daemon that outlives whoever started it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

# What belongs to the session that happens to start the daemon, and to no other.
_SESSION_VARIABLES = ("CLAUDECODE", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_", "CLAUDE_ENV_FILE", "AI_AGENT")
# A watchdog of the starting process is not the daemon's.
_SUPERVISOR_VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_", "LISTEN_FDS", "LISTEN_PID", "INVOCATION_ID", "JOURNAL_STREAM")


def command(*arguments: str) -> list[str]:
    """This program as a command line. `-P`: the working directory, somebody's project, is no place for imports."""
    return [_interpreter(), "-P", "-m", "command_line", *arguments]


def environment(home: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a daemon of this home: the user's, without what is about one session."""
    kept = {
        name: value
        for name, value in environ.items()
        if not name.startswith(_SESSION_VARIABLES) and not name.startswith(_SUPERVISOR_VARIABLES)
    }
    if environ.get("CLAUDE_MEMORY_HOME"):
        kept["CLAUDE_MEMORY_HOME"] = home
    code = str(Path(__file__).resolve().parents[1])
    if not code.startswith(str(Path(sys.prefix).resolve())):
        # A checkout that is not installed: the child has to find it, too.
        kept["PYTHONPATH"] = os.pathsep.join(filter(None, (code, environ.get("PYTHONPATH", ""))))
    return kept


def start_detached(home: str, environ: Mapping[str, str], *, auto_started: bool) -> "subprocess.Popen[bytes]":
    """Start a daemon in a session of its own, without any of this process's streams. Raises: OSError.

    `auto_started`: it ends itself when it had no client for long.
    """
    Path(home).mkdir(mode=0o700, parents=True, exist_ok=True)
    # The daemon logs to this file itself; what a failing interpreter says before that goes there, too.
    log = os.open(Path(home) / "daemon.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        return subprocess.Popen(
            command("daemon", "run", "--background", *(["--auto-started"] if auto_started else [])),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            cwd=home,
            env=environment(home, environ),
            close_fds=True,
            start_new_session=True,
            creationflags=_detached_flags(),
        )
    finally:
        os.close(log)


def _interpreter() -> str:
    windowless = Path(sys.executable).with_name("pythonw.exe")
    return str(windowless) if sys.platform == "win32" and windowless.exists() else sys.executable


def _detached_flags() -> int:
    if sys.platform != "win32":
        return 0
    return subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
