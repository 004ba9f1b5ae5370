"""`claude-memory setup` and `uninstall`: answers become a list of changes; the list is shown, then carried out.

Every question is also a flag. `--yes` takes the offered answers, `--dry-run` only shows the list.
"""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from command_line.arguments import Commands, add_command, wants_json
from command_line.errors import CommandFailed

BACKENDS = ("folder", "onedrive")


@dataclass(frozen=True, slots=True)
class Step:
    """One change: what it does, in words, and how. `apply` returns lines to show."""

    title: str
    apply: Callable[[], list[str]]


@dataclass(frozen=True, slots=True)
class Answers:
    """What the user wants."""

    backend: str
    path: Path | None
    service: bool
    claude_code: bool
    desktop: bool


def register(commands: Commands) -> None:
    """Add the commands."""
    parser = add_command(commands, "setup", run_setup, "choose the storage, start the daemon, tell Claude")
    parser.add_argument("--backend", choices=BACKENDS, help="where memories are kept")
    parser.add_argument("--path", help="the folder of the folder backend")
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
    """Ask, show, do."""
    steps = plan_setup(_answers(args))
    _carry_out(steps, dry_run=args.dry_run, as_json=wants_json(args))
    if not args.dry_run and not wants_json(args):
        print("\nTry it: claude-memory remember --category learning --global 'The build needs Python 3.11'")
        print("Then on another machine: claude-memory recall build")
    return 0


def run_uninstall(args: argparse.Namespace) -> int:
    """Take everything back but the memories, and say what stays."""
    steps, stays = plan_uninstall()
    _carry_out(steps, dry_run=args.dry_run, as_json=wants_json(args))
    if not wants_json(args):
        for line in stays:
            print(line)
    return 0


def plan_setup(answers: Answers) -> list[Step]:
    """The changes that these answers ask for, in an order in which each can rely on those before."""
    from command_line import registration, service_install
    from memory_cache import settings as settings_file
    from memory_cache.errors import SettingsError
    from memory_cache.home import Home, user_home

    home = Home.current()
    steps: list[Step] = []
    storage: dict[str, object] = {"backend": answers.backend}
    if answers.backend == "folder" and answers.path is not None:
        folder = answers.path
        if home.lies_in(folder):
            raise SettingsError(f"{folder} holds this device's own files ({home.root}).", "Give another folder.")
        storage["path"] = str(folder)
        if not folder.is_dir():
            steps.append(Step(f"create the folder {folder}", lambda: _create(folder)))

    def write_settings() -> list[str]:
        home.ensure()
        settings_file.save(home, {"storage": storage})
        return []

    steps.append(
        Step(f"write {home.config_file}: storage {answers.backend} {storage.get('path', '')}".rstrip(), write_settings)
    )
    patterns = user_home(os.environ) / ".claude" / "odsp-memory" / "patterns.json"
    if patterns.is_file() and not (home.root / "patterns.json").exists():
        steps.append(Step(f"copy the older server's file patterns, {patterns}", lambda: _copy(patterns, home.root)))
    if answers.backend == "onedrive":
        steps.append(Step("log in to OneDrive", _login))
    if answers.service:
        target = service_install.definition_file(service_install.manager())
        steps.append(Step(f"install the service {target}", lambda: service_install.install(home)))
    program = service_install.program()
    if answers.claude_code:
        steps.append(Step("register with Claude Code for all projects", lambda: _add_code(program)))
    if answers.desktop:
        config = registration.desktop_config_file()
        steps.append(Step(f"register with Claude Desktop in {config}", lambda: _add_desktop(program)))
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
    stays += [f"So does {home.root / name}." for name in KEPT_FOLDERS if (home.root / name).exists()]
    return steps, stays


def _answers(args: argparse.Namespace) -> Answers:
    from command_line import registration
    from command_line.storage_choice import offered_folder

    interactive = sys.stdin.isatty() and not args.yes and not args.dry_run and not wants_json(args)
    ask = _ask if interactive else _take_default
    backend = args.backend or (
        "folder" if args.path else ask("Where shall memories be kept? folder or onedrive", "folder")
    )
    if backend not in BACKENDS:
        raise CommandFailed("Unknown storage", f"{backend!r} is neither folder nor onedrive.", code=2)
    path: Path | None = None
    if backend == "folder":
        offered = offered_folder(os.environ)
        path = Path(args.path or ask("Which folder?", str(offered))).expanduser().absolute()
        if path.exists() and not path.is_dir():
            raise CommandFailed("Not a folder", f"{path} is a file.", "Name a folder with --path.", code=2)
        if not path.exists() and not path.parent.is_dir() and path != offered:
            raise CommandFailed(
                "No such folder", f"{path.parent} does not exist.", "Create it or name another.", code=2
            )

    def wanted(flag: bool | None, question: str, default: bool) -> bool:
        return flag if flag is not None else _yes(ask(question, "yes" if default else "no"))

    return Answers(
        backend=backend,
        path=path,
        service=wanted(args.service, "Run the daemon as a service, so that memories are always in step?", True),
        claude_code=wanted(args.claude_code, "Register with Claude Code?", registration.has_claude_code()),
        desktop=wanted(args.desktop, "Register with Claude Desktop?", registration.has_desktop()),
    )


def _ask(question: str, default: str) -> str:
    return input(f"{question} [{default}] ").strip() or default


def _take_default(question: str, default: str) -> str:
    return default


def _yes(text: str) -> bool:
    return text.strip().lower() in {"y", "yes", "j", "ja", "true", "1"}


def _carry_out(steps: list[Step], *, dry_run: bool, as_json: bool) -> None:
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
        print(
            json.dumps(
                {"dry_run": dry_run, "steps": [step.title for step in steps], "notes": lines}, ensure_ascii=False
            )
        )
    elif not steps:
        print("Nothing to do.")


def _create(folder: Path) -> list[str]:
    folder.mkdir(parents=True, exist_ok=True)
    return []


def _copy(source: Path, folder: Path) -> list[str]:
    shutil.copyfile(source, folder / source.name)
    return []


def _login() -> list[str]:
    from command_line.login_commands import login

    return login()


def _add_code(program: str) -> list[str]:
    from command_line import registration

    registration.add_to_claude_code(program)
    return ["New Claude Code sessions see the memory tools."]


def _add_desktop(program: str) -> list[str]:
    from command_line import registration

    registration.add_to_desktop(program)
    return ["Restart Claude Desktop."]


def _silent(action: Callable[[], object]) -> list[str]:
    action()
    return []
