"""`claude-memory sync`: one complete round now, by the daemon or, where none runs, by this process."""

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from command_line.arguments import Commands, add_command, wants_json

if TYPE_CHECKING:
    from memory_cache.home import Home

_BUSY_SECONDS = 60.0


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "sync", run, "bring this device and the storage in step now")
    parser.add_argument("--full", action="store_true", help="look at the whole storage, not only at what changed")
    parser.add_argument("--confirm-deletes", action="store_true", help="carry out deletes that are held")


def run(args: argparse.Namespace) -> int:
    """Run the round and print its report."""
    from memory_cache.home import Home

    home = Home.current()
    report, code = sync_now(
        home, full=args.full, confirm_deletes=args.confirm_deletes, tell=_progress(wants_json(args))
    )
    if wants_json(args):
        import json

        sys.stdout.write(json.dumps(report, ensure_ascii=False, indent=2) + "\n")
    else:
        sys.stdout.write(in_words(report) + "\n")
    for line in complaints(report):
        sys.stderr.write(f"{line}\n")
    return code


def sync_now(
    home: "Home", *, full: bool, confirm_deletes: bool, tell: Callable[[dict[str, Any]], None]
) -> tuple[dict[str, Any], int]:
    from command_line import daemon_client
    from command_line.errors import CommandFailed
    from daemon.lock import AlreadyLocked

    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            for message in daemon_client.sync(home, full=full, confirm_deletes=confirm_deletes):
                tell(message)
            return message["result"], int(message["exit"])
        except daemon_client.NotRunning:
            pass
        try:
            return _sync_here(home, full=full, confirm_deletes=confirm_deletes)
        except AlreadyLocked as held:
            # A daemon that is starting or ending, or another sync.
            if time.monotonic() > deadline:
                raise CommandFailed("In use", str(held), "Try again when it has ended.") from None
            time.sleep(0.1)


def _sync_here(home: "Home", *, full: bool, confirm_deletes: bool) -> tuple[dict[str, Any], int]:
    from functools import partial

    import anyio

    from command_line.backends import open_storage
    from command_line.version import version
    from daemon import outcome
    from daemon.once import sync_once
    from memory_cache import settings as settings_file
    from memory_cache.cache import open_cache

    async def main() -> tuple[dict[str, Any], int]:
        settings = settings_file.load(home, os.environ)
        async with open_cache(home, settings) as cache:
            report = await sync_once(
                home, cache, partial(open_storage, home, os.environ),
                version=version(), full=full, confirm_deletes=confirm_deletes,
            )  # fmt: skip
        return outcome.report_json(report), outcome.exit_code(report)

    return anyio.run(main)


def in_words(report: dict[str, Any]) -> str:
    """A report in one line."""
    names = ("uploaded", "downloaded", "merged", "deleted")
    done = [f"{report[name]} {name}" for name in names if report[name]]
    if report["conflicts"]:
        done.append(f"{report['conflicts']} in conflict")
    return f"Synced: {', '.join(done)}." if done else "In step."


def complaints(report: dict[str, Any]) -> list[str]:
    """What a person should know beside the counts."""
    lines = [f"{error['path']}: {error['message']} {error['hint']}".rstrip() for error in report["errors"]]
    if report["held"]:
        lines.append(
            f"{report['held']} deletes wait for your word: so many at once may be a mistake. "
            "`claude-memory sync --confirm-deletes` carries them out."
        )
    return lines


def _progress(silent: bool) -> Callable[[dict[str, Any]], None]:
    if silent or not sys.stderr.isatty():
        return lambda message: None

    def tell(message: dict[str, Any]) -> None:
        progress = message.get("progress")
        if progress:
            text = f"syncing, {progress['calls']} calls to the storage, {progress['seconds']:.0f} s"
            sys.stderr.write(f"\r{text:<70}")
        else:
            sys.stderr.write(f"\r{'':<70}\r")
        sys.stderr.flush()

    return tell
