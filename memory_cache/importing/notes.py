"""A plain folder of notes, or one file: every text becomes a memory, its front matter and links understood."""

from collections.abc import Iterator
from pathlib import Path

from memory_cache import paths
from memory_cache.importing.markdown_notes import Page, Web, heading, note_of, read_folder
from memory_cache.importing.reading import tilde
from memory_cache.importing.records import Item

KIND = "notes"
SUFFIXES = (".md", ".markdown", ".txt")


def read(path: Path, home: Path) -> Iterator[Item]:
    """Every note. Raises: InvalidInput for far too many files."""
    scope = tilde((path if path.is_dir() else path.parent).absolute(), home)

    def to_note(page: Page, web: Web) -> Item:
        return note_of(page, scope, category=category_of(page), title=heading(page), linked=web.linked(page))

    yield from read_folder(path, SUFFIXES, to_note)


def category_of(page: Page) -> str | None:
    """A category of ours that the front matter or a folder is named for."""
    for name in (page.text("type"), *reversed(page.path.split("/")[:-1])):
        for candidate in ((name or "").lower(), (name or "").lower().removesuffix("s")):
            if candidate in paths.CATEGORIES:
                return candidate
    return None
