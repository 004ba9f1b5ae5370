"""What was asked: every request with its operation, and counters by operation."""

import re
from collections import Counter
from dataclasses import dataclass

from tests.graph_emulator.addressing import parse
from tests.graph_emulator.http_server import Request


@dataclass(frozen=True, slots=True)
class Entry:
    """One request as it arrived, and the status that went out (0: none did)."""

    operation: str
    method: str
    target: str
    host: str
    authorized: bool
    bytes_in: int
    status: int
    at: float


class RequestLog:
    """Entries in order of their answers."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def add(self, entry: Entry) -> None:
        """Note one request."""
        self.entries.append(entry)

    def clear(self) -> None:
        """Start counting anew."""
        self.entries.clear()

    @property
    def counts(self) -> Counter[str]:
        """Requests by operation."""
        return Counter(entry.operation for entry in self.entries)

    @property
    def graph(self) -> int:
        """Requests to Graph itself: neither sign-in nor the hosts of contents and uploads."""
        return sum(1 for entry in self.entries if entry.operation not in OUTSIDE)


OUTSIDE = {"bytes", "fragment", "token", "devicecode", "authorize", "discovery", "login", "socket"}

_ACTIONS = {
    "children": {"GET": "children", "POST": "mkdir"},
    "content": {"GET": "download", "PUT": "upload"},
    "createUploadSession": {"POST": "session"},
    "copy": {"POST": "copy"},
    "subscriptions/socketIo": {"GET": "socketio"},
}


def operation_of(request: Request) -> str:
    """One word for what a request asks: delta, latest, children, stat, find, root, drive, download,
    bytes (contents), create, update, patch, delete, mkdir, session, fragment, copy, share, socketio, socket,
    token, devicecode, authorize, discovery, login, other."""
    path = request.path
    for word, operation in _PREFIXES:
        if word in path:
            return operation
    below = re.sub(r"^/+v1\.0", "", path)
    if below.startswith("/shares/"):
        return "share"
    address = parse(below)
    if address is None:
        return "login" if path in ("/", "") else "other"
    if "delta" in address.action:
        return "latest" if "token=latest" in request.target or "'latest'" in address.action else "delta"
    if address.action:
        operation = _ACTIONS.get(address.action, {}).get(request.method, "other")
        if operation == "upload":
            return "create" if address.by_path else "update"
        return operation
    if request.method in ("PATCH", "DELETE"):
        return request.method.lower()
    if not address.anchor:
        return "drive"
    if address.by_path:
        return "find"
    return "stat" if address.anchor == "items" else "root"


_PREFIXES = (
    ("/oauth2/v2.0/token", "token"),
    ("/oauth2/v2.0/devicecode", "devicecode"),
    ("/oauth2/v2.0/authorize", "authorize"),
    ("/discovery/instance", "discovery"),
    ("/.well-known/", "discovery"),
    ("/upload/", "fragment"),
    ("/download/", "bytes"),
    ("/socket.io/", "socket"),
)
