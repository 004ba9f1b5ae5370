"""What the operating system says about changes below the root; where it says nothing, why."""

import sys
import threading
from collections.abc import Collection

from storage_backends.errors import Unreachable
from storage_backends.names import is_temporary

GROUPING_MILLISECONDS = 200  # an editor's save is several events
STEP_MILLISECONDS = 50

_NETWORK = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "drvfs", "afs", "ceph", "glusterfs", "lustre", "davfs", "vboxsf",
     "virtiofs", "fuse.sshfs", "fuse.rclone", "fuse.davfs2", "fuse.vmhgfs-fuse", "fuse.glusterfs", "fuse.s3fs")
)  # fmt: skip


class Watcher:
    """Events from the moment it is made. Not for several threads at once.

    On Linux every folder is watched by itself: a recursive watch would follow symbolic links out of the root.
    """

    def __init__(self, root: str, folders: Collection[str]) -> None:
        """`folders`: paths of all folders below the root, "" for the root itself. Raises: OSError, Unreachable."""
        from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

        self.folders = frozenset(folders)
        self._root = root.rstrip("/\\")
        self._failure = WatchfilesRustInternalError
        each = sys.platform == "linux"
        places = [f"{self._root}/{folder}" if folder else root for folder in sorted(folders)] if each else [root]
        try:
            self._notify = RustNotify(places, False, False, 0, not each, False)
        except WatchfilesRustInternalError as error:
            raise Unreachable(f"The folder cannot be watched: {error}.") from error

    def take(self, seconds: float, stop: threading.Event | None) -> set[str] | None:
        """Paths below the root, as on disk, at which something happened; empty when nothing did for `seconds`.

        None: it does not work any more (the root is gone); make a new one.
        """
        milliseconds = max(1, int(seconds * 1000))
        grouping = min(GROUPING_MILLISECONDS, milliseconds)
        try:
            events = self._notify.watch(grouping, min(STEP_MILLISECONDS, milliseconds), milliseconds, stop)
        except (self._failure, RuntimeError, OSError):
            return None
        if isinstance(events, str):
            return set()
        return {path for _, place in events if (path := self._below(place)) is not None}

    def close(self) -> None:
        self._notify.close()

    def _below(self, place: str) -> str | None:
        """The path below the root; None for what is other programs' or our own passing business."""
        path = place[len(self._root) :].replace("\\", "/") if sys.platform == "win32" else place[len(self._root) :]
        parts = [part for part in path.split("/") if part]
        if any(is_temporary(part) for part in parts):
            return None
        return "/".join(parts)


def why_events_are_missing(root: str) -> str | None:
    """The kind of network file system that `root` is on: other machines' changes make no events there. None: local."""
    if sys.platform != "linux":
        return None
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as lines:  # noqa: PTH123
            mounts = [line.split(" - ", 1) for line in lines]
    except OSError:
        return None
    best, kind = "", ""
    for place, source in mounts:
        mount_point = place.split(" ")[4].replace("\\040", " ")
        inside = root == mount_point or root.startswith(mount_point.rstrip("/") + "/")
        if inside and len(mount_point) >= len(best):
            best, kind = mount_point, source.split(" ", 1)[0]
    return kind if kind in _NETWORK else None
