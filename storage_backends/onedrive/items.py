"""driveItems as Graph writes them, folders by id, and the paths that follow from both."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote

from storage_backends.base import Item
from storage_backends.errors import InvalidName, Unreachable
from storage_backends.names import validate_safe_path

SELECT = "id,name,eTag,cTag,size,file,folder,root,deleted,parentReference,fileSystemInfo,lastModifiedDateTime"
SELECT += ",remoteItem,package"

_MOST = 1 << 62
_DEPTH = 64  # a parent chain longer than any path can be is a ring


def canonical_drive(drive_id: str) -> str:
    """One spelling for a drive id: personal ones come in either case, with or without leading zeros."""
    if drive_id[:2].lower() == "b!":
        return drive_id  # base64: case matters
    return drive_id.casefold().zfill(16)


@dataclass(frozen=True, slots=True)
class Root:
    """The root folder, as found.

    Attributes:
        drive: the drive's id as the service spells it.
        item: the folder's id.
        address: web address, for people; may be empty.
    """

    drive: str
    item: str
    address: str = ""

    @property
    def scope(self) -> str:
        """The scope of everything below it."""
        return f"onedrive:{canonical_drive(self.drive)}/{self.item}"

    @property
    def base(self) -> str:
        """The path of the drive below Graph's base."""
        return f"/drives/{quote(self.drive, safe='!')}"

    def item_path(self, item_id: str) -> str:
        """The path of an item below Graph's base."""
        return f"{self.base}/items/{quote(item_id, safe='!')}"

    def file_path(self, path: str) -> str:
        """The path of a file by its position below the root."""
        return f"{self.item_path(self.item)}:/{encoded(path)}:"


def encoded(path: str) -> str:
    """A path for an address: each name percent-encoded once."""
    return "/".join(quote(name, safe="") for name in path.split("/"))


@dataclass(frozen=True, slots=True)
class DriveItem:
    """What matters of one driveItem.

    Attributes:
        etag: changes with content and with name; the version of an item. Empty on tombstones.
        is_file: has bytes and lies in this drive: no folder, no notebook, no link into another drive.
    """

    item_id: str
    name: str
    parent: str
    etag: str
    size: int
    modified: float | None
    hashes: Mapping[str, str]
    is_folder: bool
    is_file: bool
    is_root: bool
    is_deleted: bool

    @classmethod
    def parse(cls, value: Mapping[str, Any]) -> "DriveItem":
        """Read one; whatever is missing is empty."""
        parent, file = object_in(value, "parentReference"), value.get("file")
        other = "remoteItem" in value or "package" in value
        return cls(
            item_id=text_in(value, "id"),
            name=unicodedata.normalize("NFC", text_in(value, "name")),
            parent=text_in(parent, "id"),
            etag=text_in(value, "eTag"),
            size=whole_number(value.get("size")) or 0,
            modified=_modified(value),
            hashes=_texts(object_in(object_in(value, "file"), "hashes")),
            is_folder="folder" in value and not other,
            is_file=file is not None and not other,
            is_root="root" in value,
            is_deleted="deleted" in value,
        )


def parse_page(answer: Mapping[str, Any]) -> list[DriveItem]:
    """The items of a page; what has no id is skipped.

    Raises: Unreachable for what is no page: it must not be taken for an empty one.
    """
    values = answer.get("value")
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise Unreachable("OneDrive answered with something that is no list of files.")
    return [item for item in map(DriveItem.parse, values) if item.item_id]


def text_in(value: Mapping[str, Any], key: str) -> str:
    """A text of an answer; empty for anything else. What could not be stored is replaced."""
    found = value.get(key)
    return found.encode("utf-8", "replace").decode() if isinstance(found, str) else ""


def object_in(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """An object of an answer; empty for anything else."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def whole_number(value: Any) -> int | None:
    """A number of an answer that is a count; None for anything else."""
    return int(value) if isinstance(value, int | float) and 0 <= value < _MOST else None


def _texts(value: Mapping[str, Any]) -> Mapping[str, str]:
    return {key: text for key, text in value.items() if isinstance(text, str)}


def _modified(value: Mapping[str, Any]) -> float | None:
    stamps = object_in(value, "fileSystemInfo")
    text = text_in(stamps, "lastModifiedDateTime") or text_in(value, "lastModifiedDateTime")
    try:
        return datetime.fromisoformat(text).timestamp() if text else None
    except (ValueError, OverflowError):
        return None


@dataclass(slots=True)
class Folders:
    """The folders below the root by id, each with its parent's id and its name. The root itself is not among them."""

    root: str
    known: dict[str, tuple[str, str]] = field(default_factory=dict)

    def holds(self, folder_id: str) -> bool:
        """The folder is the root or below it."""
        return folder_id == self.root or folder_id in self.known

    def path(self, parent: str, name: str) -> str | None:
        """The path of something in a folder; None when it is not below the root, or cannot be a path."""
        names = [name]
        for _ in range(_DEPTH):
            if parent == self.root:
                path = "/".join(reversed(names))
                try:
                    validate_safe_path(path)
                except InvalidName:
                    return None
                return path
            if parent not in self.known:
                return None
            parent, name = self.known[parent]
            names.append(name)
        return None

    def item(self, found: DriveItem) -> Item | None:
        """The storage item for a file; None when it lies elsewhere."""
        path = self.path(found.parent, found.name)
        if path is None:
            return None
        return Item(found.item_id, path, found.etag, found.size, found.modified)
