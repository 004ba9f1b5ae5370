"""`claude-memory history, restore, trash, undo`: what was, and the way back to it."""

import argparse
from typing import TYPE_CHECKING

from command_line.arguments import Commands, add_command, add_id, on_cache, positive

if TYPE_CHECKING:
    from command_line.output import Answer
    from memory_cache.cache import MemoryCache


def register(commands: Commands) -> None:
    """Add the commands."""
    parser = add_command(commands, "history", on_cache(_history), "earlier texts of a memory, the latest first")
    add_id(parser)
    parser = add_command(
        commands, "restore", on_cache(_restore), "bring a memory back from the trash, or an earlier text of it"
    )
    add_id(parser)
    parser.add_argument("--revision", type=positive, metavar="N", help="a revision that history shows")
    parser = add_command(
        commands, "trash", on_cache(_trash), "memories in the trash of this device, the last deleted first"
    )
    parser.add_argument("--limit", type=positive, default=50, metavar="N")
    parser.add_argument(
        "--purge", type=float, metavar="DAYS", help="first drop for good what was deleted before that many days"
    )
    add_command(commands, "undo", on_cache(_undo), "take back the last change made on this device")


async def _history(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.output import Answer, minute, one_line, printable
    from memory_cache.json_shapes import revision_json

    revisions = await cache.history(args.id)
    blocks = [
        f"revision {revision.revision}  replaced {minute(revision.replaced_at)} ({one_line(revision.reason)})\n    "
        + printable(revision.content).strip("\n").replace("\n", "\n    ")
        for revision in revisions
    ]
    text = "\n\n".join(blocks) or "No earlier text of this memory is kept on this device."
    return Answer({"revisions": [revision_json(revision) for revision in revisions]}, text)


async def _restore(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.output import Answer, one_line
    from memory_cache.json_shapes import memory_json

    memory = await cache.restore(args.id, args.revision)
    return Answer(memory_json(memory), f"Restored: {one_line(memory.title)}\nID: {memory.id}")


async def _trash(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.output import Answer, minute, one_line, plural
    from memory_cache.errors import InvalidInput
    from memory_cache.json_shapes import trash_json

    data: dict[str, int] = {}
    lines: list[str] = []
    if args.purge is not None:
        if not args.purge >= 0:
            raise InvalidInput("The number of days is below 0.", "Give 0 to empty the trash.")
        data["purged"] = await cache.purge_trash(args.purge)
        lines.append(f"{plural(data['purged'], 'memory')} dropped for good.")
    entries = await cache.trash(args.limit)
    more = max(0, (await cache.status()).trash - len(entries))
    lines += [
        f"{entry.id[:8]}  {minute(entry.deleted_at)}  {one_line(entry.category):<10}  {one_line(entry.title)}"
        f"  ({one_line(entry.reason)})"
        for entry in entries
    ]
    if more:
        lines.append(f"{plural(more, 'more memory', 'more memories')}: raise --limit.")
    if not entries:
        lines.append("The trash of this device is empty.")
    return Answer({"trash": [trash_json(entry) for entry in entries], "more": more, **data}, "\n".join(lines))


async def _undo(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.output import Answer, printable
    from memory_cache.json_shapes import memory_json
    from memory_cache.text_format import timestamp

    undone = await cache.undo_last_change()
    data = {
        "action": undone.action,
        "at": timestamp(undone.at),
        "memories": [memory_json(memory) for memory in undone.memories],
        "left": list(undone.left),
    }
    return Answer(data, f"Undone: {printable(str(undone))}")
