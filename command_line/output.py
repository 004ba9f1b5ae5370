"""What commands print: JSON for programs, plain lines in a pipe, colours and tables on a terminal.

The JSON shapes are stable: names as in the front matter, a field that is not set is absent, lists are an
object with one plural key, and more fields may come.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from memory_cache.json_shapes import memory_json
from memory_cache.models import BatchResult, Hit, Memory, Page, SimilarMemory
from memory_cache.text_format import timestamp


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command has to say.

    Attributes:
        data: for `--json`.
        text: plain lines, without colours; empty for silence.
        rich: builds what a terminal shows instead of `text`; None for `text` itself.
        code: the exit code.
    """

    data: Any
    text: str = ""
    rich: Callable[[], Any] | None = None
    code: int = 0


def show(answer: Answer, *, as_json: bool) -> None:
    """Print the answer to stdout."""
    if as_json:
        write(to_json(answer.data))
    elif answer.rich is not None and sys.stdout.isatty():
        from rich.console import Console

        Console(highlight=False).print(answer.rich())
    elif answer.text:
        write(answer.text)


def write(text: str) -> None:
    """Print text; what the stream's encoding lacks becomes `?` instead of an error."""
    try:
        sys.stdout.write(f"{text}\n")
    except UnicodeEncodeError:
        encoding = sys.stdout.encoding or "ascii"
        sys.stdout.write(f"{text}\n".encode(encoding, "replace").decode(encoding))


def to_json(data: Any) -> str:
    """JSON in readable form; ASCII only where the stream or the text leaves no other way."""
    text = json.dumps(data, ensure_ascii=False, indent=2)
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return json.dumps(data, indent=2)
    return text


def hit_json(hit: Hit) -> dict[str, Any]:
    """A memory with its score, why it was found, and the passage that matched."""
    return {**memory_json(hit.memory), "score": round(hit.score, 4), "why": hit.why, "passage": hit.passage}


def similar_json(similar: SimilarMemory) -> dict[str, Any]:
    """A near-duplicate."""
    shown = {"id": similar.id, "title": similar.title, "score": round(similar.score, 4)}
    return {**shown, "difference": similar.difference} if similar.difference else shown


def page_json(page: Page) -> dict[str, Any]:
    """Memories, how many more there are, and the cursor that goes on."""
    shown: dict[str, Any] = {"memories": [memory_json(memory) for memory in page.memories], "more": page.more}
    return {**shown, "cursor": page.cursor} if page.cursor else shown


def batch_json(result: BatchResult) -> dict[str, Any]:
    """What a change to many memories did."""
    memories = [memory_json(memory) for memory in result.memories]
    return {"memories": memories, "skipped": list(result.skipped), "dryRun": result.dry_run}


def plural(count: int, noun: str, many: str = "") -> str:
    """`1 memory`, `2 memories`."""
    if count != 1:
        noun = many or (f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s")
    return f"{count:,} {noun}"


def one_line(text: str) -> str:
    """Text without line breaks and control characters: a title must not move the cursor of a terminal."""
    return "".join(character if character.isprintable() else " " for character in text)


def printable(text: str) -> str:
    """Text as it is, without control characters but line ends and tabs."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text.replace("\r\n", "\n"))


def day(moment: datetime) -> str:
    """The date in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d")


def minute(moment: datetime) -> str:
    """The date and time in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def origin(memory: Memory) -> str:
    """The project's name, or `global`."""
    return one_line(memory.project_name or memory.project_id or "global")


def memory_line(memory: Memory, now: datetime) -> str:
    """A memory on one line: short id, date, category, project, title."""
    mark = "  (expired)" if memory.expired(now) else ""
    category = one_line(memory.category)
    return f"{memory.id[:8]}  {day(memory.updated)}  {category:<10}  {origin(memory)}  {one_line(memory.title)}{mark}"


def memory_text(memory: Memory, now: datetime) -> str:
    """A whole memory: its facts, then its text."""
    facts = [f"id: {memory.id}", f"category: {one_line(memory.category)}", f"project: {origin(memory)}"]
    if memory.tags:
        facts.append(f"tags: {', '.join(map(one_line, memory.tags))}")
    if memory.priority != "normal":
        facts.append(f"priority: {memory.priority}")
    facts.append(f"created: {timestamp(memory.created)}")
    facts.append(f"updated: {timestamp(memory.updated)}")
    if memory.expires_at is not None:
        expired = " (expired)" if memory.expired(now) else ""
        facts.append(f"expires: {timestamp(memory.expires_at)}{expired}")
    if memory.related_to:
        facts.append(f"related: {', '.join(map(one_line, memory.related_to))}")
    if memory.read_only:
        facts.append(f"read-only: {one_line(memory.read_only)}")
    facts.append(f"file: {one_line(memory.path)}")
    return "\n".join([*facts, "", printable(memory.content).rstrip("\n")])


def memory_table(memories: Sequence[Memory], now: datetime, *, more: str = "") -> Any:
    """Memories as a table for a terminal."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("ID", "UPDATED", "CATEGORY", "PROJECT", "TITLE"):
        table.add_column(heading, no_wrap=heading != "TITLE", overflow="ellipsis")
    for memory in memories:
        title = Text(one_line(memory.title))
        if memory.expired(now):
            title = Text.assemble(title, ("  expired", "dim"))
        elif memory.priority == "high":
            title.stylize("bold")
        table.add_row(
            Text(memory.id[:8], "cyan"),
            Text(day(memory.updated), "dim"),
            Text(one_line(memory.category)),
            Text(origin(memory), "dim"),
            title,
        )
    return Group(table, Text(more, "dim")) if more else table
