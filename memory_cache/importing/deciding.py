"""What happens to a record whose memory may be here already. Pure; one line of the table per rule.

A memory that was edited here is never overwritten, one that was forgotten never comes back by itself.
"""

from collections.abc import Collection
from datetime import datetime
from enum import StrEnum

from memory_cache import text_format
from memory_cache.importing.composing import Mark, fingerprint
from memory_cache.text_format import ParsedFile


class Fate(StrEnum):
    """What becomes of one record."""

    NEW = "new"
    UPDATED = "updated"  # imported before, not edited since, and the source says something else by now
    REFILED = "refiled"  # the same, but the user files it under another project or category
    UNCHANGED = "unchanged"
    KEPT = "kept"  # what is here differs and stays
    OTHER = "other"  # another device imported something else under this name: two memories


def fate_of_note(
    existing: ParsedFile | None, new: ParsedFile, device: str, said: Collection[str], *, one_source: bool
) -> Fate:
    """What becomes of a note, given the memory that has its id.

    Args:
        said: the front matter entries that the user decides.
        one_source: the id is the source's own, so that whoever imports it means the same thing.
    """
    if existing is None:
        return Fate.NEW
    mark, wanted = Mark.of(existing), Mark.of(new)
    current = fingerprint(existing)
    says = wanted.fingerprint if wanted else fingerprint(new)
    if mark is None:
        return Fate.UNCHANGED if current == says else Fate.KEPT
    if existing.problem is not None:
        return Fate.KEPT
    edited = current != mark.fingerprint
    if says in (mark.fingerprint, current):
        moved = ("projectId" in said and existing.project_id != new.project_id) or (
            "category" in said and existing.category != new.category
        )
        return Fate.REFILED if moved and not edited else Fate.UNCHANGED
    if mark.device != device and not one_source:
        return Fate.OTHER
    return Fate.KEPT if edited else Fate.UPDATED


def fate_of_file(existing: bytes | None, new: bytes) -> Fate:
    """What becomes of a memory's own file, given the file that has its id here."""
    if existing is None:
        return Fate.NEW
    return Fate.UNCHANGED if existing == new or _says(existing) == _says(new) else Fate.KEPT


def _says(data: bytes) -> tuple[object, ...]:
    parsed = text_format.read(data)
    return (
        fingerprint(parsed), parsed.tags, parsed.created, parsed.updated, parsed.project_id, parsed.project_name,
        parsed.related_to, parsed.category,
    )  # fmt: skip


def why_kept(existing: ParsedFile, new: ParsedFile) -> str:
    """The reason that people are told when what is here differs and stays."""
    if Mark.of(existing) is not None and Mark.of(new) is not None:
        return "It was edited here since it was imported, and its source has changed as well. What is here stays."
    here, there = existing.updated, new.updated
    times = f" Here it was changed {_day(here)}, in the source {_day(there)}." if here and there else ""
    return f"It is here already and says something else; it stays as it is.{times}"


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
