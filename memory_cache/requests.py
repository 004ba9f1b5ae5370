"""Requests that may come twice: a daemon that was killed may have carried out what it never answered.

The relay sends such a request again and says so. What a request led to is noted in the transaction that does it;
when the request comes again, that is its answer and nothing is done.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter

from memory_cache.clock import to_text
from memory_cache.models import Memory, Record

T = TypeVar("T")

KEPT = 500
KEPT_FOR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Request:
    """One request of one session.

    Attributes:
        key: names the request and its arguments among all requests of all sessions.
        repeated: it is sent again, because its first server was lost before it answered.
    """

    key: str
    repeated: bool


_current: ContextVar[Request | None] = ContextVar("request", default=None)


@contextmanager
def serving(request: Request | None) -> Iterator[None]:
    """Within the block, changes belong to this request."""
    token = _current.set(request)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Request | None:
    """The request that is being served here."""
    return _current.get()


def once(
    connection: sqlite3.Connection,
    request: Request | None,
    action: str,
    kind: Any,
    now: Callable[[], datetime],
    do: Callable[[sqlite3.Connection], T],
) -> T:
    """What `do` returns; or what it returned before, texts left out, when this is the same request again.

    Args:
        action: tells the changes of one request apart.
        kind: the type of the result.
    """
    if request is None:
        return do(connection)
    earlier: T | None = result(connection, request, action, kind)
    if earlier is not None:
        return earlier
    done = do(connection)
    _note(connection, request, action, _adapter(kind).dump_json(_without_texts(done)), now())
    return done


def result(connection: sqlite3.Connection, request: Request | None, action: str, kind: Any) -> Any:
    """What this request led to when it came before; None when it did not.

    A request that was not said to come again counts only against one that was: its first server may be slower
    than its second. Beyond that a client may use an id as often as it likes.
    """
    if request is None:
        return None
    row = connection.execute(
        "SELECT result FROM requests WHERE request = ? AND (repeated OR ?)", (_name(request, action), request.repeated)
    ).fetchone()
    return None if row is None else _adapter(kind).validate_json(row["result"])


def _note(connection: sqlite3.Connection, request: Request, action: str, found: bytes, now: datetime) -> None:
    cursor = connection.execute(
        "INSERT OR REPLACE INTO requests (request, repeated, at, result) VALUES (?, ?, ?, ?)",
        (_name(request, action), request.repeated, to_text(now), found.decode()),
    )
    connection.execute("DELETE FROM requests WHERE request_id <= ?", ((cursor.lastrowid or 0) - KEPT,))
    purge(connection, now)


def purge(connection: sqlite3.Connection, now: datetime) -> None:
    """Drop what no session will ask for again."""
    connection.execute("DELETE FROM requests WHERE at < ?", (to_text(now - KEPT_FOR),))


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _name(request: Request, action: str) -> str:
    return f"{request.key} {action}"


def _without_texts(value: Any) -> Any:
    # No answer shows them, and a text that was deleted for good must not live on here.
    if isinstance(value, tuple):
        return tuple(_without_texts(held) for held in value)
    if isinstance(value, Memory):
        return value.model_copy(update={"content": ""})
    if isinstance(value, Record):
        return value.model_copy(update={name: _without_texts(held) for name, held in value})
    return value
