"""Stores what readers give. Every batch is one transaction; all batches are one change, which `undo` takes back."""

import sqlite3
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice

from memory_cache import changes, health, vocabulary
from memory_cache.cache import MemoryCache
from memory_cache.documents import Caps
from memory_cache.errors import InvalidInput
from memory_cache.importing import shelving, storing
from memory_cache.importing.placement import Placement, clean
from memory_cache.importing.records import (
    ConflictFile,
    DocumentRecord,
    Item,
    MemoryFile,
    Note,
    PatternRecord,
    Skipped,
)
from memory_cache.importing.report import Report
from memory_cache.importing.storing import Importing
from memory_cache.models import Project

_BATCH = 50  # others that want to write wait no longer than for so many


async def store(
    cache: MemoryCache,
    items: Iterable[Item],
    report: Report,
    placement: Placement,
    *,
    progress: Callable[[Report], None] = lambda _: None,
) -> Report:
    """Store all records and say what became of each; with `report.dry_run` only say it.

    What the reader raises ends the import; what was stored before stays, and the same import goes on from there.
    Raises: InvalidInput (the source cannot be read any further), CacheUnusable.
    """
    importing = await cache.database.read(lambda c: _begun(c, cache, report, placement))
    reading = iter(items)
    while batch := list(islice(reading, _BATCH)):
        if report.dry_run:
            await cache.database.read(partial(_take_all, cache=cache, importing=importing, batch=batch))
        else:
            await cache.database.write(partial(_take_all, cache=cache, importing=importing, batch=batch))
        progress(report)
    return report


def _begun(connection: sqlite3.Connection, cache: MemoryCache, report: Report, placement: Placement) -> Importing:
    return Importing(
        kind=report.kind,
        report=report,
        placement=placement,
        secrets=cache.settings.privacy.secrets,
        known=_known(connection),
        texts=storing.texts_here(connection),
        device=health.device(connection)[0][:8],
    )


def _known(connection: sqlite3.Connection) -> dict[str, Project]:
    """Projects with memories, by their name and their plain id; names that several have are left out."""
    found: dict[str, set[tuple[str, str]]] = {}
    for project in vocabulary.projects(connection):
        for name in {project.name.casefold(), project.key}:
            found.setdefault(name, set()).add((clean(project.ids[0]), project.name))
    return {
        name: Project(id=project_id, key=name, name=title)
        for name, meant in found.items()
        if len(meant) == 1
        for project_id, title in meant
    }


def _take_all(connection: sqlite3.Connection, *, cache: MemoryCache, importing: Importing, batch: list[Item]) -> None:
    if not importing.report.dry_run:
        _continue_change(connection, cache, importing)
    for item in batch:
        try:
            _take(connection, cache, importing, item)
        except InvalidInput as error:
            importing.skip(item.where, error.message)


def _continue_change(connection: sqlite3.Connection, cache: MemoryCache, importing: Importing) -> None:
    # Very many changes of others meanwhile may have pushed ours out of the list.
    cause = importing.cause
    number = cause.change if cause is not None else None
    if connection.execute("SELECT 1 FROM changes WHERE change_id = ?", (number,)).fetchone() is None:
        importing.cause = changes.begin(connection, "import", cache.now())


def _take(connection: sqlite3.Connection, cache: MemoryCache, importing: Importing, item: Item) -> None:
    if isinstance(item, Note):
        importing.note(connection, item)
    elif isinstance(item, MemoryFile):
        importing.file(connection, item)
    elif isinstance(item, ConflictFile):
        importing.conflict(connection, item)
    elif isinstance(item, PatternRecord):
        shelving.take_pattern(connection, importing, item)
    elif isinstance(item, DocumentRecord):
        kept = cache.settings.documents
        caps = Caps(max_bytes=kept.max_bytes, max_count=kept.max_count, max_age_days=kept.max_age_days)
        shelving.take_document(connection, importing, item, synced=kept.sync, caps=caps, now=cache.now())
    elif isinstance(item, Skipped):
        importing.skip(item.where, item.reason, expected=item.expected)
