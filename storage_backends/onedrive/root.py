"""Finding the root folder: by the id it had, else where the settings say, else the app folder.

The id is remembered in a file of the device, so that renaming the folder, or the account's language ("Apps" is
"Aplikacje" in Polish), changes nothing; and so that a folder that was there and is gone is an error, not an
empty store to begin anew in.
"""

import base64
import contextlib
import json
from pathlib import Path
from typing import Any

from storage_backends.errors import AccessDenied, LoginRequired, NotFound, PermanentError, StorageError, Unreachable
from storage_backends.names import validate_path
from storage_backends.onedrive import faults
from storage_backends.onedrive.items import DriveItem, Root, encoded, object_in, text_in
from storage_backends.onedrive.private_file import write_private
from storage_backends.onedrive.settings import APP_FOLDER, DEFAULT_FOLDER, OneDriveSettings
from storage_backends.onedrive.transport import Transport

_NEEDED = "?$select=id,name,parentReference,folder,root,remoteItem,webUrl"
_GONE = "The memory folder in OneDrive is gone."
_GONE_HINT = (
    "Restore it from OneDrive's recycle bin. To begin a new one, run `claude-memory logout` and `claude-memory login`."
)


class RootFinder:
    """Finds the root of one device's settings.

    Args:
        memory: file in which the found root is kept; nothing secret is in it.
    """

    def __init__(self, transport: Transport, settings: OneDriveSettings, memory: Path) -> None:
        self._transport, self._settings, self._memory = transport, settings, memory

    async def find(self, *, trust: bool) -> Root:
        """The root; made when it never was there.

        `trust`: take the remembered one without asking; any later 404 leads here again without trust.

        Raises: Unreachable (also when it was there and is gone), LoginRequired, AccessDenied, Throttled.
        """
        remembered = self._recall()
        if remembered is not None:
            if trust:
                return remembered
            address = self._transport.url(remembered.item_path(remembered.item) + _NEEDED)
            answer = await self._transport.send("GET", address)
            if answer.ok:
                return _root(answer.json())
            if answer.status != 404:
                raise self._explained(answer.error(), answer.body)
        root = await self._search(make=remembered is None)
        self._remember(root)
        return root

    async def _search(self, *, make: bool) -> Root:
        settings = self._settings
        if settings.is_link:
            return _root(await self._get(f"/shares/{_share_id(settings.folder)}/driveItem{_NEEDED}"))
        if not settings.folder and not settings.drive:
            try:
                return _root(await self._get(f"/me/drive/special/approot{_NEEDED}"))
            except PermanentError as error:
                # Some work accounts have no app folder; a wider permission does without.
                if settings.access == APP_FOLDER or isinstance(error, LoginRequired):
                    raise
        return await self._by_path(settings.folder.strip("/") or DEFAULT_FOLDER, make=make)

    async def _by_path(self, path: str, *, make: bool) -> Root:
        validate_path(path)
        drive = f"/drives/{encoded(self._settings.drive)}" if self._settings.drive else "/me/drive"
        try:
            return _root(await self._get(f"{drive}/root:/{encoded(path)}:{_NEEDED}"))
        except NotFound:
            if not make:
                raise Unreachable(_GONE, _GONE_HINT) from None
        top = _root(await self._get(f"{drive}/root{_NEEDED}"))
        parent = top
        for name in path.split("/"):
            parent = await make_folder(self._transport, parent, name)
        return parent

    async def _get(self, path: str) -> dict[str, Any]:
        answer = await self._transport.send("GET", self._transport.url(path))
        if answer.ok:
            return answer.json()
        raise self._explained(answer.error(), answer.body)

    def _explained(self, error: StorageError, body: bytes) -> StorageError:
        """A refusal of the root in words that say what to do."""
        if not isinstance(error, AccessDenied):
            return error
        if faults.is_read_only(body):
            return AccessDenied(
                "OneDrive refuses everything for now: the service is read-only.", "Wait; it is tried again by itself."
            )
        if self._settings.access == APP_FOLDER:
            return AccessDenied(
                "OneDrive refuses the app folder although the login is valid.",
                "This is a known fault of the service for logins that may use the app folder only. Set"
                ' `access = "files"` in section [onedrive] and run `claude-memory login`:'
                " the same folder with a wider permission.",
            )
        return AccessDenied(
            "OneDrive refuses access to the memory folder.",
            "Your organisation may have to allow this app, or the folder is not shared with you for editing.",
        )

    def _key(self) -> str:
        # Not `access`: a wider permission reaches the same folder.
        return f"{self._transport.endpoint.url}|{self._settings.drive}|{self._settings.folder}"

    def _recall(self) -> Root | None:
        try:
            value = json.loads(self._memory.read_text(encoding="utf-8"))
            if value["settings"] == self._key():
                return Root(str(value["drive"]), str(value["item"]), str(value["address"]))
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return None

    def _remember(self, root: Root) -> None:
        value = {"settings": self._key(), "drive": root.drive, "item": root.item, "address": root.address}
        with contextlib.suppress(OSError):  # then it is looked for again next time
            write_private(self._memory, json.dumps(value).encode())


def _root(value: dict[str, Any]) -> Root:
    remote = value.get("remoteItem")
    source = remote if isinstance(remote, dict) else value  # a shortcut to a folder that somebody shares
    drive = text_in(object_in(source, "parentReference"), "driveId")
    item = text_in(source, "id")
    if not drive or not item:
        raise Unreachable("OneDrive described the memory folder without its id.")
    if remote is None and not ({"folder", "root"} & set(value)):
        raise AccessDenied("The memory folder's place is taken by a file.", "Choose another `folder`.")
    return Root(drive, item, address=text_in(value, "webUrl"))


def _share_id(link: str) -> str:
    return "u!" + base64.urlsafe_b64encode(link.encode()).decode().rstrip("=")


async def make_folder(transport: Transport, parent: Root, name: str) -> Root:
    """The folder of this name in another one; made when it is missing."""
    body = json.dumps({"name": name, "folder": {}, "@microsoft.graph.conflictBehavior": "fail"}).encode()
    url = transport.url(f"{parent.item_path(parent.item)}/children")
    answer = await transport.send("POST", url, headers={"Content-Type": "application/json"}, body=body)
    if answer.status == 409:  # there by now
        answer = await transport.send("GET", transport.url(parent.file_path(name)))
    made = DriveItem.parse(answer.json())
    return Root(parent.drive, made.item_id, address=text_in(answer.json(), "webUrl"))
