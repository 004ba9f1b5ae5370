"""Our own exports, JSON and markdown, and the JSON export of claude-onedrive-memory 0.2. What was exported comes
back as it was: ids, times, tags, links, and further front matter where the export has it."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memory_cache import text_format
from memory_cache.clock import EPOCH
from memory_cache.errors import InvalidInput
from memory_cache.exporting import HEADING, OTHER_ENTRIES
from memory_cache.importing.reading import file_bytes, json_of, moment, one_line, text_of, words
from memory_cache.importing.records import Item, MemoryFile, Skipped, id_of
from memory_cache.text_format_values import PRIORITIES

KIND = "export"
# What other commands print beside a memory's own fields.
_NOT_OF_THE_FILE = frozenset(
    ["title", "content", "readOnly", "score", "why", "passage", "similar", "warnings", "distance", OTHER_ENTRIES]
)
_SECTION = re.compile(r"^## ", re.MULTILINE)
_FACTS = re.compile(r"## [^\n]*\n\n((?:(?:- |  )[^\n]*\n)+)\n(`{3,})markdown\n")


def read(path: Path, home: Path) -> Iterator[Item]:
    """Every memory of an export. Raises: InvalidInput when the file is no export."""
    data = file_bytes(path)
    text = text_of(data)[0].removeprefix("\ufeff")
    if text.lstrip().startswith(("[", "{")):
        yield from _read_json(path.name, json_of(data))
    else:
        yield from _read_markdown(path.name, text)


def _read_json(name: str, exported: Any) -> Iterator[Item]:
    if isinstance(exported, dict):
        exported = next((exported[key] for key in ("memories", "hits") if isinstance(exported.get(key), list)), None)
    if not isinstance(exported, list):
        raise InvalidInput(f"{name} holds no list of memories.", "Export with `claude-memory export`.")
    for number, memory in enumerate(exported, 1):
        where = f"{name}, memory {number}"
        content = memory.get("content") if isinstance(memory, dict) else None
        if not isinstance(content, str):
            yield Skipped(where, "It is no memory: it has no content.")
            continue
        try:
            yield MemoryFile(f"{where}: {one_line(text_format.title_of(content), 60)}", _file(memory, content))
        except InvalidInput as error:
            yield Skipped(where, error.message)


def _file(memory: Mapping[str, Any], content: str) -> bytes:
    created = moment(memory.get("created")) or moment(memory.get("updated")) or EPOCH
    updated = moment(memory.get("updated")) or created
    priority = memory.get("priority")
    memory_id = _text(memory.get("id")) or id_of(KIND, f"{text_format.timestamp(created)}\n{content}")
    data = text_format.render(
        id=memory_id,
        category=_text(memory.get("category")) or "learning",
        tags=words(memory.get("tags")),
        created=created,
        updated=updated,
        body=content,
        project_id=_text(memory.get("projectId")),
        project_name=_text(memory.get("projectName")),
        priority=priority if priority in PRIORITIES else None,
        expires_at=moment(memory.get("expiresAt")),
        related_to=words(memory.get("relatedTo")),
    )
    spelled = memory.get(OTHER_ENTRIES)
    data = _with_entries(data, spelled) if isinstance(spelled, str) else data
    others = _other_fields(memory)
    return text_format.rewrite(data, set=others) if others else data


def _with_entries(data: bytes, block: str) -> bytes:
    """A file as we write it with the entries of this front matter that are not ours, in their order."""
    found = text_format.sources(f"---\n{block}\n---\n".encode())
    entries = {key: source for key, source in found.items() if key not in text_format.KEYS}
    if not entries:
        return data
    head, fence, body = data.partition(b"\n---\n")  # every entry of ours is on one line
    lines = "".join(source if source.endswith("\n") else f"{source}\n" for source in entries.values())
    longer = head + b"\n" + lines.encode().removesuffix(b"\n") + fence + body
    before, after = text_format.read(data), text_format.read(longer)
    if after.problem is None and (after.id, after.body, set(after.unknown)) == (before.id, before.body, set(entries)):
        return longer
    return text_format.rewrite(data, set=entries)  # entries that cannot stand so are written one by one


def _text(value: Any) -> str | None:
    return (value.strip() or None) if isinstance(value, str) else None


def _other_fields(memory: Mapping[str, Any]) -> dict[str, str | list[str]]:
    """What another program put beside the fields of a memory."""
    known = {*text_format.KEYS, *_NOT_OF_THE_FILE}
    return {
        key: value
        for key, value in memory.items()
        if key not in known
        and re.fullmatch(r"[A-Za-z]\w*", key)
        and (isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value)))
    }


def _read_markdown(name: str, text: str) -> Iterator[Item]:
    position = text.find(HEADING) + len(HEADING)
    if position < len(HEADING):
        raise InvalidInput(f"{name} is no export: it has no heading {HEADING!r}.", "Import it with --from notes.")
    line, counted = 1, 0
    unclosed: set[str] = set()
    while section := _SECTION.search(text, position):
        line, counted = line + text.count("\n", counted, section.start()), section.start()
        where = f"{name}, line {line}"
        head = _FACTS.match(text, section.start())
        end = _end_of_fence(text, head, unclosed) if head else -1
        if head is None or end < 0:
            yield Skipped(where, "It is no memory as an export has it.")
            position = section.end()
            continue
        content = text[head.end() : end] if end > head.end() else ""
        position = end + 1 + len(head[2])
        try:
            title = one_line(text_format.title_of(content), 60)
            yield MemoryFile(f"{where}: {title}", _from_facts(head[1], content))
        except InvalidInput as error:
            yield Skipped(where, error.message)


def _end_of_fence(text: str, head: re.Match[str], unclosed: set[str]) -> int:
    # The line end before the closing fence; nothing inside has so many backticks. What once was not found
    # to the end of the text is not looked for again.
    fence = head[2]
    closing = None if fence in unclosed else re.compile(rf"\n{fence}[ \t]*(?=\n|\Z)").search(text, head.end() - 1)
    if closing is None:
        unclosed.add(fence)
    return closing.start() if closing else -1


def _from_facts(facts: str, content: str) -> bytes:
    block = "".join(f"{line[2:]}\n" for line in facts.removesuffix("\n").split("\n"))
    parsed = text_format.read(f"---\n{block}---\n".encode())
    if parsed.id is None or parsed.problem is not None:
        raise InvalidInput("Its list of facts cannot be understood.")
    created = parsed.created or parsed.updated or EPOCH
    data = text_format.render(
        id=parsed.id,
        category=parsed.category or "learning",
        tags=parsed.tags,
        created=created,
        updated=parsed.updated or created,
        body=content,
        project_id=parsed.project_id,
        project_name=parsed.project_name,
        priority=parsed.priority,
        expires_at=parsed.expires_at,
        related_to=parsed.related_to,
    )
    return _with_entries(data, block)
