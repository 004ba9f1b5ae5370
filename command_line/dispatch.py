"""From arguments to the command: only the module that holds it is imported, unless help is wanted."""

import argparse
import importlib
import sys
from collections.abc import Sequence
from importlib import util
from pathlib import Path
from typing import NoReturn

from command_line.failures import USAGE, Failure, report

_MODULES = {
    "up": ("up",),
    "demo": ("demo",),
    "setup": ("setup", "uninstall"),
    "daemon_commands": ("daemon",),
    "mcp_command": ("mcp",),
    "sync_command": ("sync",),
    "status_command": ("status",),
    "dashboard_command": ("dashboard",),
    "doctor": ("doctor",),
    "login_commands": ("login", "logout"),
    "memory_commands": ("remember", "recall", "list", "show", "update", "forget"),
    "history_commands": ("history", "restore", "trash", "undo"),
    "conflict_commands": ("conflicts",),
    "tidy_commands": ("link", "related", "merge", "stats", "graph", "tag", "delete", "cleanup"),
    "export_commands": ("export", "context"),
    "import_command": ("import",),
    "project_commands": ("project-status",),
    "document_commands": ("documents",),
    "pattern_commands": ("patterns",),
    "storage_commands": ("storage",),
}
COMMANDS = {command: module for module, commands in _MODULES.items() for command in commands}
"""Command to module of this package, in the order in which help shows them."""


def dispatch(arguments: Sequence[str]) -> int:
    """Parse and run. Returns the exit code; 2 for arguments that cannot be used."""
    refusal = foreign_package()
    if refusal:
        sys.stderr.write(f"{refusal}\n")
        return 1
    if not arguments:
        _parser(list(COMMANDS)).print_help()
        return 2
    wanted = [name for name in COMMANDS if name == arguments[0]]
    try:
        parsed = _parser(wanted or list(COMMANDS)).parse_args(arguments)
    except SystemExit as leaving:  # argparse has said why
        return leaving.code if isinstance(leaving.code, int) else 2
    except _Misused as wrong:
        usage = Failure("Wrong usage", f"{wrong}.", f"`{wrong.command} --help` shows what can be given.", USAGE)
        report(usage, as_json="--json" in arguments)
        return usage.code
    except KeyboardInterrupt:
        return 130
    code: int = parsed.run(parsed)
    return code


def foreign_package() -> str:
    """Why this installation cannot work, or nothing: another distribution may have a top-level package of our name."""
    here = Path(__file__).resolve().parents[1]
    for name in ("daemon", "memory_cache", "storage_backends", "mcp_server", "dashboard"):
        found = util.find_spec(name)
        origin = Path(found.origin).resolve() if found is not None and found.origin else None
        if origin is None or origin.parent.parent != here or not (origin.parent / _marker(name)).exists():
            return (
                f"The Python package {name!r} that is found here ({origin or 'nowhere'}) is not part of claude-memory: "
                "another package of the same name is installed in this environment. Install claude-onedrive-memory "
                "in an environment of its own (uv tool install, pipx)."
            )
    return ""


def _marker(package: str) -> str:
    # A file of ours that a foreign package of the same name, installed over ours, leaves or removes.
    return {
        "daemon": "service.py",
        "memory_cache": "database.py",
        "storage_backends": "base.py",
        "dashboard": "gate.py",
    }.get(package, "relay.py")


class _Misused(Exception):
    """Arguments that a command does not take."""

    def __init__(self, command: str, message: str) -> None:
        super().__init__(message)
        self.command = command


class _Parser(argparse.ArgumentParser):
    """Wrong usage is reported like any other failure."""

    def error(self, message: str) -> NoReturn:
        raise _Misused(self.prog, message[:1].upper() + message[1:])


def _parser(names: Sequence[str]) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="claude-memory",
        description="Long-term memory for Claude that follows you from machine to machine.",
        epilog="`claude-memory COMMAND --help` explains a command. Start with `claude-memory up`.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in dict.fromkeys(COMMANDS[name] for name in names):
        importlib.import_module(f"command_line.{module}").register(commands)
    return parser


class _Version(argparse.Action):
    """Reading the version takes milliseconds that only those pay who ask."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from command_line.version import version

        sys.stdout.write(f"claude-memory {version()}\n")
        parser.exit()
