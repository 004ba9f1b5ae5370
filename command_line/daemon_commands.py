"""`claude-memory daemon run|start|stop|status|install|uninstall`."""

import argparse
import logging
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from command_line.arguments import Commands, add_command, wants_json

if TYPE_CHECKING:
    from memory_cache.home import Home

START_SECONDS = 60.0
_LOCK_SECONDS = 15.0
_LOOK_SECONDS = 0.1


def register(commands: Commands) -> None:
    """Add the commands."""
    parent = commands.add_parser("daemon", help="the background process", description="The background process.")
    actions = parent.add_subparsers(title="actions", metavar="ACTION", required=True)
    parser = add_command(actions, "run", run, "run the daemon in the foreground; logs go to stderr")
    parser.add_argument("--background", action="store_true", help="log to a file of the home instead")
    parser.add_argument("--auto-started", action="store_true", help="end after a long time without clients")
    parser.add_argument("--home", metavar="DIR", help="instead of CLAUDE_MEMORY_HOME")
    parser.add_argument("--verbose", action="store_true", help="log more")
    add_command(actions, "start", start, "start the daemon in the background")
    add_command(actions, "stop", stop, "end the daemon")
    add_command(actions, "status", status, "whether the daemon runs")
    parser = add_command(actions, "install", install, "run the daemon as a service of this user")
    parser.add_argument(
        "--print", dest="shown", nargs="?", const="here", choices=("here", "systemd", "launchd", "windows"),
        help="print the definition (of this platform or another one), install nothing",
    )  # fmt: skip
    add_command(actions, "uninstall", uninstall, "remove the service")


def run(args: argparse.Namespace) -> int:
    """Run until a signal or `daemon stop`. A daemon that a session started gives way to this one."""
    if args.home:
        os.environ["CLAUDE_MEMORY_HOME"] = args.home
    from daemon import lock
    from daemon.logging_setup import set_up
    from memory_cache.home import Home

    home = Home.current()
    home.ensure()
    set_up(home.log_file if args.background else None, verbose=args.verbose)
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            serve(home, auto_started=args.auto_started)
        except lock.AlreadyLocked as held:
            if _is_running_well(home, auto_started=args.auto_started):
                return 0
            if time.monotonic() > deadline:
                raise _in_use(held) from None
            time.sleep(_LOOK_SECONDS)
        except Exception:
            if args.background:  # nobody sees its stderr
                logging.getLogger(__name__).exception("the daemon cannot go on")
            raise
        else:
            return 0


def serve(home: "Home", *, auto_started: bool = False, on_ready: Any = None) -> None:
    """Be the daemon of this home. Raises: AlreadyLocked, CacheUnusable, SettingsError, OSError."""
    import anyio

    from command_line.composition import parts
    from command_line.version import version
    from daemon.service import run_daemon
    from memory_cache import settings as settings_file

    settings = settings_file.load(home, os.environ)

    async def main() -> None:
        await run_daemon(
            home, settings, parts(home, settings, os.environ),
            version=version(), auto_started=auto_started, on_ready=on_ready,
        )  # fmt: skip

    anyio.run(main)


def _is_running_well(home: "Home", *, auto_started: bool) -> bool:
    """Whether the daemon that holds the lock makes this one needless. One that a session started is asked to end.

    Raises: CommandFailed when another daemon was started on purpose.
    """
    from command_line import daemon_client
    from command_line.errors import CommandFailed

    running = daemon_client.status(home)
    if running is None:
        return False  # it is just starting or ending, or a sync without a daemon is under way
    if auto_started:
        return True
    if running.get("auto_started"):
        daemon_client.stop(home)
        return False
    raise CommandFailed(
        "Already running",
        f"The daemon of {home.root} is running (process {running['pid']}).",
        "`claude-memory daemon stop` ends it.",
    )


def _in_use(held: Exception) -> Exception:
    from command_line.errors import CommandFailed

    return CommandFailed("In use", str(held), "Try again when it has ended.")


def start(args: argparse.Namespace) -> int:
    """Start in the background, and wait until it answers. One of another version is replaced."""
    from memory_cache.home import Home

    running = start_in_background(Home.current())
    _show(args, {"running": True, **running}, f"The daemon runs (process {running['pid']}).")
    return 0


def start_in_background(home: "Home", *, lasting: bool = True) -> dict[str, Any]:
    """A daemon that stays until it is told to end, started unless one runs; what it says of itself.

    Without `lasting` one that ends when it had no client for long does as well.

    Raises: SettingsError, CommandFailed.
    """
    from command_line import daemon_client
    from command_line.launch import start_detached
    from command_line.version import version
    from memory_cache import settings as settings_file

    settings_file.load(home, os.environ)  # a wrong setting is told here and not in a log
    running = daemon_client.status(home)
    if running is not None and running["version"] != version():
        daemon_client.stop(home)  # it is from before an update
        running = None
    if running is None or (lasting and running.get("auto_started")):
        process = start_detached(str(home.root), os.environ, auto_started=not lasting)
        running = _wait_for(home, process, lasting)
    return running


def _wait_for(home: "Home", process: Any, lasting: bool) -> dict[str, Any]:
    from command_line import daemon_client
    from command_line.errors import CommandFailed

    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        running = daemon_client.status(home)
        if running is not None and running["pid"] == process.pid:
            return running
        if process.poll() is not None:
            running = daemon_client.status(home)
            if running is not None and not (lasting and running.get("auto_started")):
                return running  # another start was quicker
            break
        time.sleep(_LOOK_SECONDS)
    raise CommandFailed("Not started", "The daemon did not start.", f"The end of {home.log_file} says why.")


def stop(args: argparse.Namespace) -> int:
    """End it; fine when none runs."""
    from memory_cache.home import Home

    pid = stop_daemon(Home.current())
    words = "No daemon was running." if pid is None else f"The daemon has ended (process {pid})."
    _show(args, {"running": False, **({} if pid is None else {"stopped": pid})}, words)
    return 0


def stop_daemon(home: "Home") -> int | None:
    """End the daemon of this home and wait until it is gone; its process id, or None when none ran."""
    from command_line import daemon_client

    return daemon_client.stop(home)


def status(args: argparse.Namespace) -> int:
    """Whether one runs, and how it fares."""
    from command_line import daemon_client
    from memory_cache.home import Home

    home = Home.current()
    log, running = str(home.log_file), daemon_client.status(home)
    if running is None:
        _show(args, {"running": False, "log": log}, f"No daemon is running. Log of earlier ones: {log}")
        return 0
    words = (
        f"The daemon runs (process {running['pid']}, version {running['version']}, since {running['since']}): "
        f"{running['sessions']} sessions, storage {running['sync']['state']}.\nLog: {log}"
    )
    _show(args, {"running": True, "log": log, **running}, words)
    return 0


def install(args: argparse.Namespace) -> int:
    """Hand the daemon to the service manager, or show what it would be given."""
    from command_line import service_install
    from memory_cache.home import Home

    home = Home.current()
    if args.shown:
        manager = service_install.manager() if args.shown == "here" else args.shown
        definition = service_install.definition(manager, home)
        text = definition.decode("utf-16" if manager == "windows" else "utf-8")
        _show(args, {"manager": manager, "definition": text}, text.rstrip("\n"))
        return 0
    home.ensure()
    managed, notes = service_install.install(home)
    if not managed:
        notes.append("Until then `claude-memory daemon start` starts the daemon.")
    _show(args, {"notes": notes}, "\n".join(notes))
    return 0


def uninstall(args: argparse.Namespace) -> int:
    """Take the service away."""
    from command_line import service_install

    notes = service_install.uninstall()
    _show(args, {"notes": notes}, "\n".join(notes) or "No service was installed.")
    return 0


def _show(args: argparse.Namespace, data: dict[str, Any], text: str) -> None:
    if wants_json(args):
        import json

        text = json.dumps(data, ensure_ascii=False, indent=2)
    sys.stdout.write(f"{text}\n")
