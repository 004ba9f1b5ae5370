"""`claude-memory export, context`: everything that is kept, and what matters here now."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from command_line.arguments import Commands, add_command, on_cache, positive

if TYPE_CHECKING:
    from command_line.output import Answer
    from memory_cache.cache import MemoryCache


def register(commands: Commands) -> None:
    """Add the commands."""
    parser = add_command(commands, "export", on_cache(_export), "print all memories whole, or write them to a file")
    parser.add_argument("--format", choices=("json", "markdown"), default="json")
    parser.add_argument("--category", metavar="C", help="only this category")
    parser.add_argument("--output", metavar="FILE", help="write here instead of printing; readable by its owner only")
    parser = add_command(commands, "context", on_cache(_context), "what matters for this project now")
    parser.add_argument("--project", metavar="P", help="directory, repository URL, project id or name; default: here")
    parser.add_argument("--limit", type=positive, default=5, metavar="N", help="per section")
    parser.add_argument("--max-tokens", type=positive, default=2000, metavar="N")


async def _export(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    import anyio.to_thread

    from command_line.output import Answer, plural, to_json
    from memory_cache.exporting import as_markdown

    memories = await cache.export(args.category)
    text = to_json(list(memories)) if args.format == "json" else as_markdown(memories).rstrip("\n")
    if args.output is None:
        return Answer(list(memories), text)
    path = await anyio.to_thread.run_sync(_written, args.output, text)
    data = {"path": str(path), "format": args.format, "count": len(memories)}
    return Answer(data, f"{plural(len(memories), 'memory')} written to {path}")


def _written(name: str, text: str) -> Path:
    from memory_cache.errors import InvalidInput
    from memory_cache.settings_file import write_private

    path = Path(name).absolute()
    if path.is_dir() or not path.parent.is_dir():
        wrong = f"{path} is a folder." if path.is_dir() else f"There is no folder {path.parent}."
        raise InvalidInput(wrong, "Name a file in a folder that exists.")
    write_private(path, f"{text}\n")
    return path


async def _context(cache: "MemoryCache", args: argparse.Namespace) -> "Answer":
    from command_line.opened import project_of
    from command_line.output import Answer, one_line, plural, printable
    from memory_cache.json_shapes import memory_json

    project = await project_of(cache, args.project)
    found = await cache.context(project, limit=args.limit, max_tokens=args.max_tokens)
    lines = [
        f"Project: {one_line(project.name)} ({one_line(project.id)}, by {project.source})" if project else "No project."
    ]
    if found.technologies:
        lines.append("Detected: " + ", ".join(f"{tech.name} ({tech.evidence})" for tech in found.technologies))
    for item in found.items:
        text = printable(item.text).strip("\n").replace("\n", "\n    ")
        lines.append(f"\n{item.memory.id[:8]}  {one_line(item.memory.title)}  ({one_line(item.reason)})\n    {text}")
    if found.more:
        lines.append(f"\n{plural(found.more, 'more memory', 'more memories')}: raise --limit or --max-tokens.")
    data = {
        "project": {"id": project.id, "name": project.name, "source": project.source} if project else None,
        "technologies": [technology.model_dump(mode="json") for technology in found.technologies],
        "items": [
            {**memory_json(item.memory), "section": item.section, "reason": item.reason, "text": item.text}
            for item in found.items
        ],
        "more": found.more,
        "tokens": found.tokens,
    }
    return Answer(data, "\n".join(lines))
