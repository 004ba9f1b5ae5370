"""Making, changing, deleting and restoring one memory, each inside the caller's transaction.

A change rewrites only the lines it changes. `updated` grows with every change of a memory, also when the
clock went backwards.
"""

import sqlite3
from collections.abc import Collection, Mapping
from datetime import datetime

from memory_cache import changes, drafts, files, memories, paths, revisions, text_format, trash, ttl
from memory_cache.clock import later_than
from memory_cache.drafts import Prepared, SecretsPolicy
from memory_cache.errors import InvalidInput, UnknownMemory
from memory_cache.memories import Stored
from memory_cache.models import Change, Memory
from memory_cache.revisions import Cause


def remember(connection: sqlite3.Connection, prepared: Prepared, memory_id: str, cause: Cause) -> int:
    """Write a new memory; returns its file id. Never replaces anything. Raises: UnknownMemory for a related id."""
    now = cause.at
    related = [memories.find(connection, other).memory.id for other in prepared.related_to]
    content = text_format.render(
        id=memory_id,
        category=prepared.category,
        tags=prepared.tags,
        created=now,
        updated=now,
        body=prepared.body,
        project_id=prepared.project.id if prepared.project else None,
        project_name=prepared.project.name if prepared.project else None,
        priority=prepared.priority,
        expires_at=prepared.expires_at,
        related_to=list(dict.fromkeys(related)),
    )
    title = text_format.title_of(prepared.body)
    path = paths.memory_path(prepared.category, now, title, memory_id, lambda p: files.taken(connection, p))
    file_id = files.add(connection, path, content).file_id
    changes.created(connection, cause, file_id)
    return file_id


def rewrite(
    connection: sqlite3.Connection,
    stored: Stored,
    cause: Cause,
    *,
    values: Mapping[str, text_format.Value | None] | None = None,
    remove: Collection[str] = (),
    body: str | None = None,
) -> Memory:
    """Change front matter keys and body of a memory; one that would not change stays as it is.

    Raises: InvalidInput when the memory is read-only, saying why and what to do.
    """
    memory = stored.memory
    refuse_read_only(memory)
    record = files.get(connection, stored.file_id)
    if record is None or record.content is None:
        return memories.by_file(connection, stored.file_id)
    changes_to = dict.fromkeys(remove) | dict(values or {})
    if body is None and all(_says(memory, key, value) for key, value in changes_to.items()):
        return memory
    dated = {**changes_to, "updated": later_than(memory.updated, cause.at)}
    files.write(connection, stored.file_id, text_format.rewrite(record.content, set=dated, body=body), cause=cause)
    return memories.by_file(connection, stored.file_id)


def _says(memory: Memory, key: str, value: text_format.Value | None) -> bool:
    """Whether a front matter key has this value already."""
    current = {
        "category": memory.category,
        "tags": list(memory.tags),
        "priority": None if memory.priority == "normal" else memory.priority,
        "projectId": memory.project_id,
        "projectName": memory.project_name,
        "relatedTo": list(memory.related_to) or None,
    }
    return key in current and current[key] == value


def refuse_read_only(memory: Memory) -> None:
    """Raises: InvalidInput when this memory cannot be rewritten."""
    if memory.read_only is not None:
        raise InvalidInput(
            f"“{memory.title}” cannot be changed: {memory.read_only}.",
            f"Repair the file {memory.path} in an editor. It can be forgotten as it is; the trash keeps its bytes.",
        )


def update(
    connection: sqlite3.Connection, stored: Stored, change: Change, cause: Cause, secrets: SecretsPolicy
) -> Memory:
    """Carry out a change. Raises: InvalidInput (empty change, read-only memory …), UnknownMemory for a link."""
    if change.is_empty():
        raise InvalidInput("Nothing to change was given.", "Give content, tags, category, priority, ttl or title.")
    memory = stored.memory
    values: dict[str, text_format.Value | None] = {}
    remove: set[str] = set()
    tags = drafts.changed_tags(memory.tags, change)
    if tags is not None and tags != memory.tags:
        values["tags"] = list(tags)
    if change.category is not None:
        values["category"] = paths.valid_category(change.category)
    if change.priority is not None:
        values["priority"] = None if change.priority == "normal" else change.priority
    if change.ttl is not None:
        values["expiresAt"] = ttl.expiry(change.ttl, cause.at)
    if change.make_global:
        remove |= {"projectId", "projectName"}
    links = _changed_links(connection, memory, change)
    if links is not None:
        values["relatedTo"] = list(links) or None
    body = _changed_body(memory, change, secrets)
    return rewrite(connection, stored, cause, values=values, remove=remove, body=body)


def _changed_body(memory: Memory, change: Change, secrets: SecretsPolicy) -> str | None:
    body = None
    if change.content is not None:
        body, _ = drafts.checked_content(change.content, secrets=secrets)
    if change.title is not None:
        start = memory.content if body is None else body
        body = drafts.with_title(start, change.title, replace_heading=change.content is None)
    return None if body == memory.content else body


def _changed_links(connection: sqlite3.Connection, memory: Memory, change: Change) -> tuple[str, ...] | None:
    if not change.add_links and not change.remove_links:
        return None
    added = [memories.find(connection, text).memory.id for text in change.add_links]
    if memory.id in added:
        raise InvalidInput("A memory cannot be linked to itself.", "Give the id of another memory.")
    removed = {_linked(memory, text) for text in change.remove_links}
    kept = [target for target in memory.related_to if target not in removed]
    return tuple(dict.fromkeys((*kept, *added)))


def _linked(memory: Memory, text: str) -> str:
    # A link may point to what is gone: it is found among the links, not among the memories.
    memories.check_prefix(text.strip())
    return next((target for target in memory.related_to if target.startswith(text.strip())), text)


def restore(connection: sqlite3.Connection, text: str, revision: int | None, cause: Cause) -> Memory:
    """Bring back a memory from the trash, or an earlier text of a living or deleted one.

    Raises: InvalidInput (not deleted, no such revision), UnknownMemory, AmbiguousId.
    """
    if revision is None:
        return memories.by_file(connection, _from_trash(connection, text, cause))
    try:
        stored = memories.find(connection, text)
    except UnknownMemory:
        file_id = _from_trash(connection, text, cause)
        stored = Stored(file_id, memories.by_file(connection, file_id))
    content = revisions.content_of(connection, stored.memory.id, revision)
    newer = changes.as_newer_version(content, stored.memory.updated, cause.at)
    files.write(connection, stored.file_id, newer, cause=cause)
    return memories.by_file(connection, stored.file_id)


def living_or_deleted(connection: sqlite3.Connection, text: str) -> str:
    """The id of the memory with this id or prefix, also of one in the trash. Raises: as `memories.find`."""
    try:
        return memories.find(connection, text).memory.id
    except UnknownMemory:
        try:
            return trash.find(connection, text.strip())[1]
        except UnknownMemory:
            pass
        raise


def _from_trash(connection: sqlite3.Connection, text: str, cause: Cause) -> int:
    wanted = text.strip()
    memories.check_prefix(wanted)
    try:
        trash_id, _ = trash.find(connection, wanted)
    except UnknownMemory:
        living = memories.find(connection, wanted).memory  # unknown here as well: its error names candidates
        raise InvalidInput(
            f"“{living.title}” is not deleted.", "Give the number of a revision from its history to go back to it."
        ) from None
    file_id = trash.restore(connection, trash_id, cause.at)
    changes.created(connection, cause, file_id)
    return file_id


def expire(connection: sqlite3.Connection, before: datetime, cause: Cause) -> list[Memory]:
    """Move to the trash what expired before this moment."""
    gone = memories.expired(connection, before)
    trash.move_in_many(connection, [stored.file_id for stored in gone], cause)
    return [stored.memory for stored in gone]
