"""Upload sessions: fragments to a URL that needs no token."""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.graph_emulator.drive import Drive, Refused, State
from tests.graph_emulator.http_server import Request, Response


@dataclass
class Session:
    """One upload in progress. `finish` writes the whole and returns the item and whether it is new."""

    drive: Drive
    finish: Callable[[bytes], tuple[State, bool]]
    data: bytearray = field(default_factory=bytearray)
    total: int | None = None


class Uploads:
    """All open sessions."""

    def __init__(self, rng: random.Random) -> None:
        self._random = rng
        self._open: dict[str, Session] = {}

    def open(self, session: Session) -> str:
        """The last part of the upload URL."""
        key = f"{self._random.getrandbits(96):024x}"
        self._open[key] = session
        return key

    def serve(self, request: Request, key: str) -> tuple[Response, State | None, Drive | None]:
        """A request to an upload URL; the item comes with the last fragment."""
        session = self._open.get(key)
        if session is None:
            raise Refused(404, "itemNotFound", "Upload session not found")
        if request.method == "DELETE":
            del self._open[key]
            return Response(204), None, None
        if request.method == "GET":
            return Response.of_json(self._expected(session)), None, None
        return self._fragment(session, request, key)

    def _fragment(self, session: Session, request: Request, key: str) -> tuple[Response, State | None, Drive | None]:
        match = re.match(r"bytes (\d+)-(\d+)/(\d+)", request.headers.get("content-range", ""))
        if match is None:
            raise Refused(400, "invalidRequest", "Content-Range is missing")
        first, last, total = (int(group) for group in match.groups())
        if session.total not in (None, total) or len(request.body) != last - first + 1:
            raise Refused(400, "invalidRequest", "Fragment does not fit")
        session.total = total
        if first != len(session.data):
            raise Refused(416, "invalidRange", "The fragment overlaps")
        session.data += request.body
        if len(session.data) < total:
            return Response.of_json(self._expected(session), 202), None, None
        del self._open[key]
        state, is_new = session.finish(bytes(session.data))
        return Response(201 if is_new else 200), state, session.drive

    @staticmethod
    def _expected(session: Session) -> dict[str, object]:
        return {
            "expirationDateTime": "2099-01-01T00:00:00Z",
            "nextExpectedRanges": [f"{len(session.data)}-"],
        }
