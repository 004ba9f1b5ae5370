"""Markdown files with or without front matter, as several sources have them: what they share."""

import re
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from memory_cache import paths, text_format
from memory_cache.errors import InvalidInput
from memory_cache.importing.reading import (
    MAX_NOTE_BYTES,
    file_bytes,
    modified,
    moment,
    one_line,
    relative,
    text_of,
    walk,
    words,
)
from memory_cache.importing.records import Extra, Item, Note, Skipped
from memory_cache.text_format import ParsedFile

_WIKI_LINK = re.compile(r"\[\[([^\[\]|#\n]{1,300})(?:#[^\[\]|\n]{0,300})?(?:\|[^\[\]\n]{0,300})?\]\]")
_FILE_LINK = re.compile(r"\]\(([^()\s]{1,500}\.md)(?:#[^()\s]{0,300})?\)", re.IGNORECASE)
_CREATED = ("created", "date", "created_at", "createdAt")
_UPDATED = ("updated", "modified", "updated_at", "updatedAt", "last_modified", "lastmod")


@dataclass(frozen=True, slots=True)
class Page:
    """One file as it was read. `path` is below the root; `extra` are its front matter entries that are not ours."""

    file: Path
    path: str
    parsed: ParsedFile
    written: datetime | None
    extra: Mapping[str, Extra] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    def value(self, *names: str) -> Any:
        """The first of these front matter entries that says something."""
        return next((self.parsed.unknown[name] for name in names if self.parsed.unknown.get(name)), None)

    def text(self, *names: str) -> str | None:
        """The first of these entries that is a text."""
        found = next((value for name in names if isinstance(value := self.parsed.unknown.get(name), str)), None)
        return (found or "").strip() or None

    @property
    def names(self) -> Iterator[str]:
        """What links may call this page, the case ignored."""
        stem = self.path.rpartition(".")[0]
        for name in (self.path, stem, stem.rpartition("/")[2], self.text("permalink"), self.text("title", "name")):
            if name:
                yield name.casefold()


def pages(root: Path, files: Iterable[Path | Skipped]) -> Iterator[Page | Skipped]:
    """Each file, read; or why it was not."""
    for file in files:
        if isinstance(file, Skipped):
            yield file
            continue
        path = relative(file, root)
        try:
            data = file_bytes(file, MAX_NOTE_BYTES)
        except InvalidInput as error:
            yield Skipped(path, error.message)
            continue
        text, remark = text_of(data)
        if "\x00" in text:
            yield Skipped(path, "It is no text.")
            continue
        parsed = text_format.read(text.encode())
        if parsed.problem is not None and not parsed.adoptable:
            # Its front matter is broken and has an id: people see more when all of it is text.
            parsed = text_format.read(f"\n{text}".encode())
        yield Page(file, path, parsed, modified(file), _extra(parsed, text), (remark,) if remark else ())


def _extra(parsed: ParsedFile, text: str) -> dict[str, Extra]:
    if not parsed.has_front_matter:
        return {}
    spelled = text_format.sources(text.encode())  # only the file's own spelling keeps every value as it is
    extra: dict[str, Extra] = {key: value for key, value in spelled.items() if key not in text_format.KEYS}
    return {**extra, "sourceId": parsed.id} if parsed.id else extra


@dataclass(slots=True)
class Web:
    """Which page a link means. A name that several pages have means none of them."""

    pages: dict[str, str | None] = field(default_factory=dict)

    @classmethod
    def of(cls, found: Iterable[Page]) -> "Web":
        """The web of these pages."""
        web = cls()
        for page in found:
            for name in set(page.names):
                web.pages[name] = page.path if web.pages.get(name, page.path) == page.path else None
        return web

    def linked(self, page: Page) -> tuple[str, ...]:
        """The paths of the pages that this one links to."""
        body = page.parsed.body
        names = [match[1].strip() for match in _WIKI_LINK.finditer(body)]
        folder = page.path.rpartition("/")[0]
        for match in _FILE_LINK.finditer(body):
            target = urllib.parse.unquote(match[1])
            names.append(_joined(folder, target))
        found = (self.pages.get(name.removeprefix("memory://").casefold()) for name in names)
        return tuple(dict.fromkeys(path for path in found if path and path != page.path))


def _joined(folder: str, target: str) -> str:
    segments: list[str] = folder.split("/") if folder and not target.startswith("/") else []
    for segment in target.split("/"):
        if segment == "..":
            segments = segments[:-1]
        elif segment not in ("", "."):
            segments.append(segment)
    return "/".join(segments)


def note_of(
    page: Page, scope: str, *, category: str | None, tags: Iterable[str] = (), title: str | None = None,
    project: tuple[str | None, str | None] = (None, None), linked: Iterable[str] = (), updated: datetime | None = None,
) -> Note:  # fmt: skip
    """The note that a page is. `scope` and the page's path make its origin; what its front matter says, counts."""
    parsed = page.parsed
    updated = updated or parsed.updated or moment(page.value(*_UPDATED)) or page.written
    created = parsed.created or moment(page.value(*_CREATED)) or paths.date_of(page.path) or updated
    if created and updated:
        created = min(created, updated)
    return Note(
        origin=f"{scope}\n{page.path}",
        where=page.path,
        body=parsed.body,
        title=title,
        category=parsed.category or category,
        tags=tuple(dict.fromkeys((*parsed.tags, *words(page.value("keywords")), *tags))),
        created=created,
        updated=updated,
        project_id=parsed.project_id or project[0],
        project_name=parsed.project_name if parsed.project_id else project[1],
        priority=parsed.priority or "normal",
        expires_at=parsed.expires_at,
        linked=tuple(f"{scope}\n{path}" for path in linked),
        extra=page.extra,
        remarks=page.remarks,
    )


def has_heading(page: Page) -> bool:
    """Whether the text begins with a heading."""
    return re.match(r"\s*#{1,6}[ \t]", page.parsed.body) is not None


def heading(page: Page) -> str | None:
    """The title that front matter gives, or that the file name is, for a text that has no heading of its own."""
    title = page.text("title", "name")
    if title:
        return title
    if has_heading(page):
        return None
    stem = page.path.rpartition("/")[2].rpartition(".")[0]
    readable = re.sub(r"[-_]+", " ", re.sub(r"^\d{4}-\d\d-\d\d[-_ ]*", "", stem)).strip()
    return readable or stem


def read_folder(
    path: Path, suffixes: tuple[str, ...], to_note: Callable[[Page, Web], Item | None], *, empty: str = "It is empty."
) -> Iterator[Item]:
    """Every page below a folder (or the one file) as `to_note` makes a note of it; None says nothing about it."""
    root = path if path.is_dir() else path.parent
    files: Iterable[Path | Skipped] = walk(path, suffixes) if path.is_dir() else [path]
    found: list[Page] = []
    for page in pages(root, files):
        if isinstance(page, Skipped):
            yield page
        elif not page.parsed.body.strip() and not page.text("title", "name", "description"):
            yield Skipped(page.path, empty, expected=True)
        else:
            found.append(page)
    web = Web.of(found)
    for page in found:
        item = to_note(page, web)
        if item is not None:
            yield item


def short(text: str) -> str:
    """A text for a title."""
    return one_line(text, 100)
