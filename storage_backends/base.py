"""The storage protocol: what every backend does, and the words for it.

Vocabulary
    ROOT      the one folder a backend looks at. Nothing outside it is ever read or written.
    PATH      position of a file below the root: `/`-separated, NFC, relative, never `..`, never empty.
    ITEM      one file. It has an ITEM ID, a path and a version. Folders are not items; they
              are made when a file is created in them and may vanish when empty.
    ITEM ID   opaque. Stable under rename where `Capabilities.stable_ids` is true;
              otherwise it is the path, and a rename is one removal and one new item.
    VERSION   opaque. Two reads of an item with the same version return the same bytes, and any
              change of the bytes changes it. Only ever compared for equality, only within one item.
    CURSOR    opaque position in the stream of changes. Valid for one SCOPE.
    SCOPE     opaque name of this very store (drive and folder, absolute path …). When it
              differs from the one remembered, cursors, versions and item ids mean nothing any more.
    ENUMERATION  the pages that `changes(None)` starts: every item once or more, none of the gone.

Contract of every method
    * Raises only `storage_backends.errors`; never retries, never logs, never sleeps on a failure.
    * Cancelling a call leaves the store either as before or as after the call.
    * No observer ever sees a half-written file.
    * "No such root", "root not mounted", "listing failed" are errors, never an empty listing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self, runtime_checkable


@dataclass(frozen=True, slots=True)
class Item:
    """One file as the storage shows it.

    Attributes:
        size: bytes.
        modified: seconds since the epoch by the clock of whoever wrote the file, or None.
            For display only: it never decides which version is newer.
    """

    item_id: str
    path: str
    version: str
    size: int
    modified: float | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes of an item, and the item as it was when exactly these bytes were read."""

    item: Item
    data: bytes


@dataclass(frozen=True, slots=True)
class Changes:
    """One page of changes.

    Attributes:
        items: files that exist now and are new, changed or moved since the cursor. The same item
            may come again on a later page; the last one counts.
        removed: item ids that the storage says are gone. An id the caller never saw is legal here. Before
            anything is deleted because of it, `stat` confirms.
        cursor: where to go on. To be stored together with what this page brought.
        more: there is a further page right now; call again with `cursor`.
        enumeration: this page belongs to a full enumeration. When its last page (`more` false)
            is in, an item that no page of it named may be gone: `stat` tells.
    """

    items: Sequence[Item]
    removed: Sequence[str]
    cursor: str
    more: bool
    enumeration: bool


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a backend can promise.

    Attributes:
        stable_ids: item ids survive renames.
        atomic_conditions: a conditional write is decided by the storage itself (compare and swap).
            Where false, another client's write in the very same instant may slip in between; such a
            displaced version is never destroyed: the write fails with VersionMismatch and the file
            is left with the other client's bytes.
        pushes: `wait_for_change` wakes by itself; where false it only times out.
        case_sensitive: `A.md` and `a.md` are two files.
    """

    stable_ids: bool
    atomic_conditions: bool
    pushes: bool
    case_sensitive: bool


@runtime_checkable
class StorageBackend(Protocol):
    """One store. Used as an async context manager: resources live from `__aenter__` to `__aexit__`.

    Entering never fails because the store is unreachable: that shows at the first call.
    """

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def location(self) -> str:
        """Where the root is, for people: an absolute path or a web address. No secrets."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None: ...

    async def scope(self) -> str:
        """The scope that cursors, versions and item ids belong to.

        Raises: Unreachable, LoginRequired, AccessDenied, Throttled.
        """
        ...

    async def changes(self, cursor: str | None) -> Changes:
        """The next page of changes since `cursor`; from the start of an enumeration when None.

        Raises: CursorExpired (enumerate anew), Unreachable, LoginRequired, AccessDenied, Throttled.
        """
        ...

    async def stat(self, item_id: str) -> Item:
        """The item as it is right now; fresher than `changes`.

        Raises: NotFound; ItemBusy (out of reach for the moment: that is no proof of absence).
        """
        ...

    async def find(self, path: str) -> Item:
        """The item at this path right now. Raises: NotFound, InvalidName, ItemBusy as in `stat`."""
        ...

    async def read(self, item_id: str) -> Content:
        """The whole bytes and the version they belong to.

        Raises: NotFound; ItemBusy (changing under the read, a placeholder, truncated on the way).
        """
        ...

    async def create(self, path: str, data: bytes) -> Item:
        """Write a new file; make its folders. Never replaces.

        Where the storage ignores case, the folders may be there already in another case: the item's path
        tells how they are written.

        Raises: AlreadyExists (also for a name that differs only by case or Unicode form where
        the storage cannot hold both), InvalidName, StorageFull, AccessDenied.
        When the outcome is unknown (the answer got lost) a TransientError is raised, and the
        file may or may not be there: the caller looks with `find`.
        """
        ...

    async def update(self, item_id: str, data: bytes, version: str) -> Item:
        """Replace the bytes, only if the item is still at `version`.

        Raises: VersionMismatch, NotFound, ItemBusy, StorageFull, AccessDenied; unknown outcome as in `create`.
        """
        ...

    async def delete(self, item_id: str, version: str) -> None:
        """Remove the item, only if it is still at `version`. An item that is gone already is fine.

        Raises: VersionMismatch, ItemBusy, AccessDenied.
        """
        ...

    async def wait_for_change(self, timeout: float) -> bool:
        """True as soon as something may have changed, False after `timeout` seconds. Only a hint."""
        ...
