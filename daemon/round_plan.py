"""What a round has to do: every file that is not in step, with its action from the truth table.

Read from the cache in one transaction, without any request. Files here and items there that stand for one
another although nothing binds them yet are brought together: by path (a create whose answer got lost, one file
made on two devices) and, once the content is known, by memory id (a move in a storage without stable ids).
"""

import sqlite3
from dataclasses import dataclass, field

from daemon.reconcile import (
    GONE,
    Action,
    Base,
    Create,
    DeleteLocal,
    DeleteRemote,
    Download,
    Drop,
    Gone,
    Local,
    Merge,
    Move,
    Nothing,
    Recreate,
    Remote,
    Update,
    reconcile,
)
from memory_cache import remote_tree
from memory_cache.files import FileRecord
from memory_cache.hashing import content_hash
from memory_cache.models import FileKind
from memory_cache.paths import kind_of
from memory_cache.remote_tree import RemoteItem, RemoteState
from storage_backends.names import same_name_key

# Device notes first: the storage must know its devices before it can be called empty.
_ORDER = {FileKind.DEVICE: 0, FileKind.MEMORY: 1, FileKind.PATTERN: 2, FileKind.DOCUMENT: 3, FileKind.CONFLICT: 4}


@dataclass(frozen=True, slots=True)
class Step:
    """One file and what to do with it. Carried out against the state it has by then, not against this one.

    `version` and `size` (bytes) are those of the item as observed.
    """

    action: Action
    kind: FileKind
    path: str
    file_id: int | None
    item_id: str | None
    version: str | None = None
    base_version: str | None = None
    size: int = 0

    @property
    def key(self) -> str:
        """Names the file within a round."""
        return f"file {self.file_id}" if self.file_id is not None else f"item {self.item_id}"


@dataclass(frozen=True, slots=True)
class Plan:
    """All steps of one pass, in order.

    Attributes:
        orphans: files whose item is missing or that have none yet, by what would show that a new item is theirs.
        first: this device has nothing of the storage yet, so no new item can be one that it knows.
    """

    steps: tuple[Step, ...] = ()
    orphans: dict[str, tuple[int, str | None]] = field(default_factory=dict)
    first: bool = False

    def of(self, *actions: type[Action]) -> list[Step]:
        """The steps with one of these actions."""
        return [step for step in self.steps if isinstance(step.action, actions)]


def make_plan(connection: sqlite3.Connection, own_note: str, *, case_sensitive: bool) -> Plan:
    """Compare the three trees. `own_note`: path of this device's own note, which only this device writes."""
    pairs = [remote_tree.divergence(connection, *pair) for pair in remote_tree.divergent(connection)]
    key_of = str if case_sensitive else same_name_key
    waiting = {
        key_of(pair.file.path): pair.file
        for pair in pairs
        if pair.file is not None and pair.file.item_id is None and pair.remote is None
    }
    steps: list[Step] = []
    paired: set[int] = set()
    for pair in pairs:
        file, item = pair.file, pair.remote
        if file is None and item is not None and item.state is not RemoteState.PRESENT:
            steps.append(_step(None, item, Drop()))
            continue
        if file is None and item is not None:
            file = waiting.pop(key_of(item.path), None)
            paired |= {file.file_id} if file is not None else set()
            steps.append(_step(file, item, Merge() if file is not None else Download()))
            continue
        if file is not None and item is not None:
            steps.append(_step(file, item, _action(file, item, own_note)))
    for pair in pairs:
        if pair.file is not None and pair.remote is None and pair.file.file_id not in paired:
            steps.append(_step(pair.file, None, _action(pair.file, None, own_note)))
    steps = [step for step in steps if not isinstance(step.action, Nothing)]
    steps.sort(key=lambda step: (_ORDER.get(step.kind, 9), step.path, step.file_id or 0))
    known = connection.execute("SELECT 1 FROM files WHERE kind = 'memory' AND item_id IS NOT NULL LIMIT 1").fetchone()
    return Plan(tuple(steps), _orphans(connection, steps), first=known is None)


def _action(file: FileRecord, item: RemoteItem | None, own_note: str) -> Action:
    digest = None if file.content is None else content_hash(file.content)
    base = None
    if file.base is not None and file.base_version is not None:
        base = Base(file.base_version, file.base_path or file.path, content_hash(file.base))
    remote: Remote | Gone | None = None
    if item is not None:
        remote = Remote(item.version, item.path) if item.state is RemoteState.PRESENT else GONE
    elif file.item_id is not None:
        remote = GONE  # bound to an item that no enumeration has named since
    action = reconcile(base, Local(file.path, digest), remote)
    if isinstance(action, DeleteLocal) and file.path == own_note:
        return Recreate()  # nobody but this device writes or deletes its note
    return action


def _step(file: FileRecord | None, item: RemoteItem | None, action: Action) -> Step:
    path = item.path if item is not None else file.path if file is not None else ""
    return Step(
        action=action,
        kind=file.kind if file is not None else kind_of(path),
        path=path,
        file_id=file.file_id if file is not None else None,
        item_id=item.item_id if item is not None else file.item_id if file is not None else None,
        version=item.version if item is not None else None,
        base_version=file.base_version if file is not None else None,
        size=item.size if item is not None else 0,
    )


def _orphans(connection: sqlite3.Connection, steps: list[Step]) -> dict[str, tuple[int, str | None]]:
    """Files that a new item may turn out to be: those never uploaded, and those whose item is missing."""
    if not any(isinstance(step.action, Download) and step.file_id is None for step in steps):
        return {}
    found: dict[str, tuple[int, str | None]] = {}
    for step in steps:
        if step.file_id is None or not isinstance(step.action, (Create, DeleteLocal, Recreate, Drop)):
            continue
        if step.kind in (FileKind.DEVICE, FileKind.INDEX):
            continue  # their paths are all they are
        row = connection.execute(
            "SELECT f.content_hash, f.base_hash, m.written_id FROM files f LEFT JOIN memories m USING (file_id)"
            " WHERE f.file_id = ?",
            (step.file_id,),
        ).fetchone()
        for mark in identity(step.kind, row["written_id"], row["base_hash"] or row["content_hash"]):
            found.setdefault(mark, (step.file_id, step.item_id))
    return found


def identity(kind: FileKind, memory_id: str | None, digest: str | None) -> list[str]:
    """What tells that a file is the same one under another path: its memory id, and its very bytes."""
    by_id = [f"id {memory_id}"] if kind is FileKind.MEMORY and memory_id is not None else []
    return by_id + ([f"{kind} {digest}"] if digest is not None else [])


__all__ = [
    "Create", "DeleteLocal", "DeleteRemote", "Download", "Drop", "Merge", "Move", "Nothing", "Plan", "Recreate",
    "Step", "Update", "identity", "make_plan",
]  # fmt: skip
