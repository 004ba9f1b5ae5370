"""A folder as claude-onedrive-memory 0.2 and this program keep it: `memories/`, and what lies beside.

The files are kept byte for byte. The older server's `index.json` is used for what only it tells: the id of a file
without one, and which ids it gave to files that say otherwise, so that links find their way.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memory_cache import document_file, paths, pattern_file, text_format
from memory_cache.clock import EPOCH
from memory_cache.errors import InvalidInput
from memory_cache.hashing import content_hash
from memory_cache.importing.reading import MAX_NOTE_BYTES, file_bytes, json_of, modified, one_line, relative, text_of
from memory_cache.importing.reading import walk as walked
from memory_cache.importing.records import (
    ConflictFile,
    DocumentRecord,
    Item,
    MemoryFile,
    PatternRecord,
    Skipped,
)

KIND = "memory-folder"
_BELOW = (Path(), Path("Apps") / "ClaudeMemory", Path("ClaudeMemory"))


def root_of(path: Path) -> Path | None:
    """The folder with `memories/` or the index in it: this one, or the application's folder in a OneDrive."""
    for below in _BELOW:
        folder = path / below
        if (folder / "memories").is_dir() or _index_of(folder) is not None:
            return folder
    return None


def _index_of(folder: Path) -> Any:
    try:
        index = json_of(file_bytes(folder / "index.json"))
    except InvalidInput:
        return None
    entries = index.get("memories") if isinstance(index, dict) else None
    return entries if isinstance(entries, list) else None


@dataclass(slots=True)
class _Index:
    """What the older server's index says. `named`: ids by path; `meant`: the id in the file for one of the index."""

    entries: list[Mapping[str, Any]] = field(default_factory=list)
    named: dict[str, list[str]] = field(default_factory=dict)
    meant: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> "_Index":
        index = cls()
        for entry in _index_of(folder) or []:
            if isinstance(entry, dict) and isinstance(entry.get("id"), str) and isinstance(entry.get("path"), str):
                index.entries.append(entry)
                index.named.setdefault(entry["path"], []).append(entry["id"])
        return index

    def only_id(self, path: str) -> str | None:
        ids = self.named.get(path, [])
        return ids[0] if len(ids) == 1 else None


def read(path: Path, home: Path) -> Iterator[Item]:
    """Everything in such a folder, or one memory's file. Raises: InvalidInput when it is none."""
    if path.is_file():
        yield from _files([path], path.parent, _Index())
        return
    root = root_of(path)
    if root is None:
        raise InvalidInput(f"{path} has no folder `memories`.", "Name the folder that holds it.")
    index = _Index.of(root)
    found: list[Path] = []
    for file in walked(root / "memories", (".md",)):
        if isinstance(file, Skipped):
            yield file
        else:
            found.append(file)
    yield from _files(found, root, index)
    yield from _lost(root, index)
    yield from _beside(root)


def _files(found: list[Path], root: Path, index: _Index) -> Iterator[Item]:
    ids: dict[Path, str] = {}
    for file in found:
        memory_id = _id_in(file)
        if memory_id is not None:
            ids[file] = memory_id
            index_id = index.only_id(relative(file, root))
            if index_id is not None and index_id != memory_id:
                index.meant[index_id] = memory_id
    index.meant = {old: new for old, new in index.meant.items() if old not in set(ids.values())}
    owners = _owners(ids, root)
    first: dict[str, bytes] = {}
    for file in sorted(found, key=lambda path: (owners.get(ids.get(path, "")) != path, path)):
        try:
            yield from _one(file, root, index, ids, owners, first)
        except InvalidInput as error:
            yield Skipped(relative(file, root), error.message)


def _id_in(file: Path) -> str | None:
    try:
        return text_format.read(_utf8(file_bytes(file, MAX_NOTE_BYTES))[0]).id
    except InvalidInput:
        return None


def _utf8(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    text, remark = text_of(data)
    return (text.encode(), (remark,)) if remark else (data, ())


def _owners(ids: Mapping[Path, str], root: Path) -> dict[str, Path]:
    """Which of several files with one id has it: the one that a sync round would choose."""
    owners: dict[str, Path] = {}
    for file, memory_id in sorted(ids.items(), key=lambda pair: _claim(pair[1], relative(pair[0], root))):
        owners.setdefault(memory_id, file)
    return owners


def _claim(memory_id: str, path: str) -> tuple[bool, int, str]:
    return (memory_id[:8].lower() not in path.rsplit("/", 1)[-1].lower(), len(path), path)


def _one(
    file: Path,
    root: Path,
    index: _Index,
    ids: Mapping[Path, str],
    owners: Mapping[str, Path],
    first: dict[str, bytes],
) -> Iterator[Item]:
    path = relative(file, root)
    data, remarks = _utf8(file_bytes(file, MAX_NOTE_BYTES))
    memory_id = ids.get(file)
    if memory_id is None:
        yield MemoryFile(path, _with_id(file, path, data, index, owners), _kept(path), remarks)
        return
    parsed = text_format.read(data)
    if owners[memory_id] != file:
        if first.get(memory_id) == data:
            yield Skipped(path, f"It is the same as {relative(owners[memory_id], root)}.", expected=True)
            return
        memory_id = paths.derived_id(memory_id, path)
        data = text_format.rewrite(data, set={"id": memory_id})
        remarks = (*remarks, "Another file has the same id and says something else; this one gets an id of its own.")
    else:
        first[memory_id] = data
    if parsed.problem is not None:
        remarks = (*remarks, f"It is shown and cannot be changed: {parsed.problem}.")
        yield MemoryFile(path, data, _kept(path), remarks)
        return
    links = [index.meant.get(link, link) for link in parsed.related_to]
    if links != list(parsed.related_to):
        data = text_format.rewrite(data, set={"relatedTo": list(dict.fromkeys(links))})
    yield MemoryFile(path, data, _kept(path), remarks)


def _kept(path: str) -> str | None:
    return path if path.startswith("memories/") and paths.in_scope(path) else None


def _with_id(file: Path, path: str, data: bytes, index: _Index, owners: Mapping[str, Path]) -> bytes:
    """A hand-written file with the id of the index, else with the id that the sync would give it."""
    index_id = index.only_id(path)
    written = modified(file) or EPOCH
    fields: dict[str, text_format.Value] = {
        "id": index_id if index_id and index_id not in owners else paths.derived_id(content_hash(data), path),
        "category": paths.category_of(path),
        "created": min(paths.date_of(path) or written, written),
        "updated": written,
    }
    if not text_format.read(data).body.strip():
        raise InvalidInput("It is empty.")
    return text_format.adopt(data, fields)


def _lost(root: Path, index: _Index) -> Iterator[Item]:
    """What only the index still knows of."""
    written: dict[str, str | None] = {}
    for entry in index.entries:
        path, memory_id = entry["path"], entry["id"]
        title = one_line(str(entry.get("title") or "untitled"), 60)
        where = f"index.json: {title}"
        if path not in written:
            file = root / path
            written[path] = _id_in(file) if paths.in_scope(path) and file.is_file() else ""
        if written[path] == "":
            yield Skipped(where, f"Its file {path} is gone; the index has only the beginning of its text.")
        elif len(index.named[path]) > 1 and written[path] != memory_id:
            yield Skipped(where, f"Another memory was written over its file {path}; its text is gone.")


def _beside(root: Path) -> Iterator[Item]:
    """Documents, patterns and open conflicts of this program's own folder."""
    for folder, suffix in (("documents", ".md"), ("patterns", ".md"), ("conflicts", ".json")):
        for file in walked(root / folder, (suffix,)):
            if isinstance(file, Skipped):
                yield file
                continue
            path = relative(file, root)
            try:
                data = file_bytes(file)
            except InvalidInput as error:
                yield Skipped(path, error.message)
                continue
            if not paths.in_scope(path):
                continue
            if folder == "documents":
                yield DocumentRecord(path, document_file.decode(data))
            elif folder == "patterns":
                yield PatternRecord(path, pattern_file.decode(data))
            else:
                yield ConflictFile(path, path, data)
