"""All sources, and which of them a path is. The content decides; a name only where nothing else can."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from memory_cache import text_format
from memory_cache.errors import InvalidInput
from memory_cache.importing import (
    auto_memory,
    basic_memory,
    claude_md,
    claude_mem,
    claude_memory_mcp,
    knowledge_graph,
    memory_folder,
    notes,
    own_export,
)
from memory_cache.importing.reading import MAX_NOTE_BYTES, file_bytes, text_of, walk
from memory_cache.importing.records import Item, Skipped

_HEAD_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of source. `reader` gets the path and the user's home directory."""

    kind: str
    about: str
    reader: Callable[[Path, Path], Iterator[Item]]

    def read(self, path: Path, home: Path) -> Iterator[Item]:
        """All that is there. Raises: InvalidInput when it cannot be read, or not any further."""
        try:
            yield from self.reader(path, home)
        except OSError as error:
            raise _unreadable(path, error) from None


SOURCES = {
    source.kind: source
    for source in (
        Source(memory_folder.KIND, "folder of claude-onedrive-memory, older or this one", memory_folder.read),
        Source(own_export.KIND, "file of `claude-memory export`, or of the older server's export", own_export.read),
        Source(claude_memory_mcp.KIND, "JSON or CSV export of its Supabase tables", claude_memory_mcp.read),
        Source(claude_mem.KIND, "its SQLite database", claude_mem.read),
        Source(knowledge_graph.KIND, "JSON Lines file of the reference memory server", knowledge_graph.read),
        Source(basic_memory.KIND, "its folder of markdown notes", basic_memory.read),
        Source(auto_memory.KIND, "Claude Code's own memory below ~/.claude/projects", auto_memory.read),
        Source(claude_md.KIND, "CLAUDE.md files of a repository or of the user", claude_md.read),
        Source(notes.KIND, "any folder of markdown or text files, or one file", notes.read),
    )
}


def detect(path: Path) -> str:
    """The kind of source that a path is. Raises: InvalidInput when it is none, or cannot be told."""
    try:
        if not path.exists():
            raise InvalidInput(f"There is nothing at {path}.", "Name a file or a folder.")
        kind = _of_folder(path) if path.is_dir() else _of_file(path)
    except OSError as error:
        raise _unreadable(path, error) from None
    if kind is None:
        known = "; ".join(f"{source.kind}: {source.about}" for source in SOURCES.values())
        raise InvalidInput(f"Nothing that can be imported was recognised in {path}.", f"Say --from KIND. {known}.")
    return kind


def _unreadable(path: Path, error: OSError) -> InvalidInput:
    return InvalidInput(f"{error.filename or path} cannot be read: {error.strerror}.", "Check its permissions.")


def _of_folder(path: Path) -> str | None:
    if memory_folder.root_of(path) is not None:
        return memory_folder.KIND
    if (path / claude_mem.FILE).is_file():
        return claude_mem.KIND
    if any((folder / auto_memory.INDEX).is_file() for folder in auto_memory.folders(path)):
        if claude_md.is_there(path):
            raise InvalidInput(
                f"{path} holds Claude Code's memory and a CLAUDE.md.",
                f"Import one after the other: --from {auto_memory.KIND}, --from {claude_md.KIND}.",
            )
        return auto_memory.KIND
    if claude_md.is_there(path):
        return claude_md.KIND
    if basic_memory.is_vault(path):
        return basic_memory.KIND
    found = next((file for file in walk(path, notes.SUFFIXES) if not isinstance(file, Skipped)), None)
    return notes.KIND if found is not None else None


def _of_file(path: Path) -> str | None:
    data = file_bytes(path)
    if data.startswith(claude_mem.HEADER):
        return claude_mem.KIND if claude_mem.is_database(path) else None
    text = text_of(data[:_HEAD_BYTES])[0].removeprefix("\ufeff").lstrip()
    if text.startswith(("[", "{")):
        return _of_json(text)
    if path.suffix.lower() == ".csv":
        return _of_csv(text)
    if path.suffix.lower() not in notes.SUFFIXES:
        return None
    return _of_text(path, data, text)


def _of_json(text: str) -> str | None:
    keys = set(re.findall(r'"(\w{1,40})"\s*:', text))
    if keys & {"entityType", "relationType"}:
        return knowledge_graph.KIND
    if keys & {"memory_type", "pattern_id", "created_at"}:
        return claude_memory_mcp.KIND
    return own_export.KIND if "content" in keys or text.rstrip() == "[]" else None


def _of_csv(text: str) -> str | None:
    header = set(re.findall(r"\w+", text.partition("\n")[0].lower()))
    return claude_memory_mcp.KIND if header & {"content", "description", "body", "text"} else None


def _of_text(path: Path, data: bytes, text: str) -> str:
    if text.startswith("# Memories") and re.search(r"^- id: ", text, re.MULTILINE):
        return own_export.KIND
    if path.name.lower() in claude_md.NAMES:
        return claude_md.KIND
    parsed = text_format.read(data[:MAX_NOTE_BYTES])
    if parsed.id and parsed.category:
        return memory_folder.KIND
    if path.name == auto_memory.INDEX or (path.parent / auto_memory.INDEX).is_file():
        return auto_memory.KIND
    return basic_memory.KIND if "permalink" in parsed.unknown else notes.KIND
