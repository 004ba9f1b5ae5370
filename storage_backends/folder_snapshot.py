"""What is known about the files of a folder, and in which order it became known.

A version is the file's STAMP: number, size, times of change. The system's clock has ticks, so a file changed a
moment ago can change again without a new stamp; as long as it is FRESH, a digest of its bytes belongs to
the version, and is looked at again until the file has aged.
"""

import hashlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

from storage_backends.base import Item

FRESH_SECONDS = 3.0  # more than the coarsest tick of file times that we know (FAT: 2 s)
_REMEMBERED_REMOVALS = 20_000

Stamp = tuple[int, int, int, int]


def stamp_of(status: os.stat_result) -> Stamp:
    """Inode, size, time of the last change of the bytes, time of the last change of anything (ns)."""
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def is_fresh(stamp: Stamp, now: float) -> bool:
    """Whether the file could change once more without a new stamp.

    The time of the last change of anything cannot be set by programs. Windows has none: there it is the
    time of creation.
    """
    changed = max(stamp[2], stamp[3]) if sys.platform == "win32" else stamp[3]
    return changed > (now - FRESH_SECONDS) * 1e9


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:20]


def version_text(stamp: Stamp, digest: str) -> str:
    text = "{:x}-{:x}-{:x}-{:x}".format(*stamp)
    return f"{text}-{digest}" if digest else text


def is_version(version: str, stamp: Stamp, data: bytes) -> bool:
    """Whether a file with this stamp and these bytes is at `version`."""
    return version in (version_text(stamp, digest_of(data)), version_text(stamp, ""))


@dataclass(slots=True)
class Known:
    """One file. `settled`: its stamp alone tells from now on whether it changed."""

    path: str
    stamp: Stamp
    digest: str
    settled: bool
    number: int

    def item(self) -> Item:
        return Item(
            item_id=self.path,
            path=self.path,
            version=version_text(self.stamp, self.digest),
            size=self.stamp[1],
            modified=self.stamp[2] / 1e9,
        )


@dataclass(slots=True)
class Folder:
    """One folder as it was last listed.

    Attributes:
        disk: its path below the root as it is written on disk.
        stamp: device, inode and times; a new, renamed or removed entry changes it.
        folders: names in NFC, and how they are written on disk.
        skipped: entries that cannot be items, each with the reason.
    """

    disk: str
    stamp: tuple[int, int, int, int]
    settled: bool
    folders: dict[str, str]
    skipped: dict[str, str]


@dataclass(slots=True)
class Snapshot:
    """Files by path, folders by path ("" is the root), and the numbered stream of what changed.

    Attributes:
        names: of the known files, by their folder's path.
        subfolders: names of the folders that known files are in, by the path of the folder above.
        number: of the newest change; every change of knowledge gets the next one.
        news: number of the newest change that was not our own doing.
        floor: cursors below are dead, because removals before it are forgotten.
    """

    files: dict[str, Known] = field(default_factory=dict)
    names: dict[str, set[str]] = field(default_factory=dict)
    subfolders: dict[str, set[str]] = field(default_factory=dict)
    folders: dict[str, Folder] = field(default_factory=dict)
    unsettled: set[str] = field(default_factory=set)
    removed: dict[str, int] = field(default_factory=dict)
    number: int = 0
    news: int = 0
    floor: int = 0

    def observe(self, path: str, stamp: Stamp, now: float, digest: Callable[[], str], *, own: bool = False) -> Known:
        """The file is there with this stamp. `digest` is asked only where the stamp is not enough."""
        known = self.files.get(path)
        if known is not None and known.stamp == stamp:
            if known.settled:
                return known
            current = digest()
            if current == known.digest:
                self._settle(known, is_fresh(stamp, now))
                return known
            return self._put(path, stamp, current, is_fresh(stamp, now), own)
        fresh = is_fresh(stamp, now)
        return self._put(path, stamp, digest() if fresh else "", fresh, own)

    def forget(self, path: str, *, own: bool = False) -> None:
        """The file is gone."""
        if self.files.pop(path, None) is None:
            return
        folder, _, name = path.rpartition("/")
        self.names[folder].discard(name)
        self.unsettled.discard(path)
        self.removed[path] = self._next(own)
        if len(self.removed) > _REMEMBERED_REMOVALS:
            oldest = next(iter(self.removed))
            self.floor = self.removed.pop(oldest)

    def forget_folder(self, path: str) -> None:
        """The folder is gone, with everything in it."""
        for known in [known for known in self.folders if _is_within(known, path)]:
            del self.folders[known]
        for known in [known for known in self.names if _is_within(known, path)]:
            for name in list(self.names[known]):
                self.forget(f"{known}/{name}" if known else name)
            del self.names[known]
        for known in [known for known in self.subfolders if _is_within(known, path)]:
            del self.subfolders[known]
        above, _, name = path.rpartition("/")
        self.subfolders.get(above, set()).discard(name)

    def since(self, number: int) -> tuple[list[Item], list[str]]:
        """Items that changed and ids that went after change `number`."""
        items = [known.item() for known in self.files.values() if known.number > number]
        return items, [path for path, at in self.removed.items() if at > number]

    def _put(self, path: str, stamp: Stamp, digest: str, fresh: bool, own: bool) -> Known:
        known = Known(path, stamp, digest, settled=False, number=self._next(own))
        self.files[path] = known
        folder, _, name = path.rpartition("/")
        if folder not in self.names:
            self._put_folder(folder)
        self.names[folder].add(name)
        self.removed.pop(path, None)
        self._settle(known, fresh)
        return known

    def _put_folder(self, folder: str) -> None:
        self.names[folder] = set()
        while folder:
            folder, _, name = folder.rpartition("/")
            self.subfolders.setdefault(folder, set()).add(name)

    def _settle(self, known: Known, fresh: bool) -> None:
        known.settled = not fresh
        if fresh:
            self.unsettled.add(known.path)
        else:
            self.unsettled.discard(known.path)

    def _next(self, own: bool) -> int:
        self.number += 1
        if not own:
            self.news = self.number
        return self.number


def _is_within(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(folder + "/")
