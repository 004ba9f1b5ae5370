"""Look at the folder and bring the snapshot up to date: everything, or only what may have changed."""

import os
import stat
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass, field

from storage_backends.errors import AccessDenied, InvalidName, ItemBusy, Unreachable
from storage_backends.folder_directory import Directory, is_placeholder
from storage_backends.folder_errors import MOUNT_HINT
from storage_backends.folder_root import Root
from storage_backends.folder_snapshot import FRESH_SECONDS, Folder, Snapshot, digest_of, stamp_of
from storage_backends.folder_temporary import LEFTOVER_SECONDS, parse
from storage_backends.names import is_temporary, validate_safe_path

_UNREAD = "unread"  # stands for the digest of a file whose bytes cannot be had right now


@dataclass(slots=True)
class _Listing:
    """One folder's entries; files and folders by their name in NFC.

    Attributes:
        hidden: names that nothing has right now, but whose file is not gone: iCloud keeps a stub of it, or it
            is being replaced.
        leftovers: our own temporary files that are too old to be in use.
        empty: nothing in the folder but what systems put there by themselves.
    """

    files: dict[str, tuple[str, os.stat_result]] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    leftovers: list[str] = field(default_factory=list)
    empty: bool = True


class Scan:
    """One look. Every observation is true by itself: a look that fails half-way leaves a sound snapshot.

    Attributes:
        leftovers: (folder, name) of every temporary file of ours that is too old to be in use.
    """

    def __init__(self, root: Root, snapshot: Snapshot, now: float) -> None:
        self._root = root
        self._snapshot = snapshot
        self._now = now
        self._listed: set[str] = set()
        self.leftovers: list[tuple[str, str]] = []

    def everything(self) -> None:
        """List every folder and look at every file. Raises: Unreachable, AccessDenied."""
        with self._root.open() as top:
            self._folder(top, "", "", deep=True)

    def changed(self, hints: Collection[str]) -> None:
        """List the folders whose entries changed; look at the files that `hints` name (paths as on disk),
        and at those whose stamp is not enough.

        Files changed in place show only through hints. Raises: Unreachable, AccessDenied.
        """
        with self._root.open() as top:
            for path, known in sorted(self._snapshot.folders.items()):
                if path in self._snapshot.folders and not (known.settled and _same_folder(top, known)):
                    self._list_again(top, path, known)
            files = self._snapshot.files
            hinted = {unicodedata.normalize("NFC", hint) for hint in hints}
            for path in sorted((hinted & files.keys()) | self._snapshot.unsettled):
                if path.rpartition("/")[0] not in self._listed:
                    self._file(top, path)

    def _list_again(self, top: Directory, path: str, known: Folder) -> None:
        try:
            with self._root.folder(top, path.split("/") if path else [], exact=False) as directory:
                self._folder(directory, path, known.disk, deep=False)
        except (FileNotFoundError, NotADirectoryError):
            self._snapshot.forget_folder(path)

    def _file(self, top: Directory, path: str) -> None:
        folder, _, name = path.rpartition("/")
        try:
            with self._root.folder(top, folder.split("/") if folder else [], exact=False) as directory:
                disk = directory.spelling(name, listed=False)
                status = directory.status_of(disk) if disk is not None else None
                if disk is not None and status is not None and stat.S_ISREG(status.st_mode):
                    self._observe(directory, path, disk, status)
                elif why_hidden(directory, name) is None:
                    self._snapshot.forget(path)
        except (FileNotFoundError, NotADirectoryError):
            self._snapshot.forget(path)

    def _folder(self, directory: Directory, path: str, disk: str, *, deep: bool) -> None:
        self._listed.add(path)
        status = directory.status()  # before the listing: what happens during it makes the next look list again
        known = self._snapshot.folders.get(path)
        prefix = f"{path}/" if path else ""
        listing = self._listing(directory, prefix, self._snapshot.names.get(path, set()))
        self._refuse_unmounted(directory.path, path, status, listing)
        for name, (actual, file_status) in listing.files.items():
            self._observe(directory, prefix + name, actual, file_status)
        for name in self._snapshot.names.get(path, set()) - listing.files.keys() - listing.hidden:
            self._not_listed(directory, prefix + name, name)
        subfolders = (known.folders.keys() if known else set()) | self._snapshot.subfolders.get(path, set())
        for name in subfolders - listing.folders.keys():
            self._snapshot.forget_folder(prefix + name)
        self._snapshot.folders[path] = Folder(
            disk, _folder_stamp(status), self._is_settled(status), listing.folders, listing.skipped
        )
        disk_prefix = f"{disk}/" if disk else ""
        self.leftovers.extend((path, name) for name in listing.leftovers)
        for name, actual in sorted(listing.folders.items()):
            if deep or prefix + name not in self._snapshot.folders:
                self._subfolder(directory, actual, prefix + name, disk_prefix + actual, deep=deep)

    def _subfolder(self, directory: Directory, actual: str, path: str, disk: str, *, deep: bool) -> None:
        try:
            child = directory.child(actual)
        except (FileNotFoundError, NotADirectoryError):
            self._snapshot.forget_folder(path)
            return
        except PermissionError as error:
            raise AccessDenied(f"The folder {path} cannot be read.", "Check its permissions.") from error
        with child:
            self._folder(child, path, disk, deep=deep)

    def _listing(self, directory: Directory, prefix: str, known: set[str]) -> _Listing:
        listing = _Listing()
        for actual, status in directory.scan():
            is_known = actual in known
            if not is_known and is_temporary(actual):
                self._ours(actual, status, listing)
                continue
            listing.empty = False
            if status is None:
                continue
            name = actual if actual.isascii() else unicodedata.normalize("NFC", actual)
            reason = None if is_known and stat.S_ISREG(status.st_mode) else _why_no_item(prefix + name, status)
            if reason is not None:
                listing.skipped[actual] = reason
            elif stat.S_ISDIR(status.st_mode):
                _choose(listing, name, actual, listing.folders.get(name), None)
            elif actual.startswith(".") and actual.endswith(".icloud"):
                listing.hidden.add(name[1 : -len(".icloud")])
            else:
                _choose(listing, name, actual, listing.files.get(name, (None,))[0], status)
        return listing

    def _ours(self, actual: str, status: os.stat_result | None, listing: _Listing) -> None:
        leftover = parse(actual)
        if leftover is not None and status is not None:
            if status.st_ctime < self._now - LEFTOVER_SECONDS:
                listing.leftovers.append(actual)
            listing.empty = False
            if leftover.hides:
                listing.hidden.add(unicodedata.normalize("NFC", leftover.original))

    def _observe(self, directory: Directory, path: str, actual: str, status: os.stat_result) -> None:
        self._snapshot.observe(path, stamp_of(status), self._now, lambda: digest_or_unread(directory, actual, status))

    def _not_listed(self, directory: Directory, path: str, name: str) -> None:
        """A known name that a listing left out: a rename during the listing can hide a file that is there."""
        if self._root.case_sensitive:
            actual = directory.spelling(name, listed=False)
            status = directory.status_of(actual) if actual is not None else None
            if actual is not None and status is not None and stat.S_ISREG(status.st_mode):
                self._observe(directory, path, actual, status)
                return
        self._snapshot.forget(path)

    def _refuse_unmounted(self, where: str, path: str, status: os.stat_result, listing: _Listing) -> None:
        """A folder that held something and is now an empty folder on another device is a mount point."""
        known = self._snapshot.folders.get(path)
        if known is None or not listing.empty or known.stamp[0] == status.st_dev:
            return
        if known.folders or self._snapshot.names.get(path):
            raise Unreachable(f"{where} is empty and on another disk than before.", MOUNT_HINT)

    def _is_settled(self, status: os.stat_result) -> bool:
        return max(status.st_mtime, status.st_ctime) < self._now - FRESH_SECONDS


def _folder_stamp(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns


def _same_folder(top: Directory, known: Folder) -> bool:
    try:
        status = top.status_of(known.disk) if known.disk else top.status()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return _folder_stamp(status) == known.stamp


def _why_no_item(path: str, status: os.stat_result) -> str | None:
    if stat.S_ISLNK(status.st_mode):
        return "a symbolic link, which is never followed"
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        return "not a regular file"
    try:
        validate_safe_path(path)
    except InvalidName as error:
        return error.message
    return None


def _choose(listing: _Listing, name: str, actual: str, other: str | None, status: os.stat_result | None) -> None:
    """Of entries that differ only by Unicode form one is the item: the one in NFC, else the first by order."""
    if other is not None:
        loser = max((actual, other), key=lambda form: (form != name, form))
        listing.skipped[loser] = "another file has this name, in another Unicode form"
        if loser == actual:
            return
    if status is None:
        listing.folders[name] = actual
    else:
        listing.files[name] = actual, status


def digest_or_unread(directory: Directory, actual: str, status: os.stat_result) -> str:
    if is_placeholder(status):
        return _UNREAD  # looking at the bytes would download the file
    try:
        data, _ = directory.read(actual)
    except (ItemBusy, OSError):
        return _UNREAD  # reading the item tells why
    return digest_of(data)


def why_hidden(directory: Directory, name: str) -> str | None:
    """Why the file is not gone, although nothing in the folder has its name. None: it is gone."""
    if directory.has(f".{name}.icloud"):
        return "is not downloaded"
    for other in directory.names():
        leftover = parse(other)
        if leftover is not None and leftover.hides and unicodedata.normalize("NFC", leftover.original) == name:
            return "is being replaced"
    return None
