"""Microsoft Graph's part for drives: requests in, answers out."""

import base64
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.graph_emulator.addressing import Address, parse
from tests.graph_emulator.delta import DeltaFeed, Gone, query_of, token_of
from tests.graph_emulator.drive import Drive, Refused, State
from tests.graph_emulator.faults import HTML
from tests.graph_emulator.http_server import Request, Response
from tests.graph_emulator.push import Push
from tests.graph_emulator.rendering import Renderer
from tests.graph_emulator.switches import Account, Switches
from tests.graph_emulator.uploads import Session, Uploads

APP_NAME = "ClaudeMemory"


@dataclass
class Mounted:
    """A drive and what serves it."""

    drive: Drive
    renderer: Renderer
    feed: DeltaFeed
    app_folder: str = ""


@dataclass
class Call:
    """One request to one drive, taken apart."""

    request: Request
    address: Address
    mounted: Mounted
    query: dict[str, str]
    limited: bool
    base: str

    @property
    def json(self) -> dict[str, Any]:
        """The body as JSON; empty when there is none."""
        return dict(json.loads(self.request.body)) if self.request.body.strip() else {}


@dataclass
class GraphService:
    """All drives behind one address. `bases` gives the hosts that links of one request point to."""

    switches: Switches
    push: Push
    rng: random.Random
    content_base: Callable[[Request], str]
    graph_base: Callable[[Request], str]
    upload_base: Callable[[Request], str]
    mounted: dict[str, Mounted] = field(default_factory=dict)
    mine: str = ""
    shares: dict[str, tuple[str, str]] = field(default_factory=dict)
    uploads: Uploads = field(init=False)

    def __post_init__(self) -> None:
        self.uploads = Uploads(self.rng)

    def mount(self, drive: Drive) -> Mounted:
        """Serve a drive."""
        renderer = Renderer(drive, "")
        self.mounted[_canonical(drive.drive_id)] = Mounted(drive, renderer, DeltaFeed(drive, renderer, self.rng))
        return self.mounted[_canonical(drive.drive_id)]

    def serve(self, request: Request, scope: str) -> Response:
        """A request with a valid token of this scope."""
        path = request.path.split("/v1.0", 1)[-1]
        limited = "AppFolder" in scope and "Files.ReadWrite" not in scope.replace("Files.ReadWrite.AppFolder", "")
        if limited and self.switches.app_folder_broken:
            raise Refused(403, "accessDenied", "Access denied")
        if path.strip("/") == "me":
            return Response.of_json({"id": "user", "userPrincipalName": "emulated@example.com"})
        if path.strip("/") == "me/drives":
            if self.switches.drives_list_broken:
                raise Refused(403, "serviceReadOnly", "Database Is Read Only")
            return Response.of_json({"value": [self._drive_json(self.mounted[_canonical(self.mine)])]})
        if path.startswith("/shares/"):
            return self._share(path, request)
        address = parse(path)
        if address is None:
            raise Refused(400, "BadRequest", "Resource not found for the segment")
        key = self.mine if address.drive == "me" else address.drive
        mounted = self.mounted.get(_canonical(key))
        if mounted is None:
            raise Refused(404, "itemNotFound", "The drive was not found")
        mounted.renderer.content_base = self.content_base(request)
        call = Call(request, address, mounted, query_of(request.target), limited, self.graph_base(request))
        try:
            return self._dispatch(call)
        except Gone as gone:
            headers = {"Location": f"{call.base}{gone.location}"} if gone.location else {}
            codes = {410: "resyncRequired", 404: "itemNotFound", 400: "invalidRequest"}
            error = {
                "code": codes.get(gone.status, "generalException"),
                "message": "resync",
                "innerError": {"code": "resyncChangesApplyDifferences"} if gone.status == 410 else {},
            }
            return Response.of_json({"error": error}, gone.status, headers)

    def serve_outside(self, request: Request) -> Response | None:
        """Requests that need no token: contents and fragments; None for others."""
        parts = request.path.strip("/").split("/")
        if parts[0] == "download" and len(parts) == 3:
            return self._bytes(request, parts[1], parts[2])
        if parts[0] == "upload" and len(parts) == 2:
            response, state, drive = self.uploads.serve(request, parts[1])
            if state is not None and drive is not None:
                mounted = self.mounted[_canonical(drive.drive_id)]
                mounted.renderer.content_base = self.content_base(request)
                return Response.of_json(mounted.renderer.item(state), response.status)
            return response
        if parts[0] == "monitor":
            return Response.of_json({"status": "completed", "percentageComplete": 100, "resourceId": parts[-1]})
        return None

    # --- dispatch ------------------------------------------------------------------------------------

    def _dispatch(self, call: Call) -> Response:
        address, method, action = call.address, call.request.method, call.address.action
        if not address.anchor:
            if action:
                raise Refused(400, "BadRequest", "Unknown")
            return Response.of_json(self._drive_json(call.mounted))
        if "delta" in action:
            return self._delta(call)
        if action == "subscriptions/socketIo":
            return self._socket(call)
        if action == "content" and method == "PUT":
            return self._put(call)
        if action == "createUploadSession":
            return self._session(call)
        state = self._target(call)
        if action == "":
            return self._item(call, state)
        if action == "children":
            return self._children(call, state) if method == "GET" else self._make_folder(call, state)
        if action == "content":
            return self._content(call, state)
        if action == "copy" and method == "POST":
            return self._copy(call, state)
        if action in ("versions", "permissions"):
            return Response.of_json({"value": []})
        raise Refused(400, "BadRequest", f"Resource not found for the segment '{action}'")

    def _anchor(self, call: Call) -> State:
        address, drive = call.address, call.mounted.drive
        if address.anchor == "items":
            anchor_id = drive.root_id if address.anchor_id == "root" else address.anchor_id
            return drive.get(anchor_id)
        if address.anchor == "special":
            if address.anchor_id != "approot":
                raise Refused(400, "invalidRequest", "Unknown special folder")
            return self._app_folder(call)
        return drive.get(drive.root_id)

    def _app_folder(self, call: Call) -> State:
        mounted, drive = call.mounted, call.mounted.drive
        try:
            return drive.get(mounted.app_folder)
        except Refused:
            # The service makes it at the first GET, and at nothing else.
            if call.request.method != "GET":
                raise
        folder = drive.make_folders(drive.root_id, [self.switches.app_folder_name, APP_NAME])
        mounted.app_folder = folder.item_id
        return folder

    def _target(self, call: Call) -> State:
        state = call.mounted.drive.resolve(self._anchor(call).item_id, list(call.address.names))
        self._allow(call, state)
        return state

    def _allow(self, call: Call, state: State) -> None:
        """A token limited to the app folder reaches nothing else."""
        folder, drive = call.mounted.app_folder, call.mounted.drive
        if call.limited and state.item_id != folder and not drive.is_under(state.item_id, folder, drive.head):
            raise Refused(403, "accessDenied", "Access denied")

    # --- items ---------------------------------------------------------------------------------------

    def _item(self, call: Call, state: State) -> Response:
        drive, method = call.mounted.drive, call.request.method
        if method in ("GET", "HEAD"):
            return Response.of_json(self._selected(call, call.mounted.renderer.item(state)))
        self._writable(state)
        self._match(call, state)
        if method == "DELETE":
            drive.delete(state.item_id)
            return Response(204)
        if method != "PATCH":
            raise Refused(405, "invalidRequest", "Method not allowed")
        body = call.json
        target = body.get("parentReference") or {}
        parent = target.get("id") or None
        if parent == "root":
            parent = drive.root_id
        changed = drive.patch(
            state.item_id, name=body.get("name") or None, parent=parent, times=body.get("fileSystemInfo")
        )
        return Response.of_json(call.mounted.renderer.item(changed))

    def _selected(self, call: Call, item: dict[str, Any]) -> dict[str, Any]:
        names = call.query.get("$select", "")
        if not names:
            return item
        wanted = set(names.split(","))
        return {name: value for name, value in item.items() if name in wanted}

    def _children(self, call: Call, state: State) -> Response:
        drive = call.mounted.drive
        listed = drive.children(state.item_id)
        size = min(int(call.query.get("$top", "200") or 200), 5000, max(self.switches.page_size, 1))
        first = int(call.query.get("$skiptoken", "0") or 0)
        rendered = [call.mounted.renderer.item(s) for s in listed[first : first + size]]
        out: dict[str, Any] = {"value": [self._selected(call, item) for item in rendered]}
        if first + size < len(listed):
            select = call.query.get("$select", "")
            link = f"{call.base}/v1.0/drives/{drive.drive_id}/items/{state.item_id}/children"
            out["@odata.nextLink"] = f"{link}?$top={size}&$select={select}&$skiptoken={first + size}"
        return Response.of_json(out)

    def _make_folder(self, call: Call, parent: State) -> Response:
        self._writable(parent)
        body = call.json
        behaviour = self._behaviour(call, body, default="fail")
        folder = call.mounted.drive.make_folder(
            parent.item_id, str(body.get("name", "")), exist_ok=behaviour == "replace"
        )
        return Response.of_json(call.mounted.renderer.item(folder), 201)

    def _copy(self, call: Call, state: State) -> Response:
        body, drive = call.json, call.mounted.drive
        parent = (body.get("parentReference") or {}).get("id") or state.parent
        copied = drive.create(str(parent), str(body.get("name") or state.name), state.content)
        return Response(202, b"", {"Location": f"{call.base}/monitor/{copied.item_id}"})

    # --- contents ------------------------------------------------------------------------------------

    def _content(self, call: Call, state: State) -> Response:
        if state.folder:
            raise Refused(400, "notSupported", "A folder has no content")
        if _matches(call.request.headers.get("if-none-match", ""), call.mounted.drive, state):
            return Response(304)
        if not self.switches.content_redirects:
            return Response(200, state.content, {"Content-Type": "application/octet-stream"})
        return Response(302, b"", {"Location": call.mounted.renderer.download_url(state)})

    def _bytes(self, request: Request, drive_id: str, item_id: str) -> Response:
        if self.switches.captive_downloads:
            return Response(200, HTML, {"Content-Type": "text/html; charset=utf-8"})
        mounted = self.mounted.get(_canonical(drive_id))
        if mounted is None:
            raise Refused(404, "itemNotFound")
        drive = mounted.drive
        content = drive.get(item_id).content
        if self.switches.stale_downloads:
            older = [s.content for s in drive.history[item_id] if s.content != content]
            content = older[-1] if older else content
        wanted = request.headers.get("range", "")
        headers = {"Content-Type": "application/octet-stream", "Accept-Ranges": "bytes"}
        if wanted.startswith("bytes=") and content:
            first, _, last = wanted[6:].partition("-")
            start, end = int(first or 0), min(int(last or len(content) - 1), len(content) - 1)
            headers["Content-Range"] = f"bytes {start}-{end}/{len(content)}"
            return Response(206, content[start : end + 1], headers)
        return Response(200, content, headers)

    def _put(self, call: Call) -> Response:
        behaviour = self._behaviour(call, {}, default="replace")
        state, is_new = self._store(call, call.request.body, {}, behaviour)
        item = call.mounted.renderer.item(state)
        if self.switches.etag_moves_after_upload:
            call.mounted.drive.touch(state.item_id)
        return Response.of_json(item, 201 if is_new else 200)

    def _session(self, call: Call) -> Response:
        item = call.json.get("item") or {}
        if self.switches.session_false_mismatch and call.request.headers.get("if-match"):
            raise Refused(412, "notAllowed", "ETag does not match", "eTagMismatch")
        if call.request.headers.get("if-match"):  # the service compares when the session begins
            self._match(call, self._target(call))
        behaviour = self._behaviour(call, item, default="replace")
        times = item.get("fileSystemInfo") or {}
        session = Session(call.mounted.drive, lambda data: self._store(call, data, times, behaviour))
        return Response.of_json({
            "uploadUrl": f"{self.upload_base(call.request)}/upload/{self.uploads.open(session)}",
            "expirationDateTime": "2099-01-01T00:00:00Z",
            "nextExpectedRanges": ["0-"],
        })  # fmt: skip

    def _store(self, call: Call, data: bytes, times: dict[str, str], behaviour: str) -> tuple[State, bool]:
        """Write bytes to the addressed place; the item, and whether it is new."""
        drive, address = call.mounted.drive, call.address
        anchor = self._anchor(call)
        self._allow(call, anchor)
        if not address.names:
            self._writable(anchor)
            self._match(call, anchor)
            return drive.replace(anchor.item_id, data, times), False
        *folders, name = address.names
        if self.switches.implicit_folders:
            parent = drive.make_folders(anchor.item_id, folders)
        else:
            parent = drive.resolve(anchor.item_id, folders)
        taken = drive.child(parent.item_id, name)
        if taken is None:
            self._writable(parent)
            return drive.create(parent.item_id, name, data, times), True
        if call.request.headers.get("if-none-match") == "*":
            raise Refused(412, "resourceModified", "The resource exists")
        self._writable(taken)
        self._match(call, taken)
        if behaviour == "fail":
            raise Refused(409, "nameAlreadyExists", "An item with the same name already exists")
        if behaviour == "rename":
            stem, dot, suffix = name.rpartition(".")
            return drive.create(parent.item_id, f"{stem or suffix} 1{dot}{suffix if stem else ''}", data, times), True
        return drive.replace(taken.item_id, data, times), False

    @staticmethod
    def _behaviour(call: Call, body: dict[str, Any], *, default: str) -> str:
        for place in (call.query, body):
            for name in ("@microsoft.graph.conflictBehavior", "@name.conflictBehavior"):
                if name in place:
                    return str(place[name])
        return default

    def _writable(self, state: State) -> None:
        if self.switches.read_only:
            raise Refused(403, "serviceReadOnly", "Database Is Read Only")
        if state.item_id in self.switches.locked_items:
            raise Refused(423, "resourceLocked", "The resource is locked")

    def _match(self, call: Call, state: State) -> None:
        wanted = call.request.headers.get("if-match", "")
        if wanted and wanted != "*" and not _matches(wanted, call.mounted.drive, state):
            personal = call.mounted.drive.account is Account.PERSONAL
            raise Refused(412, "notAllowed" if personal else "resourceModified", "ETag does not match", "eTagMismatch")

    # --- the rest ------------------------------------------------------------------------------------

    def _delta(self, call: Call) -> Response:
        drive = call.mounted.drive
        state = self._anchor(call)
        state = drive.resolve(state.item_id, list(call.address.names))
        if state.item_id == drive.root_id and self.switches.root_delta_denied:
            raise Refused(403, "accessDenied", "Access denied")
        self._allow(call, state)
        below = "root" if state.item_id == drive.root_id else f"items/{state.item_id}"
        query = {**call.query, "token": token_of(call.address.action, call.query)}
        return Response.of_json(
            call.mounted.feed.page(state.item_id, f"/v1.0/drives/{drive.drive_id}/{below}/delta", query, call.base)
        )

    def _socket(self, call: Call) -> Response:
        if self.switches.socket_refused or self._anchor(call).item_id != call.mounted.drive.root_id:
            raise Refused(400, "notSupported", "Operation not supported")
        if call.limited:
            raise Refused(403, "accessDenied", "Access denied")
        return Response.of_json(self.push.register(call.base))

    def _share(self, path: str, request: Request) -> Response:
        encoded = path.split("/")[2].removeprefix("u!")
        link = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
        if link not in self.shares:
            raise Refused(404, "itemNotFound", "The sharing link no longer exists")
        drive_id, item_id = self.shares[link]
        mounted = self.mounted[_canonical(drive_id)]
        mounted.renderer.content_base = self.content_base(request)
        return Response.of_json(mounted.renderer.item(mounted.drive.get(item_id)))

    def _drive_json(self, mounted: Mounted) -> dict[str, Any]:
        drive = mounted.drive
        return {
            "id": drive.drive_id,
            "driveType": "personal" if drive.account is Account.PERSONAL else "business",
            "owner": {"user": {"displayName": "Emulated"}},
            "quota": {
                "total": self.switches.quota,
                "used": drive.used,
                "remaining": max(self.switches.quota - drive.used, 0),
                "deleted": 0,
                "state": "normal" if drive.used < self.switches.quota else "exceeded",
            },
        }


def _canonical(drive_id: str) -> str:
    folded = drive_id.casefold()
    return folded if folded.startswith("b!") else folded.zfill(16)


def _matches(header: str, drive: Drive, state: State) -> bool:
    wanted = header.strip().strip('"')
    return bool(wanted) and wanted in (drive.etag(state).strip('"'), drive.ctag(state).strip('"'))
