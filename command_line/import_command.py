"""`claude-memory import SOURCE`: takes in memories of other systems, and says what it did with each."""

import argparse
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from command_line.arguments import Commands, add_command, on_cache, wants_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from command_line.output import Answer
    from memory_cache.cache import MemoryCache
    from memory_cache.importing.placement import Placement
    from memory_cache.importing.report import Left, Report
    from memory_cache.models import Project

KINDS = (
    "memory-folder", "export", "claude-memory-mcp", "claude-mem", "server-memory", "basic-memory", "auto-memory",
    "claude-md", "notes",
)  # fmt: skip
_SHOWN = 20


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "import",
        on_cache(_import, prepare=_locate),
        "take in what other systems, exports or folders of notes hold",
    )
    parser.add_argument("source", metavar="SOURCE", help="file or folder; it is only read")
    parser.add_argument("--from", dest="kind", choices=KINDS, metavar="KIND", help=f"{', '.join(KINDS)}; default: seen")
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--project", metavar="P", help="file everything under this project")
    scope.add_argument("--global", dest="make_global", action="store_true", help="file everything for every project")
    parser.add_argument(
        "--map", action="append", default=[], metavar="NAME=P", help="what the source calls NAME is project P"
    )
    parser.add_argument("--category", metavar="C", help="file everything under this category")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def _locate(args: argparse.Namespace) -> None:
    args.path = Path(args.source).expanduser().absolute()


async def _import(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.failures import FAILED, OK
    from command_line.output import Answer
    from memory_cache.home import user_home
    from memory_cache.importing import sources, writer
    from memory_cache.importing.report import Report

    path = args.path
    _refuse_own_storage(cache, path)
    placement = await _placement(cache, args)
    kind = args.kind or sources.detect(path)
    report = Report(kind, str(path), args.dry_run)
    with _progress(quiet=wants_json(args)) as tell:
        items = sources.SOURCES[kind].read(path, user_home())
        await writer.store(cache, items, report, placement, progress=tell)
    code = FAILED if report.nothing_but_failures else OK
    return Answer(report.as_json(), in_words(report), code=code)


def _refuse_own_storage(cache: "MemoryCache", path: Path) -> None:
    from memory_cache.errors import InvalidInput

    folder = cache.settings.storage.folder() if cache.settings.storage.backend == "folder" else None
    if not path.exists():
        raise InvalidInput(f"There is nothing at {path}.", "Name a file or a folder.")
    if folder is not None and folder.exists() and path.resolve() in (folder.resolve(), folder.resolve() / "memories"):
        raise InvalidInput(
            f"{path} is the storage of this device: what is there is synced.", "`claude-memory sync` takes it in now."
        )


async def _placement(cache: "MemoryCache", args: argparse.Namespace) -> "Placement":
    from command_line.opened import project_of
    from memory_cache.errors import InvalidInput
    from memory_cache.importing.placement import Placement
    from memory_cache.paths import valid_category

    names: dict[str, Project] = {}
    for text in args.map:
        name, equals, meant = text.partition("=")
        project = await project_of(cache, meant) if equals and meant.strip() else None
        if project is None or not name.strip():
            raise InvalidInput(f"--map {text} does not say which project it means.", "Write --map NAME=PROJECT.")
        names[name.strip().casefold()] = project
    return Placement(
        project=await project_of(cache, args.project) if args.project is not None else None,
        make_global=args.make_global,
        category=None if args.category is None else valid_category(args.category),
        names=names,
    )


@contextmanager
def _progress(*, quiet: bool) -> "Iterator[Callable[[Report], None]]":
    """A line on the terminal that counts, while it takes long; nothing anywhere else."""
    if quiet or not sys.stderr.isatty():
        yield lambda report: None
        return
    from rich.console import Console

    with Console(stderr=True).status("Reading …") as status:
        yield lambda report: status.update(f"{report.seen:,} read, {len(report.imported):,} new …")


def in_words(report: "Report") -> str:
    """What was done, the most important first."""
    from command_line.output import one_line, plural

    would = "would be " if report.dry_run else ""
    lines = [f"{report.kind}: {one_line(report.source)}"]
    if not report.seen:
        return f"{lines[0]}\nNothing to import was found in it."
    for type_, count in Counter(done.type for done in report.imported).items():
        lines.append(f"{plural(count, type_)} {would}imported.")
    if report.updated:
        lines.append(f"{len(report.updated):,} {would}updated: changed in the source, or filed elsewhere.")
    if report.unchanged:
        lines.append(f"{report.unchanged:,} unchanged.")
    lines += _grouped(f"{len(report.skipped):,} skipped:", report.skipped)
    lines += _grouped("To look at:", report.remarks)
    for name, count in report.plain_names.most_common(10):
        lines.append(
            f"{plural(count, 'memory')} filed under the plain name {one_line(name)}. So that its sessions find "
            f"them, import again with --map={shlex.quote(one_line(name))}=DIRECTORY"
        )
    return "\n".join(lines)


def _grouped(heading: str, left: "list[Left]") -> list[str]:
    """One line for each reason that only one has; what many have in common is counted."""
    from command_line.output import one_line

    if not left:
        return []
    reasons = Counter(entry.reason for entry in left)
    first = {entry.reason: entry.where for entry in reversed(left)}
    lines = [heading]
    for reason, count in list(reasons.items())[:_SHOWN]:
        others = f" and {count - 1:,} more" if count > 1 else ""
        lines.append(f"  {one_line(first[reason])}{others}: {one_line(reason)}")
    if len(reasons) > _SHOWN:
        lines.append(f"  and {len(reasons) - _SHOWN:,} other reasons; --json lists all.")
    return lines
