"""Items as JSON, in answers and in delta."""

from collections.abc import Callable
from typing import Any

from tests.graph_emulator import hashes
from tests.graph_emulator.drive import Drive, State
from tests.graph_emulator.switches import Account, Tombstone


class Renderer:
    """Writes items of one drive as the service does."""

    def __init__(self, drive: Drive, content_base: str) -> None:
        self.drive, self.content_base = drive, content_base
        self._flip = 0

    def item(self, state: State, *, delta: bool = False, at: int | None = None) -> dict[str, Any]:
        """A living item. In delta some fields are missing, by kind of account."""
        drive, switches = self.drive, self.drive.switches
        out: dict[str, Any] = {
            "id": state.item_id,
            "name": state.name,
            "eTag": drive.etag(state),
            "cTag": drive.ctag(state),
            "size": len(state.content),
            "createdDateTime": state.created,
            "lastModifiedDateTime": state.modified,
            "webUrl": f"https://onedrive.example/{state.item_id}",
            "fileSystemInfo": {
                "createdDateTime": state.file_created,
                "lastModifiedDateTime": state.file_modified,
            },
            "parentReference": self.parent(state, path=not delta or switches.parent_path_in_delta, at=at),
        }
        if drive.account is Account.BUSINESS and (delta or state.folder):
            del out["cTag"]
        if state.remote is not None:
            out["remoteItem"] = {"id": state.remote[1], "parentReference": {"driveId": state.remote[0]}, "folder": {}}
        elif state.package:
            out["package"] = {"type": "oneNote"}
        elif state.folder:
            listed = 0 if delta and drive.account is Account.PERSONAL else len(drive.children(state.item_id))
            out["folder"] = {"childCount": listed}
            out["size"] = 0 if delta else sum(len(s.content) for s in drive.walk(state.item_id))
        else:
            out["file"] = {"mimeType": "text/markdown", "hashes": self._hashes(state)}
            if not delta and switches.download_urls:
                out["@microsoft.graph.downloadUrl"] = self.download_url(state)
        if state.parent is None:
            out["root"] = {}
        return out

    def parent(self, state: State, *, path: bool, at: int | None = None) -> dict[str, Any]:
        """`parentReference`."""
        drive = self.drive
        kind = "personal" if drive.account is Account.PERSONAL else "business"
        out: dict[str, Any] = {"driveId": self._drive_id(), "driveType": kind}
        if state.parent is not None:
            out["id"] = state.parent
            if path:
                out["path"] = f"/drives/{drive.drive_id}/root:{drive.path_of(state.parent, at)}".rstrip("/")
        return out

    def tombstone(self, state: State) -> dict[str, Any]:
        """A deleted item, as much of it as the switch leaves."""
        grade = self.drive.switches.tombstone
        if grade is None:
            grade = Tombstone.FULL if self.drive.account is Account.PERSONAL else Tombstone.NAMELESS
        out: dict[str, Any] = {"id": state.item_id, "deleted": {"state": "deleted"}}
        if grade is not Tombstone.BARE:
            out["parentReference"] = self.parent(state, path=self.drive.switches.parent_path_in_delta)
            out["folder" if state.folder else "file"] = {}
        if grade is Tombstone.FULL:
            out["name"] = state.name
            out["size"] = 0
        return out

    def download_url(self, state: State) -> str:
        """Where the bytes are, without a token; valid for one version."""
        return f"{self.content_base}/download/{self.drive.drive_id}/{state.item_id}?tempauth=v{state.seq}"

    def _hashes(self, state: State) -> dict[str, str]:
        names = self.drive.switches.hashes
        if names is None:
            business = self.drive.account is Account.BUSINESS
            names = ("quickXorHash",) if business else ("quickXorHash", "sha1Hash")
        makers: dict[str, Callable[[bytes], str]] = {
            "quickXorHash": hashes.quick_xor,
            "sha1Hash": hashes.sha1,
            "sha256Hash": hashes.sha256,
        }
        return {name: makers[name](state.content) for name in names}

    def _drive_id(self) -> str:
        drive_id = self.drive.drive_id
        if self.drive.switches.drive_id_flips and self.drive.account is Account.PERSONAL:
            self._flip += 1
            return (drive_id.lower(), drive_id.upper(), drive_id.lower().lstrip("0"))[self._flip % 3]
        return drive_id
