"""Pieces of the command line that several commands share. Standard library only."""

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from command_line.failures import guarded

if TYPE_CHECKING:
    from command_line.opened import Work

PRIORITIES = ("high", "normal", "low")
_LARGEST = 10**9


class Commands(Protocol):
    """What `add_subparsers` returns, as far as commands need it."""

    def add_parser(self, name: str, *, help: str, description: str) -> argparse.ArgumentParser: ...


def add_command(
    commands: Commands, name: str, run: Callable[[argparse.Namespace], int], about: str
) -> argparse.ArgumentParser:
    """A command with `--json`. `args.run(args)` carries it out, reports what went wrong, and gives the exit code."""
    parser = commands.add_parser(name, help=about, description=about)
    # Suppressed, so that `conflicts --json list` keeps what was said before the inner command.
    parser.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
    parser.set_defaults(run=lambda args: guarded(lambda: run(args), as_json=wants_json(args)))
    return parser


def wants_json(args: argparse.Namespace) -> bool:
    """Whether `--json` was given."""
    return bool(getattr(args, "json", False))


def on_cache(
    work: "Work", *, prepare: Callable[[argparse.Namespace], None] | None = None
) -> Callable[[argparse.Namespace], int]:
    """A command that works on this device's cache; only when it runs are the cache and what it needs imported.

    `prepare` runs before the cache is opened: waiting for input must not keep it open.
    """

    def run(args: argparse.Namespace) -> int:
        from command_line import opened

        if prepare is not None:
            prepare(args)
        return opened.run(args, work, as_json=wants_json(args))

    return run


def add_id(parser: argparse.ArgumentParser, name: str = "id") -> None:
    """The argument that names one memory."""
    parser.add_argument(name, help="a memory's id, or the first characters of it (at least 4)")


def stored_text(value: str) -> str:
    """Text that is stored: whoever gives bytes that are none is told so, instead of finding marks in their place.

    Raises: ArgumentTypeError.
    """
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError("this is not UTF-8 text; convert it to UTF-8 first") from None
    return value


def comma_list(value: str) -> list[str]:
    """`a, b` as a list; used with `action="extend"`, so that an option may be given again."""
    return [part.strip() for part in stored_text(value).split(",") if part.strip()]


def positive(text: str) -> int:
    """A whole number of at least 1; beyond all that is counted the largest is as good. Raises: ValueError."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return min(number, _LARGEST)


def add_scope(parser: argparse.ArgumentParser) -> None:
    """`--project`, `--global`, `--all`: which memories a query sees."""
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--project", metavar="P", help="directory, repository URL, project id or name")
    scope.add_argument("--global", dest="only_global", action="store_true", help="only global memories")
    scope.add_argument("--all", dest="everything", action="store_true", help="memories of every project")


def add_filters(parser: argparse.ArgumentParser) -> None:
    """`--category`, `--tags`, `--since-days`."""
    parser.add_argument("--category", metavar="C")
    parser.add_argument(
        "--tag", "--tags", dest="tags", type=comma_list, action="extend", metavar="A,B", help="with all of these tags"
    )
    parser.add_argument("--since-days", type=positive, metavar="N", help="updated within the last N days")


def standard_input() -> str:
    """All of standard input as text. Raises: InvalidInput when it is not UTF-8."""
    from memory_cache.errors import InvalidInput

    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput("Standard input is not UTF-8 text.", "Convert it to UTF-8 first.") from None
