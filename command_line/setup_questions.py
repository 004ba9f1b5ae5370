"""What `claude-memory setup` wants to know: from flags, from the person at the terminal, else what is offered."""

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from command_line.arguments import wants_json
from command_line.errors import CommandFailed

BACKENDS = ("folder", "onedrive")

Ask = Callable[[str, str], str]
"""Gives the answer to a question; the second value is the one that is offered."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What the user wants. `login`: somebody is there who can log in."""

    backend: str
    path: Path | None
    client_id: str
    tenant: str
    service: bool
    claude_code: bool
    desktop: bool
    login: bool


def answers(args: argparse.Namespace) -> Answers:
    """The answers. Raises: CommandFailed for one that cannot be used."""
    from command_line import registration

    present = sys.stdin.isatty() and not wants_json(args)
    ask = _ask if present and not args.yes and not args.dry_run else _take_default
    backend = args.backend or _offered_backend(args, ask)
    if backend not in BACKENDS:
        raise CommandFailed("Unknown storage", f"{backend!r} is neither folder nor onedrive.", code=2)
    client_id, tenant = _app(args, ask) if backend == "onedrive" else ("", "")

    def wanted(flag: bool | None, question: str, default: bool) -> bool:
        return flag if flag is not None else _yes(ask(question, "yes" if default else "no"))

    return Answers(
        backend=backend,
        path=_folder(args.path, ask) if backend == "folder" else None,
        client_id=client_id,
        tenant=tenant,
        service=wanted(args.service, "Run the daemon as a service, so that memories are always in step?", True),
        claude_code=wanted(
            args.claude_code, "Register with Claude Code?",
            registration.has_claude_code() and not registration.has_plugin(),
        ),
        desktop=wanted(args.desktop, "Register with Claude Desktop?", registration.has_desktop()),
        login=present,
    )  # fmt: skip


def _offered_backend(args: argparse.Namespace, ask: Ask) -> str:
    if args.path:
        return "folder"
    if args.client_id or args.tenant:
        return "onedrive"
    return ask("Where shall memories be kept? folder or onedrive", "folder")


def _folder(named: str | None, ask: Ask) -> Path:
    from command_line.storage_choice import found_folders, offered_folder

    offered = offered_folder(os.environ)
    found = found_folders(os.environ)
    text = named or ask("\n".join([*(f"Found: {folder}" for folder in found), "Which folder?"]), str(offered))
    path = Path(text).expanduser().absolute()
    if path.exists() and not path.is_dir():
        raise CommandFailed("Not a folder", f"{path} is a file.", "Name a folder with --path.", code=2)
    if not path.exists() and not path.parent.is_dir() and path not in (offered, *found):
        raise CommandFailed("No such folder", f"{path.parent} does not exist.", "Create it or name another.", code=2)
    return path


def _app(args: argparse.Namespace, ask: Ask) -> tuple[str, str]:
    """Client id and tenant of the app registration; what is set already is offered."""
    from memory_cache import settings as settings_file
    from memory_cache.home import Home

    known = settings_file.load(Home.current(), os.environ).onedrive
    client_id = args.client_id or ask("Application (client) ID of your app registration?", known.client_id)
    if not client_id and not os.environ.get("CLAUDE_MEMORY_GRAPH_TOKEN"):
        raise CommandFailed(
            "App registration needed", "OneDrive is asked in the name of an app, and none is set.",
            "Give its id with `--client-id`; docs/onedrive.md says how to register one, once and free.", code=2,
        )  # fmt: skip
    question = "Which accounts may log in? common, consumers, organizations or a tenant's id"
    return client_id, args.tenant or ask(question, known.tenant)


def _ask(question: str, default: str) -> str:
    return input(f"{question} [{default}] " if default else f"{question} ").strip() or default


def _take_default(question: str, default: str) -> str:
    return default


def _yes(text: str) -> bool:
    return text.strip().lower() in {"y", "yes", "j", "ja", "true", "1"}
