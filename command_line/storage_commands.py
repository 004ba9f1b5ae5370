"""`claude-memory storage list|select|custom|reset`: the folder that memories are synced through."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from command_line.arguments import Commands, add_command, positive, wants_json

if TYPE_CHECKING:
    from command_line.output import Answer


def register(commands: Commands) -> None:
    """Add the command and its own commands; `storage` alone lists."""
    parent = add_command(commands, "storage", _list, "the storage folder: list, select, custom, reset")
    actions = parent.add_subparsers(metavar="ACTION")
    add_command(actions, "list", _list, "the folder in use, and the OneDrive folders of this machine")
    parser = add_command(actions, "select", _select, "use one of the listed folders")
    parser.add_argument("index", type=positive, help="its number")
    parser = add_command(actions, "custom", _custom, "use any folder; it is made where its parent exists")
    parser.add_argument("path", help="an absolute path, or one that begins with ~")
    add_command(actions, "reset", _reset, "use the folder that would be offered first")


def _list(args: argparse.Namespace) -> int:
    from command_line.output import Answer, one_line
    from mcp_server import storage
    from memory_cache import settings as settings_file
    from memory_cache.home import Home

    current = settings_file.load(Home.current(), os.environ).storage
    folder = current.folder() if current.backend == "folder" else None
    offered = [str(path) for path in storage.offered(os.environ)]
    lines = [f"In use: {one_line(str(folder)) if folder else f'{current.backend}, no folder set'}"]
    lines += [f"{number}. {one_line(path)}" for number, path in enumerate(offered, 1)]
    data = {"backend": current.backend, "path": str(folder) if folder else None, "folders": offered}
    return _shown(args, Answer(data, "\n".join(lines)))


def _select(args: argparse.Namespace) -> int:
    from mcp_server import storage

    return _use(args, storage.by_index(os.environ, args.index))


def _custom(args: argparse.Namespace) -> int:
    from mcp_server import storage
    from memory_cache.home import Home

    return _use(args, storage.custom(os.environ, args.path, Home.current().root))


def _reset(args: argparse.Namespace) -> int:
    from mcp_server import storage

    return _use(args, storage.default_folder(os.environ))


def _use(args: argparse.Namespace, folder: Path) -> int:
    from command_line.output import Answer
    from mcp_server import storage
    from memory_cache import settings as settings_file
    from memory_cache.errors import SettingsError
    from memory_cache.home import Home

    home = Home.current()
    storage.create(folder)
    settings_file.save(home, {"storage": {"backend": "folder", "path": str(folder)}})
    effective = settings_file.load(home, os.environ).storage
    if effective.backend != "folder" or effective.folder() != folder:
        raise SettingsError(
            f"{folder} is saved, but a variable CLAUDE_MEMORY_STORAGE_… says otherwise.", "Remove that variable."
        )
    text = f"Storage folder: {folder}\nA running daemon takes it up by itself, and copies this device's memories there."
    return _shown(args, Answer({"backend": "folder", "path": str(folder)}, text))


def _shown(args: argparse.Namespace, answer: "Answer") -> int:
    from command_line.output import show

    show(answer, as_json=wants_json(args))
    return answer.code
