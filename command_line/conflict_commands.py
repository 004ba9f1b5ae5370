"""`claude-memory conflicts list|show|resolve`: two versions of one memory that changed the same lines."""

import argparse
import sys
from typing import TYPE_CHECKING

from command_line.arguments import Commands, add_command, on_cache, standard_input, wants_json

if TYPE_CHECKING:
    from command_line.output import Answer
    from memory_cache.cache import MemoryCache
    from memory_cache.models import Conflict

_HOW = "Give --keep mine, theirs or both, or --edit, or the merged text on standard input."


def register(commands: Commands) -> None:
    """Add the command and its own commands; `conflicts` alone lists."""
    parent = add_command(commands, "conflicts", on_cache(_list), "open conflicts: list, show, resolve")
    actions = parent.add_subparsers(metavar="ACTION")
    add_command(actions, "list", on_cache(_list), "all open conflicts")
    parser = add_command(actions, "show", on_cache(_show), "both versions of one conflict")
    parser.add_argument("id", help="its id, or the first characters of it")
    parser = add_command(actions, "resolve", _resolve, "settle a conflict; both texts stay in the history")
    parser.add_argument("id", help="its id, or the first characters of it")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--keep", choices=("mine", "theirs", "both"), help="mine is the version in the memory now")
    how.add_argument("--edit", action="store_true", help="merge by hand in $VISUAL or $EDITOR")
    parser.epilog = "Without --keep or --edit the merged text is read from standard input."


async def _list(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.output import Answer, day, one_line
    from memory_cache.json_shapes import conflict_json

    conflicts = await cache.conflicts()
    lines = [
        f"{each.id}  {day(each.at)}  {one_line(each.device or 'unknown device')}  {one_line(each.title)}"
        for each in conflicts
    ]
    return Answer(
        {"conflicts": [conflict_json(conflict) for conflict in conflicts]}, "\n".join(lines) or "No open conflicts."
    )


async def _show(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.hand_merge import with_markers
    from command_line.output import Answer, printable
    from memory_cache.json_shapes import conflict_json

    conflict = await _find(cache, args.id)
    return Answer(conflict_json(conflict), printable(with_markers(conflict)))


def _resolve(args: argparse.Namespace) -> int:
    from command_line import opened

    args.content = _merged_by_hand(args)
    return opened.run(args, _settle, as_json=wants_json(args))


async def _settle(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.output import Answer, one_line
    from memory_cache.json_shapes import memory_json

    conflict = await _find(cache, args.id)
    memory = await cache.resolve_conflict(conflict.id, keep=args.keep, content=args.content)
    return Answer(memory_json(memory), f"Resolved: {one_line(memory.title)}\nID: {memory.id}")


def _merged_by_hand(args: argparse.Namespace) -> str | None:
    # The cache is closed while a person edits: that may take a day.
    from command_line import hand_merge, opened
    from memory_cache.errors import InvalidInput

    if args.keep is not None:
        return None
    if args.edit:
        return hand_merge.edited(opened.call(lambda cache: _find(cache, args.id)))
    if sys.stdin.isatty():
        raise InvalidInput("How to settle the conflict was not said.", _HOW)
    text = standard_input()
    if not text.strip():
        raise InvalidInput("How to settle the conflict was not said, and standard input is empty.", _HOW)
    return hand_merge.without_markers(text)


async def _find(cache: "MemoryCache", text: str) -> "Conflict":
    from memory_cache.errors import AmbiguousId, UnknownMemory

    conflicts = await cache.conflicts()
    wanted = text.strip()
    found = [c for c in conflicts if c.id == wanted] or [c for c in conflicts if wanted and c.id.startswith(wanted)]
    found = found or [c for c in conflicts if wanted and c.memory_id.startswith(wanted)]
    if len(found) > 1:
        raise AmbiguousId(
            f"Several conflicts begin with {wanted}: {', '.join(c.id for c in found)}.", "Give more of the id."
        )
    if not found:
        raise UnknownMemory(
            f"No open conflict has the id {wanted!r}.", "`claude-memory conflicts list` shows the open ones."
        )
    return found[0]
