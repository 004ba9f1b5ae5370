"""`claude-memory setup` and `uninstall`: answers become a list of changes; the list is shown, then carried out.

Every question is also a flag. `--yes` takes the offered answers, `--dry-run` only shows the list.
"""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from command_line.arguments import Commands, add_command, wants_json
from command_line.setup_questions import BACKENDS, Answers, answers

if TYPE_CHECKING:
    from memory_cache.home import Home


@dataclass(frozen=True, slots=True)
class Step:
    """One change: what it does, in words, and how. `apply` returns lines to show."""

    title: str
    apply: Callable[[], list[str]]


def register(commands: Commands) -> None:
    """Add the commands."""
    parser = add_command(commands, "setup", run_setup, "choose the storage, start the daemon, tell Claude")
    parser.add_argument("--backend", choices=BACKENDS, help="where memories are kept")
    parser.add_argument("--path", help="the folder of the folder backend")
    parser.add_argument("--client-id", metavar="ID", help="OneDrive: id of your app registration")
    parser.add_argument("--tenant", help="OneDrive: common, consumers, organizations, or a tenant's id")
    parser.add_argument("--yes", action="store_true", help="take the offered answers, ask nothing")
    parser.add_argument("--dry-run", action="store_true", help="show what would change, change nothing")
    for name, what in (
        ("service", "run the daemon as a service of this user"),
        ("claude-code", "register with Claude Code"),
        ("desktop", "register with Claude Desktop"),
    ):
        parser.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, default=None, help=what)
    parser = add_command(commands, "uninstall", run_uninstall, "take back what setup did; memories stay")
    parser.add_argument("--dry-run", action="store_true", help="show what would change, change nothing")


def run_setup(args: argparse.Namespace) -> int:
    """Ask, show, do. Exit code 3 when all is done but a login for which nobody is there."""
    from command_line.failures import LOGIN, OK

    wanted = answers(args)
    waits = _needs_login(wanted) and not wanted.login
    _carry_out(plan_setup(wanted), dry_run=args.dry_run, as_json=wants_json(args), login="needed" if waits else "")
    if args.dry_run:
        return OK
    if waits:
        sys.stderr.write("Login needed: Nobody is logged in to OneDrive on this device.\nRun `claude-memory login`.\n")
        return LOGIN
    if not wants_json(args):
        print("\nTry it: claude-memory remember --category learning --global 'The build needs Python 3.11'")
        print("Then on another machine: claude-memory recall build")
    return OK


def run_uninstall(args: argparse.Namespace) -> int:
    """Take everything back but the memories, and say what stays."""
    steps, stays = plan_uninstall()
    _carry_out(steps, dry_run=args.dry_run, as_json=wants_json(args), stays=stays)
    return 0


def plan_setup(wanted: Answers) -> list[Step]:
    """The changes that these answers ask for, in an order in which each can rely on those before."""
    from command_line import registration, service_install
    from memory_cache import settings as settings_file
    from memory_cache.errors import SettingsError
    from memory_cache.home import Home, user_home

    home = Home.current()
    steps: list[Step] = []
    storage: dict[str, object] = {"backend": wanted.backend}
    if wanted.backend == "folder" and wanted.path is not None:
        folder = wanted.path
        if home.lies_in(folder):
            raise SettingsError(f"{folder} holds this device's own files ({home.root}).", "Give another folder.")
        storage["path"] = str(folder)
        if not folder.is_dir():
            steps.append(Step(f"create the folder {folder}", lambda: _create(folder)))

    told = {"client_id": wanted.client_id, "tenant": wanted.tenant} if wanted.client_id else {}

    def write_settings() -> list[str]:
        home.ensure()
        settings_file.save(home, {"storage": storage, **({"onedrive": told} if told else {})})
        return []

    steps.append(
        Step(f"write {home.config_file}: storage {wanted.backend} {storage.get('path', '')}".rstrip(), write_settings)
    )
    patterns = user_home(os.environ) / ".claude" / "odsp-memory" / "patterns.json"
    if patterns.is_file() and not (home.root / "patterns.json").exists():
        steps.append(Step(f"copy the older server's file patterns, {patterns}", lambda: _copy(patterns, home.root)))
    if wanted.service:
        target = service_install.definition_file(service_install.manager())
        steps.append(Step(f"install the service {target}", lambda: _install(home)))
    program = service_install.program()
    if wanted.claude_code:
        steps.append(Step("register with Claude Code for all projects", lambda: _add_code(program)))
    if wanted.desktop:
        config = registration.desktop_config_file()
        steps.append(Step(f"register with Claude Desktop in {config}", lambda: _add_desktop(program)))
    if wanted.login and _needs_login(wanted):
        # Last: a login that fails can be repeated alone, and a running daemon takes it up.
        steps.append(Step("log in to OneDrive", _login))
    return steps


def plan_uninstall() -> tuple[list[Step], list[str]]:
    """The changes that take setup back, and what stays, in words."""
    from command_line import registration, service_install
    from command_line.device_files import KEPT_FOLDERS, device_files, remove_device_files
    from memory_cache import settings as settings_file
    from memory_cache.home import Home

    home = Home.current()
    storage = settings_file.load(home, os.environ).storage
    steps: list[Step] = []
    definition = service_install.definition_file(service_install.manager())
    if definition.exists():
        steps.append(Step(f"stop and remove the service {definition}", service_install.uninstall))
    if registration.is_in_claude_code():
        steps.append(Step("remove the server from Claude Code", lambda: _silent(registration.remove_from_claude_code)))
    if registration.is_in_desktop():
        config = registration.desktop_config_file()
        steps.append(Step(f"remove the server from {config}", lambda: _silent(registration.remove_from_desktop)))
    if device_files(home):
        steps.append(
            Step(f"stop the daemon and remove this device's files in {home.root}", lambda: remove_device_files(home))
        )
    where = storage.path if storage.backend == "folder" else "OneDrive"
    stays = [f"Your memories stay where they are: {where or 'no storage was set up'}."]
    if home.cache_file.exists():
        stays.append("So does this device's note in their folder `devices`: delete it if it does not come back.")
    stays += [f"So does {home.root / name}." for name in KEPT_FOLDERS if (home.root / name).exists()]
    return steps, stays + registration.left_behind()


def _needs_login(wanted: Answers) -> bool:
    """Whether OneDrive will ask who this is."""
    from memory_cache import settings as settings_file
    from memory_cache.home import Home
    from storage_backends import onedrive

    if wanted.backend != "onedrive":
        return False
    home = Home.current()
    told = {"client_id": wanted.client_id, "tenant": wanted.tenant or "common"}
    known = settings_file.load(home, os.environ).onedrive.model_dump()
    state = onedrive.login_state(onedrive.OneDriveSettings(**{**known, **told}), home.login_dir, os.environ)
    return state.state != "ok"


def _carry_out(steps: list[Step], *, dry_run: bool, as_json: bool, login: str = "", stays: Sequence[str] = ()) -> None:
    lines: list[str] = []
    for step in steps:
        if not as_json:
            print(f"{'would ' if dry_run else ''}{step.title}")
        if not dry_run:
            done = step.apply()
            lines += done
            if not as_json:
                for line in done:
                    print(f"  {line}")
    if as_json:
        told = {"dry_run": dry_run, "steps": [step.title for step in steps], "notes": [*lines, *stays]}
        print(json.dumps({**told, "login": login} if login else told, ensure_ascii=False))
        return
    if not steps:
        print("Nothing to do.")
    for line in stays:
        print(line)


def _create(folder: Path) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    return []


def _copy(source: Path, folder: Path) -> list[str]:
    shutil.copyfile(source, folder / source.name)
    return []


def _install(home: "Home") -> list[str]:
    """The service; where no manager takes it, a daemon that lasts as long as this machine is on."""
    from command_line import service_install
    from command_line.daemon_commands import start_in_background

    managed, notes = service_install.install(home)
    if not managed:
        running = start_in_background(home)
        notes.append(
            f"Until then the daemon runs in the background (process {running['pid']}). After a restart of this machine "
            "the next Claude session starts one, or `claude-memory daemon start`."
        )
    return notes


def _login() -> list[str]:
    from command_line.login_commands import login

    return login()


def _add_code(program: str) -> list[str]:
    from command_line import registration

    registration.add_to_claude_code([program])
    return ["New Claude Code sessions see the memory tools."]


def _add_desktop(program: str) -> list[str]:
    from command_line import registration

    registration.add_to_desktop([program])
    return ["Restart Claude Desktop."]


def _silent(action: Callable[[], object]) -> list[str]:
    action()
    return []
