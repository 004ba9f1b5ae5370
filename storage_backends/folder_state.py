"""What one device knows of the folder, kept true by looks and by its own writes.

Everything here blocks; threads take turns by `lock`.
"""

import os
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from storage_backends import folder_write
from storage_backends.base import Changes, Item
from storage_backends.errors import CursorExpired, StorageError, Unreachable
from storage_backends.folder_errors import MOUNT_HINT, translated
from storage_backends.folder_root import Root
from storage_backends.folder_scan import Scan
from storage_backends.folder_snapshot import Snapshot, digest_of, stamp_of

LOOK_AT_EVERYTHING_SECONDS = 300.0
"""Even with events: some get lost (queue overflow, files changed through memory maps)."""


class State:
    """See the module.

    Attributes:
        complete: everything was looked at since the start, or since the root was replaced.
        look_seconds: how long the last look at everything took.
        handed_out: number of the newest change that the caller was told.
    """

    def __init__(self, root: Path, clock: Callable[[], float]) -> None:
        self.root = Root(root)
        self.clock = clock
        self.lock = threading.RLock()
        self.snapshot = Snapshot()
        self.complete = False
        self.look_seconds = 0.0
        self.handed_out = 0
        self._kind = "folder-" + digest_of(os.fsencode(self.root.path))[:8]
        self._name = secrets.token_hex(6)
        self._looked_at = 0.0

    def real_path(self) -> str:
        """The root's path without links. A round asks for it first: it must not fail for ever on a replaced root."""
        with self.lock:
            self._accept_root()
            return self.root.real_path()

    def page(self, cursor: str | None, hints: set[str] | None) -> Changes:
        """See `StorageBackend.changes`. `hints`: as for `refresh`."""
        with self.lock:
            self._accept_root()
            with self.root.open():  # before anything is said about the cursor
                pass
            since = None if cursor is None else self._parse(cursor)
            self.refresh(None if since is None else hints)
            if since is not None and since < self.snapshot.floor:
                raise CursorExpired("Removals since this cursor are forgotten.")
            items, removed = self.snapshot.since(-1 if since is None else since)
            self.handed_out = self.snapshot.number
            return Changes(
                items=items,
                removed=[] if since is None else removed,
                cursor=self._cursor(),
                more=False,
                enumeration=since is None,
            )

    def refresh(self, hints: set[str] | None) -> None:
        """Look at the folder.

        Args:
            hints: paths (as on disk) at which something happened since the last look, when all such
                events are known; None to look at everything.
        """
        with self.lock:
            due = time.monotonic() - self._looked_at > LOOK_AT_EVERYTHING_SECONDS
            scan = Scan(self.root, self.snapshot, self.clock())
            with translated(self.root.path):
                if hints is not None and self.complete and not due:
                    scan.changed(hints)
                    return
                started = time.monotonic()
                scan.everything()
            self._looked_at = time.monotonic()
            self.look_seconds = self._looked_at - started
            self.complete = True
            self._clear_leftovers(scan)

    def folders(self) -> frozenset[str]:
        """Paths of all folders as they are written on disk; "" is the root."""
        with self.lock:
            return frozenset(folder.disk for folder in self.snapshot.folders.values())

    def skipped(self) -> dict[str, str]:
        """Paths of what cannot be items, each with the reason."""
        with self.lock:
            return {
                f"{path}/{name}" if path else name: reason
                for path, folder in sorted(self.snapshot.folders.items())
                for name, reason in sorted(folder.skipped.items())
            }

    def observed(self, path: str, status: os.stat_result, digest: Callable[[], str]) -> Item:
        """The item, having seen this status just now."""
        with self.lock:
            return self.snapshot.observe(path, stamp_of(status), self.clock(), digest).item()

    def create(self, path: str, data: bytes) -> Item:
        with self.lock, translated(path):
            actual, status = folder_write.create(self.root, path, data)
            return self._written(actual, status, data)

    def update(self, path: str, data: bytes, version: str) -> Item:
        with self.lock, translated(path):
            return self._written(path, folder_write.update(self.root, path, data, version), data)

    def delete(self, path: str, version: str) -> None:
        with self.lock, translated(path):
            folder_write.delete(self.root, path, version)
            self.snapshot.forget(path, own=True)

    def _written(self, path: str, status: os.stat_result, data: bytes) -> Item:
        known = self.snapshot.observe(path, stamp_of(status), self.clock(), lambda: digest_of(data), own=True)
        return known.item()

    def _accept_root(self) -> None:
        """Another folder has come to the root's place: start over, unless it is an empty mount point."""
        now = self.root.identity_now()
        if now is None or self.root.identity in (None, now):
            return
        if self.snapshot.files and self.root.is_empty():
            raise Unreachable(f"{self.root.path} is empty and another folder than before.", MOUNT_HINT)
        self.snapshot = Snapshot()
        self.handed_out = 0
        self.complete = False
        self._name = secrets.token_hex(6)
        self.root.identity = None

    def _cursor(self) -> str:
        device, inode = self.root.identity or (0, 0)
        return f"{self._kind}:{self._name}:{self.snapshot.number}:{device:x}:{inode:x}:{len(self.snapshot.files)}"

    def _parse(self, cursor: str) -> int:
        """The change number. A cursor of an earlier process still tells whether the root was unmounted since."""
        try:
            kind, name, number, device, inode, count = cursor.split(":")
            identity, files, position = (int(device, 16), int(inode, 16)), int(count), int(number)
        except ValueError:
            raise CursorExpired("The cursor is not known here.") from None
        if kind != self._kind:
            raise CursorExpired("The cursor is of another folder.")
        if name == self._name and position <= self.snapshot.number:
            return position
        if files and self.root.identity_now() not in (None, identity) and self.root.is_empty():
            raise Unreachable(f"{self.root.path} is empty and another folder than before.", MOUNT_HINT)
        raise CursorExpired("The cursor is from another run.")

    def _clear_leftovers(self, scan: Scan) -> None:
        """Best effort: a store that cannot be written to can still be read."""
        for folder, name in scan.leftovers:
            with (
                suppress(OSError, StorageError),
                self.root.locked() as top,
                self.root.folder(top, folder.split("/") if folder else [], exact=False) as directory,
            ):
                folder_write.clear_leftover(directory, name)
