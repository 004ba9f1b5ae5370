"""How a person or Claude settles an open conflict. Whatever is decided, both texts stay in the memory's history."""

import sqlite3
from typing import Literal

from memory_cache import changes, conflicts, files, memories, text_format, trash, writing
from memory_cache.clock import later_than
from memory_cache.conflicts import ConflictRecord
from memory_cache.drafts import SecretsPolicy, checked_content
from memory_cache.errors import InvalidInput, UnknownMemory
from memory_cache.memories import Stored
from memory_cache.models import Memory
from memory_cache.revisions import Cause
from memory_cache.search.filters import tag_key
from memory_cache.text_format_values import encodable

Keep = Literal["mine", "theirs", "both"]


def resolve(
    connection: sqlite3.Connection,
    conflict: str,
    keep: Keep | None,
    content: str | None,
    cause: Cause,
    secrets: SecretsPolicy,
) -> Memory:
    """Settle a conflict: keep one version, both texts, or a merged text.

    `content` is a new body; a whole file with the memory's id in its front matter is taken as such.
    Raises: UnknownMemory (no such conflict); InvalidInput (not exactly one of `keep` and `content`, memory gone …).
    """
    if (keep is None) == (content is None):
        raise InvalidInput(
            "How to settle the conflict was not said.", "Give either keep (mine, theirs, both) or content."
        )
    file_id, _ = conflicts.find(connection, conflict)
    record_file = files.get(connection, file_id)
    if record_file is None or record_file.content is None:
        raise UnknownMemory("This conflict is settled already.", "List the open conflicts.")
    record = conflicts.decode(record_file.content)
    stored = _memory(connection, record.memory_id)
    if stored is None:
        return _without_memory(connection, file_id, record, keep, cause)
    if keep == "theirs":
        _take_whole(connection, stored, record.theirs, cause)
    elif keep == "both":
        _keep_both(connection, stored, record, cause)
    elif content is not None:
        _take_content(connection, stored, content, cause, secrets)
    trash.close_conflict(connection, file_id, cause)
    return memories.by_file(connection, stored.file_id)


def _memory(connection: sqlite3.Connection, memory_id: str) -> Stored | None:
    row = connection.execute("SELECT file_id FROM memories WHERE id = ?", (memory_id,)).fetchone()
    return None if row is None else Stored(row["file_id"], memories.by_file(connection, row["file_id"]))


def _without_memory(
    connection: sqlite3.Connection, conflict_file: int, record: ConflictRecord, keep: Keep | None, cause: Cause
) -> Memory:
    if keep != "theirs":
        raise InvalidInput(
            "The memory of this conflict was deleted.", "Keep theirs to bring that version back, or restore the memory."
        )
    file_id = trash.place(connection, record.path, record.memory_id, record.theirs, cause.at)
    changes.created(connection, cause, file_id)
    trash.close_conflict(connection, conflict_file, cause)
    return memories.by_file(connection, file_id)


def _take_whole(connection: sqlite3.Connection, stored: Stored, content: bytes, cause: Cause) -> None:
    theirs = text_format.read(content).updated
    latest = max(stored.memory.updated, theirs) if theirs else stored.memory.updated
    files.write(connection, stored.file_id, changes.as_newer_version(content, latest, cause.at), cause=cause)


def _take_content(
    connection: sqlite3.Connection, stored: Stored, content: str, cause: Cause, secrets: SecretsPolicy
) -> None:
    public, _ = checked_content(content, secrets=secrets)
    whole = encodable(public + "\n").encode()
    parsed = text_format.read(whole)
    if parsed.has_front_matter and parsed.id == stored.memory.id:
        _take_whole(connection, stored, whole, cause)
    else:
        writing.rewrite(connection, stored, cause, body=public)


def _keep_both(connection: sqlite3.Connection, stored: Stored, record: ConflictRecord, cause: Cause) -> None:
    mine, theirs = stored.memory, text_format.read(record.theirs)
    values: dict[str, text_format.Value | None] = {}
    tags = {tag_key(tag): tag for tag in (*theirs.tags, *mine.tags)}
    known = {tag_key(tag) for tag in mine.tags}
    if len(tags) > len(known):
        values["tags"] = [*mine.tags, *(tag for key, tag in tags.items() if key not in known)]
    if set(theirs.related_to) - set(mine.related_to):
        values["relatedTo"] = list(dict.fromkeys((*mine.related_to, *theirs.related_to)))
    body = None
    if theirs.body.strip() != mine.content.strip():
        origin = f" ({record.device})" if record.device else ""
        body = f"{mine.content}\n\n## Other version{origin}\n\n{theirs.body}"
    if theirs.updated is not None and theirs.updated >= mine.updated:
        cause = Cause(cause.reason, later_than(theirs.updated, cause.at), cause.change)
    writing.rewrite(connection, stored, cause, values=values, body=body)
