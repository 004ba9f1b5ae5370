"""basic-memory: a folder of markdown notes with `permalink`, observations and relations. The text stays as it is;
`[[links]]` become links between memories."""

from collections.abc import Iterator
from pathlib import Path

from memory_cache import text_format
from memory_cache.errors import InvalidInput
from memory_cache.importing.markdown_notes import Page, Web, heading, note_of, read_folder
from memory_cache.importing.notes import category_of
from memory_cache.importing.reading import MAX_NOTE_BYTES, file_bytes, tilde, walk
from memory_cache.importing.records import Item, Skipped

KIND = "basic-memory"
_LOOKED_AT = 30


def read(path: Path, home: Path) -> Iterator[Item]:
    """Every note. Raises: InvalidInput for far too many files."""
    scope = tilde((path if path.is_dir() else path.parent).absolute(), home)

    def to_note(page: Page, web: Web) -> Item:
        kind = page.text("type") or "note"
        category = category_of(page)
        tags = (kind,) if kind.lower() not in ("note", category) else ()
        return note_of(page, scope, category=category, tags=tags, title=heading(page), linked=web.linked(page))

    yield from read_folder(path, (".md",), to_note)


def is_vault(path: Path) -> bool:
    """Whether most of the first notes below a folder have a permalink."""
    seen = permalinks = 0
    for file in walk(path, (".md",)):
        if isinstance(file, Skipped):
            continue
        seen += 1
        try:
            permalinks += "permalink" in text_format.read(file_bytes(file, MAX_NOTE_BYTES)).unknown
        except InvalidInput:
            continue
        if seen == _LOOKED_AT:
            break
    return seen > 0 and permalinks * 2 > seen
