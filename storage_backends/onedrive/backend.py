"""OneDrive as a storage: one folder of one drive through Microsoft Graph.

Items are driveItems by their ids, versions are eTags. Creating is a PUT by path that fails where something is;
updating and deleting go by id and carry the eTag in If-Match, so the service itself compares and swaps.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from storage_backends.base import Capabilities, Changes, Content, Item
from storage_backends.errors import (
    AlreadyExists,
    CursorExpired,
    ItemBusy,
    NotFound,
    PermanentError,
    StorageError,
    Unreachable,
    VersionMismatch,
)
from storage_backends.names import validate_path, validate_safe_path
from storage_backends.onedrive import changes, hashes
from storage_backends.onedrive.delta import Cursor, Page
from storage_backends.onedrive.items import SELECT, DriveItem, Folders, Root, object_in, whole_number
from storage_backends.onedrive.push import Notifications
from storage_backends.onedrive.root import RootFinder, make_folder
from storage_backends.onedrive.settings import OneDriveSettings
from storage_backends.onedrive.transport import Answer, BrokenOff, Transport

_REMEMBERED = 20_000  # items whose description from a page of changes waits for their bytes to be read
_LAG = 15.0  # seconds for which the service may show a state from before our own write
_DEPTH = 64


class OneDriveStorage:
    """One folder in OneDrive. Made by `open_onedrive`.

    Args:
        memory: file that remembers where the root was found.
    """

    def __init__(
        self,
        transport: Transport,
        settings: OneDriveSettings,
        memory: Path,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._transport, self._settings, self._monotonic = transport, settings, monotonic
        self._finder = RootFinder(transport, settings, memory)
        self._root: Root | None = None
        self._trusted = True
        self._told: str | None = None  # the scope that the caller works with
        self._folders = Folders("")
        self._described: OrderedDict[str, tuple[Item, DriveItem]] = OrderedDict()
        self._written: dict[str, tuple[str, float]] = {}  # id → our version (empty: deleted), until when
        self._push = Notifications(transport, self._socket_address)
        self._finding = asyncio.Lock()

    # --- life ----------------------------------------------------------------------------------------

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(stable_ids=True, atomic_conditions=True, pushes=self._settings.push, case_sensitive=False)

    @property
    def location(self) -> str:
        if self._root is not None and self._root.address:
            return self._root.address
        if self._settings.is_link:
            return "OneDrive, shared folder"
        return f"OneDrive, {self._settings.folder or 'app folder'}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._push.aclose()
        await self._transport.aclose()

    async def scope(self) -> str:
        root = await self._find_root()
        self._told = root.scope
        return root.scope

    async def _find_root(self, *, trust: bool = True) -> Root:
        async with self._finding:
            if self._root is None or not trust:
                self._root = await self._finder.find(trust=trust and self._trusted)
                self._trusted = True
                if self._folders.root != self._root.item:
                    self._folders = Folders(self._root.item)
            return self._root

    async def _current(self, *, trust: bool = True) -> Root:
        """The root that the caller works with."""
        root = await self._find_root(trust=trust)
        if self._told is not None and root.scope != self._told:
            raise Unreachable("The memory folder in OneDrive was replaced by another one.", "The next round takes it.")
        return root

    def _doubt_root(self) -> None:
        """Something below the root is missing that should be there: look for the root itself next time."""
        self._root, self._trusted = None, False

    @property
    def skew(self) -> float | None:
        """Seconds by which this machine's clock is ahead of the service's; None before the first answer."""
        return self._transport.skew

    async def look_over(self) -> int | None:
        """Ask for the root itself, and for the bytes that are free; None where the service keeps that to itself.

        Raises: Unreachable, LoginRequired, AccessDenied, Throttled.
        """
        root = await self._find_root(trust=False)
        answer = await self._transport.send("GET", self._transport.url(f"{root.base}?$select=id,quota"))
        return whole_number(object_in(answer.json(), "quota").get("remaining")) if answer.ok else None

    # --- changes -------------------------------------------------------------------------------------

    async def changes(self, cursor: str | None) -> Changes:
        if cursor is None:
            root = await self._current(trust=False)
            position = await changes.begin(self._transport, root)
        else:
            position = Cursor.decode(cursor)
            root = await self._current()
        try:
            page, more, enumeration = await changes.advance(self._transport, root, position)
        except (CursorExpired, NotFound) as error:
            self._doubt_root()
            raise CursorExpired(error.message) from error
        await self._settle(page)
        self._folders = position.folders
        for item_id, found in page.found.items():
            if item_id in page.items:
                self._describe(page.items[item_id], found)
        return Changes(list(page.items.values()), list(page.removed), position.encode(), more, enumeration)

    async def _settle(self, page: Page) -> None:
        """Ask about items that the page shows as they were before our own write, or without a version."""
        now = self._monotonic()
        self._written = {key: value for key, value in self._written.items() if value[1] > now}
        for item_id in page.removed:
            self._written.pop(item_id, None)  # told to be gone, so it is no lag if it cannot be found
        for item_id, item in list(page.items.items()):
            ours = self._written.get(item_id)
            if item.version and (ours is None or ours[0] == item.version):
                continue
            try:
                page.add(await self.stat(item_id), None)
            except NotFound:
                page.remove(item_id)

    def _describe(self, item: Item, found: DriveItem) -> None:
        self._described[item.item_id] = (item, found)
        while len(self._described) > _REMEMBERED:
            self._described.popitem(last=False)

    # --- one item ------------------------------------------------------------------------------------

    async def stat(self, item_id: str) -> Item:
        return (await self._look(item_id))[0]

    async def _look(self, item_id: str) -> tuple[Item, DriveItem]:
        root = await self._current()
        answer = await self._ask(root.item_path(item_id))
        if answer.status == 404:
            raise self._missing(item_id)
        found = DriveItem.parse(answer.json())
        if not found.is_file or found.is_deleted:
            raise NotFound("The item is not a file any more.")
        return await self._place(root, found), found

    async def find(self, path: str) -> Item:
        validate_safe_path(path)
        root = await self._current()
        answer = await self._ask(root.file_path(path))
        if answer.status == 400:
            raise NotFound("OneDrive cannot hold a file of this name.")
        found = DriveItem.parse(answer.json())
        if not found.is_file:
            raise NotFound("There is no file of this name.")
        return await self._place(root, found)

    async def _ask(self, path: str) -> Answer:
        return await self._transport.send("GET", self._transport.url(f"{path}?$select={SELECT}"))

    async def _place(self, root: Root, found: DriveItem) -> Item:
        """The item with its path below the root. Raises: NotFound when it lies elsewhere."""
        climbed: dict[str, tuple[str, str]] = {}
        parent = found.parent
        for _ in range(_DEPTH):
            if self._folders.holds(parent):
                self._folders.known.update(climbed)
                item = self._folders.item(found)
                if item is None:
                    break
                return item
            answer = await self._transport.send(
                "GET", self._transport.url(f"{root.item_path(parent)}?$select={SELECT}")
            )
            if answer.status in (403, 404):
                break
            folder = DriveItem.parse(answer.json())
            if folder.is_root or not folder.parent:
                break
            climbed[parent] = (folder.parent, folder.name)
            parent = folder.parent
        raise NotFound("The file lies outside the memory folder.")

    def _missing(self, item_id: str) -> StorageError:
        ours = self._written.get(item_id)
        if ours is not None and ours[0] and ours[1] > self._monotonic():
            return ItemBusy("OneDrive does not show the file yet that was just written.")
        return NotFound("OneDrive has no such file.")

    # --- contents ------------------------------------------------------------------------------------

    async def read(self, item_id: str) -> Content:
        described = self._described.pop(item_id, None)
        item, found = described or await self._look(item_id)
        root = await self._current()
        data = await self._download(root, item_id)
        if _fits(data, found):
            return Content(item, data)
        if described is not None:  # changed since the page of changes was read
            item, found = await self._look(item_id)
            if _fits(data, found):
                return Content(item, data)
        raise ItemBusy("OneDrive delivered other bytes than it describes.", "It is tried again.")

    async def _download(self, root: Root, item_id: str) -> bytes:
        try:
            answer = await self._transport.fetch(self._transport.url(f"{root.item_path(item_id)}/content"))
        except BrokenOff as broken:
            raise ItemBusy("The file was not delivered whole.") from broken
        if answer.ok:
            return answer.body
        if answer.status == 404 and not answer.elsewhere:
            raise self._missing(item_id)
        error = answer.error()
        if answer.elsewhere and isinstance(error, PermanentError):
            raise ItemBusy(f"The file's bytes could not be fetched (status {answer.status}).")
        raise error

    async def create(self, path: str, data: bytes) -> Item:
        validate_path(path)
        root = await self._current()
        answer = await self._put_new(root, path, data)
        if answer.status == 404:
            await self._make_folders(root, path)
            answer = await self._put_new(root, path, data)
        if answer.status in (409, 412):
            error = answer.error()
            raise (
                AlreadyExists("A file of this name is there already.") if isinstance(error, VersionMismatch) else error
            )
        return await self._written_item(root, answer, data, path)

    async def _put_new(self, root: Root, path: str, data: bytes) -> Answer:
        url = self._transport.url(f"{root.file_path(path)}/content?@microsoft.graph.conflictBehavior=fail")
        return await self._transport.send("PUT", url, headers=_BYTES, body=data)

    async def _make_folders(self, root: Root, path: str) -> None:
        """Make the folders of a path. Raises: Unreachable when it is the root that is missing."""
        parent = root
        for name in path.split("/")[:-1]:
            try:
                parent = await make_folder(self._transport, parent, name)
            except NotFound:
                self._doubt_root()
                await self._current()
                raise Unreachable("A folder vanished while it was made.") from None

    async def update(self, item_id: str, data: bytes, version: str) -> Item:
        root = await self._current()
        url = self._transport.url(f"{root.item_path(item_id)}/content")
        answer = await self._transport.send("PUT", url, headers={**_BYTES, "If-Match": version}, body=data)
        if answer.status == 404:
            raise self._missing(item_id)
        return await self._written_item(root, answer, data, None)

    async def _written_item(self, root: Root, answer: Answer, data: bytes, path: str | None) -> Item:
        value: dict[str, Any] = answer.json()
        found = DriveItem.parse(value)
        if not found.item_id or not found.etag:
            raise Unreachable("OneDrive took the file without saying which one it is.")
        if found.size != len(data):
            raise ItemBusy("OneDrive stored another number of bytes than was sent.")
        self._written[found.item_id] = (found.etag, self._monotonic() + _LAG)
        self._described.pop(found.item_id, None)
        if path is None:
            return await self._place(root, found)
        return Item(found.item_id, path, found.etag, found.size, found.modified)

    async def delete(self, item_id: str, version: str) -> None:
        root = await self._current()
        url = self._transport.url(root.item_path(item_id))
        answer = await self._transport.send("DELETE", url, headers={"If-Match": version})
        if not answer.ok and answer.status not in (404, 410):
            raise answer.error()
        self._written[item_id] = ("", self._monotonic() + _LAG)
        self._described.pop(item_id, None)

    # --- waiting -------------------------------------------------------------------------------------

    async def wait_for_change(self, timeout: float) -> bool:
        if not self._settings.push:
            await asyncio.sleep(timeout)
            return False
        return await self._push.wait(timeout)

    async def _socket_address(self) -> str:
        root = await self._find_root()
        return self._transport.url(f"{root.base}/root/subscriptions/socketIo")


_BYTES = {"Content-Type": "application/octet-stream"}


def _fits(data: bytes, found: DriveItem) -> bool:
    """Whether these bytes are the described version's; without any hash the length has to do."""
    return len(data) == found.size and hashes.fits(data, found.hashes) is not False
