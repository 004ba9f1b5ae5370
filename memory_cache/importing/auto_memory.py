"""Claude Code's own memory: `~/.claude/projects/<directory>/memory/`, one file per fact and an index `MEMORY.md`.

The name of the folder is the project's directory with every other character than letters and digits as `-`.
Which directory that was is told by the transcripts beside it, or by what exists on this machine.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from memory_cache import project as projects
from memory_cache.importing.markdown_notes import Page, Web, has_heading, note_of, read_folder, short
from memory_cache.importing.reading import moment, tilde
from memory_cache.importing.records import Item, Skipped

KIND = "auto-memory"
INDEX = "MEMORY.md"
_CATEGORIES = {"user": "preference", "feedback": "preference", "project": "project", "reference": "learning"}
_TRANSCRIPT_BYTES = 256 * 1024
_SPELLED = re.compile(r"-|[A-Za-z]--")  # `/home/…`, `C:\\…`
_INDEX_LINE = re.compile(r"\s*[-*]\s+.*\.md\b.*")


def folders(path: Path) -> list[Path]:
    """The memory folders that a path stands for: itself, its `memory`, or those of all projects below it."""
    if path.is_file() or (path / INDEX).is_file() or path.name == "memory":
        return [path]
    if (path / "memory").is_dir():
        return [path / "memory"]
    above = path / "projects" if (path / "projects").is_dir() else path
    try:
        return sorted(folder for folder in above.glob("*/memory") if folder.is_dir())
    except OSError:
        return []


def read(path: Path, home: Path) -> Iterator[Item]:
    """Every fact of every project below the path. Raises: InvalidInput for far too many files."""
    several = folders(path)
    for folder in several:
        for item in _read_folder(folder, home):
            if isinstance(item, Skipped) and len(several) > 1:
                item = Skipped(f"{folder.parent.name}: {item.where}", item.reason, item.expected)
            yield item


def _read_folder(folder: Path, home: Path) -> Iterator[Item]:
    place = folder.parent if folder.is_file() else folder
    project = _project(place.parent)
    scope = tilde(place.absolute(), home)

    def to_note(page: Page, web: Web) -> Item | None:
        if page.path == INDEX:
            rest = _beyond_index(page.parsed.body)
            if not rest:
                return Skipped(page.path, "It is an index of the other files.", expected=True)
        metadata = page.parsed.unknown.get("metadata")
        told = metadata if isinstance(metadata, dict) else {}
        kind = (page.text("type") or str(told.get("type") or "")).strip().lower()
        title = page.text("description") or (None if has_heading(page) else page.text("name", "title"))
        return note_of(
            page, scope, category=_CATEGORIES.get(kind, "project"), tags=(kind,) if kind else (),
            title=short(title) if title else None, project=project, linked=web.linked(page),
            updated=moment(told.get("modified")),
        )  # fmt: skip

    yield from read_folder(folder, (".md",), to_note)


def _beyond_index(body: str) -> str:
    """What an index says beside its headings and its list of files."""
    lines = (line.strip() for line in body.split("\n") if not _INDEX_LINE.fullmatch(line))
    return "".join(line for line in lines if line and not line.startswith("#"))


def _project(folder: Path) -> tuple[str | None, str | None]:
    """Id and name of the project that a folder of Claude Code stands for."""
    directory = _told_by_transcript(folder) or _on_this_machine(folder.name)
    if directory is not None and directory.is_dir():
        found = projects.identify(directory)
        return found.id, found.name
    if directory is not None:
        return f"local:{directory.as_posix()}", directory.name
    # A name without meaning elsewhere: the user can say what it stands for.
    return (folder.name, folder.name) if _SPELLED.match(folder.name) else (None, None)


def _told_by_transcript(folder: Path) -> Path | None:
    """The directory that a session says it runs in: the one spelled as the folder, else the first that is named."""
    first: Path | None = None
    try:
        transcripts = sorted(folder.glob("*.jsonl"))[:20]
    except OSError:
        return None
    for transcript in transcripts:
        try:
            with transcript.open("rb") as file:
                start = file.read(_TRANSCRIPT_BYTES)
        except OSError:
            continue
        for match in re.finditer(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")', start):
            try:
                directory = Path(json.loads(match[1]))
            except (ValueError, UnicodeDecodeError):
                continue
            if _folder_name(str(directory)) == folder.name:
                return directory
            first = first or directory
    return first


def _folders_in(above: Path) -> list[Path]:
    try:
        with os.scandir(above) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir()]
    except OSError:
        return []


def _folder_name(directory: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", directory)


def _on_this_machine(name: str) -> Path | None:
    """The directory of this machine whose path is spelled so; None when there is none, or several."""
    if not name.startswith("-"):
        return None
    found = [Path("/")]
    rest = {Path("/"): name[1:]}
    ends: list[Path] = []
    while found and len(rest) < 10_000:
        above = found.pop()
        left = rest[above]
        for entry in _folders_in(above):
            spelled = _folder_name(entry.name)
            if left == spelled:
                ends.append(entry)
            elif left.startswith(f"{spelled}-"):
                rest[entry] = left[len(spelled) + 1 :]
                found.append(entry)
    return ends[0] if len(ends) == 1 else None
