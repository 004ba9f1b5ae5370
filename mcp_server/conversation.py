"""What a relay has to know about a conversation so that it survives the end of its server.

Pure: lines in, lines out. While the first server lives, lines pass as they are and are only noted. A new
server gets the handshake again (its answer is kept from the client) and the requests that are still open,
as far as sending them twice does no harm:

    every request but `tools/call`                      reads only (MCP has no other writes): sent again
    a call of a tool that says of itself, in the
    answer to `tools/list`, that it reads only or
    that a request is carried out once (REPEATABLE)     sent again, marked as REPEATED
    any other call                                      answered: "may or may not have been done"

All of our tools are of the first two kinds, and a daemon says so when it takes the connection; `memory_cache.requests`
keeps that promise. The last line is for a daemon of another version.

The 2026 protocol has no handshake: each request says who asks. An open `subscriptions/listen` is a
request like any other.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing it from `typing` costs what a relay has not got
if TYPE_CHECKING:
    from collections.abc import Iterable

UNKNOWN_OUTCOME = (
    "The memory service was restarted while {tool} was under way, so it may or may not have been done. "
    "Nothing else was affected. Look first (recall, list), and call {tool} again only if it is not there."
)

REPEATABLE = "claude-onedrive-memory/repeatable"
"""In a tool's `_meta`: the same request of the same session, sent twice, is carried out once. (That is less than
`idempotentHint` says: two requests with the same arguments are two.)"""

REPEATED = "claude-onedrive-memory/repeated"
"""In the `_meta` of a call that is sent again: an earlier server may have carried it out."""

_MODERN = "io.modelcontextprotocol/protocolVersion"
Message = dict[str, object]


class _Request:
    __slots__ = ("line", "message")

    def __init__(self, line: bytes, message: Message) -> None:
        self.line = line
        self.message = message

    @property
    def tool(self) -> str | None:
        if self.message["method"] != "tools/call":
            return None
        params = self.message.get("params")
        return str(params.get("name")) if isinstance(params, dict) else "the tool"


class Conversation:
    """One client, and one server after another. Every line ends with a newline."""

    def __init__(self) -> None:
        self._generation = 0
        self._open: dict[tuple[str, object], _Request] = {}
        self._initialize: _Request | None = None
        self._initialized = b""
        self._repeatable: frozenset[str] = frozenset()
        self._kept_back: tuple[str, object] | None = None

    @property
    def waiting(self) -> bool:
        """Whether the client is owed an answer; a standing subscription does not count."""
        return any(request.message["method"] != "subscriptions/listen" for request in self._open.values())

    def to_server(self, line: bytes) -> bytes | None:
        """What the server is sent for a line of the client; None when the line is for a server that is gone."""
        if self._generation == 0:
            return line
        message = _parsed(line)
        if message is None or "method" in message or "id" not in message:
            return line
        # An answer: our question's mark says which server asked.
        mark, _, original = str(message["id"]).partition(":")
        if mark != f"s{self._generation}":
            return None
        return _line({**message, "id": _loads(original)})

    def sent(self, line: bytes) -> None:
        """Note that this line of the client has wholly left for the server."""
        message = _parsed(line)
        if message is None:
            return
        method = message.get("method")
        if method is None:
            return
        if method == "notifications/initialized":
            self._initialized = line
        elif method == "notifications/cancelled":
            params = message.get("params")
            if isinstance(params, dict):
                self._open.pop(_key(params.get("requestId")), None)
        elif "id" in message:
            self._open[_key(message["id"])] = _Request(line, message)

    def to_client(self, line: bytes) -> bytes | None:
        """What the client is sent for a line of the server; None when it is none of its business."""
        message = _parsed(line)
        if message is None:
            return line
        if "method" in message:
            return line if self._generation == 0 else self._marked(line, message)
        if "id" not in message:
            return line
        key = _key(message["id"])
        if key == self._kept_back:
            self._kept_back = None
            return None
        request = self._open.pop(key, None)
        if request is not None and "result" in message:
            self._note_answer(request, message["result"])
        return line

    def _marked(self, line: bytes, message: Message) -> bytes:
        """A question of a later server under an id that tells it from the questions of earlier ones."""
        if "id" in message:
            return _line({**message, "id": self._mark(message["id"])})
        params = message.get("params")
        if message["method"] == "notifications/cancelled" and isinstance(params, dict):
            asked = params.get("requestId")
            if _key(asked) not in self._open:  # else it names a subscription of the client
                return _line({**message, "params": {**params, "requestId": self._mark(asked)}})
        return line

    def _mark(self, identity: object) -> str:
        return f"s{self._generation}:{_dumps(identity)}"

    def resume(self, repeats: bool = False) -> tuple[list[bytes], list[bytes]]:
        """A new server is there: the lines it gets first, and the answers the client gets without it.

        `repeats`: this server and those before it carry out once what is sent again, whatever the tool.
        """
        self._generation += 1
        to_server: list[bytes] = []
        to_client: list[bytes] = []
        self._kept_back = None
        if self._initialize is not None:
            to_server.append(self._initialize.line)
            self._kept_back = _key(self._initialize.message["id"])
            if self._initialized:
                to_server.append(self._initialized)
        for key, request in list(self._open.items()):
            if request.tool is None:
                to_server.append(request.line)
            elif repeats or request.tool in self._repeatable:
                to_server.append(_repeated(request.message))
            else:
                del self._open[key]
                to_client.append(_unknown_outcome(request))
        return to_server, to_client

    def refuse(self, reason: str) -> list[bytes]:
        """Answers to everything open when no server can be had at all."""
        answers = [
            _line({"jsonrpc": "2.0", "id": request.message["id"], "error": {"code": -32603, "message": reason}})
            for request in self._open.values()
        ]
        self._open.clear()
        return answers

    def _note_answer(self, request: _Request, result: object) -> None:
        method = request.message["method"]
        if method == "initialize":
            self._initialize = request
        elif method == "tools/list" and isinstance(result, dict):
            self._repeatable |= frozenset(_repeatable(result.get("tools")))


def _repeatable(tools: object) -> Iterable[str]:
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, dict):
            continue
        hints, meta = tool.get("annotations"), tool.get("_meta")
        said = [hints.get("readOnlyHint"), hints.get("idempotentHint")] if isinstance(hints, dict) else []
        if True in said or (isinstance(meta, dict) and meta.get(REPEATABLE) is True):
            yield str(tool.get("name"))


def _repeated(message: Message) -> bytes:
    params = message.get("params")
    fields = params if isinstance(params, dict) else {}
    meta = fields.get("_meta")
    marked = {**(meta if isinstance(meta, dict) else {}), REPEATED: True}
    return _line({**message, "params": {**fields, "_meta": marked}})


def _unknown_outcome(request: _Request) -> bytes:
    text = UNKNOWN_OUTCOME.format(tool=request.tool)
    result: Message = {"content": [{"type": "text", "text": text}], "isError": True}
    params = request.message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    if isinstance(meta, dict) and _MODERN in meta:
        result["resultType"] = "complete"
    return _line({"jsonrpc": "2.0", "id": request.message["id"], "result": result})


def _key(identity: object) -> tuple[str, object]:
    # 1 and "1" are two ids.
    return type(identity).__name__, identity if isinstance(identity, str | int | float) else None


def _parsed(line: bytes) -> Message | None:
    try:
        message = _loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _line(message: Message) -> bytes:
    return _dumps(message).encode("ascii") + b"\n"


# json is imported when the first line has left, so that its ten milliseconds pass while the server works.


def _loads(text: str | bytes) -> object:
    import json

    return json.loads(text)


def _dumps(value: object) -> str:
    import json

    return json.dumps(value, separators=(",", ":"))
