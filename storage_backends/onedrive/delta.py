"""The stream of changes: what a cursor holds, and what one page does to it. Pure: no requests here.

An enumeration first asks delta for its newest position, then lists the folders below the root, then reads delta
from that position on: what changed while it listed comes last. So it never reads the rest of a large drive,
needs no order of pages, and goes on after any of its pages.

Afterwards each round reads delta from the last position. Where a service gives no delta (some tokens on some
accounts), every round is a listing.

Everything is told by ids. A page of delta may name parents, foreign folders and items whose folder comes later;
only what is below the root by its chain of parents counts. A folder that is new or renamed is listed, because
delta names the folder and not what is in it; a folder that is gone makes the cursor expire, because delta need
not name what was in it either, and an enumeration finds out.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from storage_backends.base import Item
from storage_backends.errors import CursorExpired
from storage_backends.onedrive.items import DriveItem, Folders

_FORMAT = 1
_PAGES_IN_A_ROUND = 10_000


@dataclass(slots=True)
class Cursor:
    """A position in the stream.

    Attributes:
        scope: of the root it belongs to.
        link: where delta goes on; empty where there is no delta.
        walk: what is still to be listed: ids of folders, or links to further pages of a listing.
        folders: the folders below the root, as known by now.
        enumeration: the pages from here on belong to an enumeration.
        settled: the last page of delta is in; only listings of new folders may be left of this round.
        seen: digests of the links followed in this round, so that a ring of links is noticed.
    """

    scope: str
    folders: Folders
    link: str = ""
    walk: list[str] = field(default_factory=list)
    enumeration: bool = False
    settled: bool = False
    seen: list[str] = field(default_factory=list)

    def encode(self) -> str:
        """As text, to be stored."""
        value = {
            "v": _FORMAT,
            "scope": self.scope,
            "root": self.folders.root,
            "link": self.link,
            "walk": self.walk,
            "folders": self.folders.known,
            "enumeration": self.enumeration,
            "settled": self.settled,
            "seen": self.seen,
        }
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def decode(cls, text: str) -> "Cursor":
        """From text. Raises: CursorExpired for what this program never wrote."""
        try:
            value = json.loads(text)
            if value["v"] != _FORMAT:
                raise CursorExpired("The cursor was written by another version.")
            known = {str(key): (str(parent), str(name)) for key, (parent, name) in value["folders"].items()}
            return cls(
                scope=str(value["scope"]),
                folders=Folders(str(value["root"]), known),
                link=str(value["link"]),
                walk=[str(entry) for entry in value["walk"]],
                enumeration=bool(value["enumeration"]),
                settled=bool(value["settled"]),
                seen=[str(entry) for entry in value["seen"]],
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            raise CursorExpired("The cursor cannot be read.") from None

    def follow(self, link: str, next_link: str) -> bool:
        """Go on to the next page of this round. False when the links run in a ring."""
        self.seen.append(_digest(link))
        if _digest(next_link) in self.seen or len(self.seen) > _PAGES_IN_A_ROUND:
            return False
        self.link = next_link
        return True

    def settle(self, link: str) -> None:
        """Delta has nothing more to tell for now; `link` is where the next round goes on."""
        self.link, self.settled, self.seen = link, True, []

    def restart_walk(self) -> None:
        """List everything from the root."""
        self.walk, self.folders.known = [self.folders.root], {}
        self.enumeration, self.settled = True, False

    @property
    def is_complete(self) -> bool:
        """Nothing is left of this round. An enumeration ends with delta, not with a listing, where there is delta."""
        return not self.walk and (self.settled or not self.link)


def _digest(link: str) -> str:
    return hashlib.blake2b(link.encode(), digest_size=6).hexdigest()


@dataclass(slots=True)
class Page:
    """What one or several pages say of files below the root; of one item only the last word. `found` has the hashes."""

    items: dict[str, Item] = field(default_factory=dict)
    removed: dict[str, None] = field(default_factory=dict)
    found: dict[str, DriveItem] = field(default_factory=dict)

    def add(self, item: Item, found: DriveItem | None) -> None:
        """A file that is there."""
        self.removed.pop(item.item_id, None)
        self.items[item.item_id] = item
        if found is not None:
            self.found[item.item_id] = found

    def remove(self, item_id: str) -> None:
        """An item that is gone, or elsewhere."""
        self.items.pop(item_id, None)
        self.found.pop(item_id, None)
        self.removed[item_id] = None

    def follow(self, later: "Page") -> None:
        """Take in what a later page says."""
        for item_id in later.removed:
            self.remove(item_id)
        for item_id, item in later.items.items():
            self.add(item, later.found.get(item_id))


def take_listing(cursor: Cursor, entries: Iterable[DriveItem]) -> Page:
    """One page of a folder's listing: its files, and its folders for later."""
    page = Page()
    for entry in entries:
        if entry.is_folder:
            cursor.folders.known[entry.item_id] = (entry.parent, entry.name)
            cursor.walk.append(entry.item_id)
        elif entry.is_file and (item := cursor.folders.item(entry)):
            page.add(item, entry)
    return page


def take_delta(cursor: Cursor, entries: Iterable[DriveItem]) -> Page:
    """One page of delta. Raises: CursorExpired when a folder below the root, or the root, is gone."""
    last = {entry.item_id: entry for entry in entries}  # one item may come several times: the last one counts
    page = Page()
    files: list[DriveItem] = []
    folders: list[DriveItem] = []
    for entry in last.values():
        if entry.is_deleted:
            if cursor.folders.holds(entry.item_id):
                raise CursorExpired("A folder was deleted.")
            page.remove(entry.item_id)
        elif entry.is_folder:
            folders.append(entry)
        elif entry.is_file:
            files.append(entry)
    cursor.walk.extend(entry for entry in _take_folders(cursor.folders, folders) if entry not in cursor.walk)
    for entry in files:
        item = cursor.folders.item(entry)
        if item is not None:
            page.add(item, entry)
        else:
            page.remove(entry.item_id)  # elsewhere; it may have been below the root before
    return page


def _take_folders(folders: Folders, entries: Sequence[DriveItem]) -> list[str]:
    """Note new places of folders; ids of those that have to be listed. In whatever order they come."""
    waiting = [entry for entry in entries if entry.item_id != folders.root and not entry.is_root]
    to_list: list[str] = []
    progress = True
    while progress:
        progress, left = False, []
        for entry in waiting:
            if not folders.holds(entry.parent):
                left.append(entry)
                continue
            progress = True
            place = (entry.parent, entry.name)
            if folders.known.get(entry.item_id) != place:
                folders.known[entry.item_id] = place
                to_list.append(entry.item_id)
        waiting = left
    if any(entry.item_id in folders.known for entry in waiting):
        raise CursorExpired("A folder was moved away.")
    return to_list
