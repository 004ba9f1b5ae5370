"""What tools did, call by call, so that the last call can be undone.

A change is a number that the revisions and trash entries of one call carry, and the ids it made. Only what
still is as the call left it is undone; what somebody changed since stays, and is named.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime

from memory_cache import files, indexing, memories, tag_lines, text_format, trash
from memory_cache.clock import from_text, later_than, to_text
from memory_cache.errors import InvalidInput, MemoryCacheError
from memory_cache.hashing import content_hash
from memory_cache.models import Memory, Undone
from memory_cache.revisions import Cause

KEPT = 200
_MANY = 50


def begin(connection: sqlite3.Connection, action: str, now: datetime) -> Cause:
    """Begin a change; what is written with its cause belongs to it."""
    cursor = connection.execute("INSERT INTO changes (action, at) VALUES (?, ?)", (action, to_text(now)))
    number = int(cursor.lastrowid or 0)
    connection.execute("DELETE FROM changes WHERE change_id <= ?", (number - KEPT,))
    return Cause(action, now, number)


def created(connection: sqlite3.Connection, cause: Cause, file_id: int) -> None:
    """Note that the change made the memory of this file."""
    if cause.change is not None:
        connection.execute(
            "INSERT OR REPLACE INTO change_creations (change_id, memory_id, content_hash)"
            " SELECT ?, m.id, f.content_hash FROM memories m JOIN files f USING (file_id) WHERE m.file_id = ?",
            (cause.change, file_id),
        )


@dataclass(frozen=True, slots=True)
class Step:
    """A memory before and after a change; before is None for one it made, after for one it deleted."""

    memory_id: str
    before: bytes | None
    after: str | None
    trash_id: int | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """A change that can be undone."""

    number: int
    action: str
    at: datetime
    steps: tuple[Step, ...]

    def portions(self, size: int) -> list[tuple[Step, ...]]:
        """The steps in parts of at most so many; at least one part."""
        return [self.steps[start : start + size] for start in range(0, max(len(self.steps), 1), size)]


def last(connection: sqlite3.Connection) -> Change:
    """The last change that is not undone yet. Raises: InvalidInput when there is none."""
    row = connection.execute(
        "SELECT c.change_id, c.action, c.at FROM changes c WHERE c.undone = 0"
        " AND (EXISTS (SELECT 1 FROM change_creations n WHERE n.change_id = c.change_id)"
        " OR EXISTS (SELECT 1 FROM revisions r WHERE r.change_id = c.change_id)"
        " OR EXISTS (SELECT 1 FROM trash t WHERE t.change_id = c.change_id)) ORDER BY c.change_id DESC LIMIT 1"
    ).fetchone()
    if row is None:
        raise InvalidInput("There is no change to undo.", "The history of a memory lists its earlier texts.")
    steps = _steps(connection, row["change_id"])
    return Change(row["change_id"], row["action"], from_text(row["at"]), tuple(steps))


def undo(connection: sqlite3.Connection, steps: Sequence[Step], now: datetime) -> list[Memory | str]:
    """Undo these steps: for each the memory as it is then, or was when the change had made it; or why it stays."""
    cause = Cause("undo", now)
    retagged: list[_Retagged] = []
    with indexing.search_postponed() if len(steps) > _MANY else nullcontext():
        done = [_undo(connection, step, cause, retagged) for step in steps]
    files.retag(connection, [step.change for step in retagged], cause)
    _stand_for(connection, [(step.memory_id, step.before, step.change.content) for step in retagged])
    return done


def close(
    connection: sqlite3.Connection,
    change: Change,
    results: Sequence[Memory | str],
    steps: Sequence[Step],
    now: datetime,
) -> Undone:
    """Undo the last steps of a change, whose earlier ones had these results: the next undo goes to the one before."""
    results = [*results, *undo(connection, steps, now)]
    connection.execute("UPDATE changes SET undone = 1 WHERE change_id = ?", (change.number,))
    return Undone(
        action=change.action,
        at=change.at,
        memories=tuple(result for result in results if isinstance(result, Memory)),
        left=tuple(result for result in results if isinstance(result, str)),
    )


def _steps(connection: sqlite3.Connection, number: int) -> list[Step]:
    steps = {}
    for row in connection.execute("SELECT * FROM change_creations WHERE change_id = ?", (number,)):
        steps[row["memory_id"]] = Step(row["memory_id"], None, row["content_hash"])
    for row in connection.execute(
        "SELECT memory_id, content, replaced_by FROM revisions WHERE change_id = ? AND replaced_by IS NOT NULL"
        " ORDER BY revision_id",
        (number,),
    ):
        earlier = steps.get(row["memory_id"])
        before = earlier.before if earlier else row["content"]
        steps[row["memory_id"]] = Step(row["memory_id"], before, row["replaced_by"])
    for row in connection.execute("SELECT memory_id, content, trash_id FROM trash WHERE change_id = ?", (number,)):
        steps[row["memory_id"]] = Step(row["memory_id"], row["content"], None, row["trash_id"])
    return list(steps.values())


@dataclass(frozen=True, slots=True)
class _Retagged:
    """A step that is undone together with the others of its kind."""

    memory_id: str
    before: bytes
    change: files.Retagged


def _undo(connection: sqlite3.Connection, step: Step, cause: Cause, retagged: list[_Retagged]) -> Memory | str:
    """The memory as it is now, or why it was left alone. What only changes tags is left to the caller."""
    if step.trash_id is not None:
        try:
            return memories.by_file(connection, trash.restore(connection, step.trash_id, cause.at))
        except MemoryCacheError as error:
            return error.message
    row = connection.execute(
        f"SELECT {memories.COLUMNS}, f.content, f.content_hash FROM memories m JOIN files f USING (file_id)"
        " WHERE m.id = ?",
        (step.memory_id,),
    ).fetchone()
    if row is None:
        return f"The memory {step.memory_id} is gone by now."
    if row["content_hash"] != step.after:
        return f"The memory {step.memory_id} ({row['title']}) was changed since."
    memory = memories.memory_of(row)
    if step.before is None:
        trash.move_in(connection, row["file_id"], cause)
        return memory
    updated = from_text(to_text(later_than(memory.updated, cause.at)))
    quick = _only_tags(step.before, row, memory, updated)
    if quick is not None:
        retagged.append(_Retagged(step.memory_id, step.before, quick))
        return memory.model_copy(update={"tags": quick.tags, "updated": updated})
    newer = as_newer_version(step.before, memory.updated, cause.at)
    files.write(connection, row["file_id"], newer, cause=cause)
    _stand_for(connection, [(step.memory_id, step.before, newer)])
    return memories.by_file(connection, row["file_id"])


def _only_tags(before: bytes, now: sqlite3.Row, memory: Memory, updated: datetime) -> files.Retagged | None:
    """The earlier text as a new version, when it differs from the current one in nothing but its tags."""
    tags = text_format.read(before).tags
    newer = tag_lines.retagged(before, tags, tags, updated)
    if newer is None or newer != tag_lines.retagged(now["content"], memory.tags, tags, updated):
        return None
    return files.Retagged(now["file_id"], newer, tags, updated)


def _stand_for(connection: sqlite3.Connection, texts: Sequence[tuple[str, bytes, bytes]]) -> None:
    """(memory id, its text before, the same as a newer version): what led to the one is undone from the other, too."""
    hashes = [(content_hash(newer), memory_id, content_hash(before)) for memory_id, before, newer in texts]
    connection.executemany(
        "UPDATE revisions SET replaced_by = ? WHERE memory_id = ? AND replaced_by = ? AND change_id IS NOT NULL", hashes
    )
    connection.executemany(
        "UPDATE change_creations SET content_hash = ? WHERE memory_id = ? AND content_hash = ?", hashes
    )


def as_newer_version(content: bytes, latest: datetime, now: datetime) -> bytes:
    """An earlier text that comes back as the newest version: its `updated` says so, all else is as it was."""
    if text_format.read(content).problem is not None:
        return bytes(content)
    return text_format.rewrite(content, set={"updated": later_than(latest, now)})
