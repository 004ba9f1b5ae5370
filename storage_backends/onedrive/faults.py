"""What an answer of Graph means: status and error code to one error of the storage's tree.

Status decides first; of the codes in the body the deepest known one refines it. Messages are never looked at:
they are for people and change.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isnan
from typing import Any

from storage_backends.errors import (
    AccessDenied,
    AlreadyExists,
    CursorExpired,
    InvalidName,
    ItemBusy,
    LoginRequired,
    NotFound,
    PermanentError,
    StorageError,
    StorageFull,
    Throttled,
    Unreachable,
    VersionMismatch,
)

_LONGEST_CODE = 60
_LONGEST_PAUSE = 86_400.0

_FULL = frozenset(("quotalimitreached", "insufficientstorage"))
_LOCKED = frozenset(("resourcelocked", "itemlocked", "locktokenmismatch", "notetagmatchlocked"))
_READ_ONLY = frozenset(("servicereadonly",))
_TAKEN = frozenset(("namealreadyexists",))
_RACED = frozenset(("resourcemodified",))
_DEAD_CURSOR = ("resync", "synctoken")
_AGAIN_LATER = frozenset(("cannotsnapshottree",))


def codes_of(body: bytes) -> list[str]:
    """All error codes of an answer in lower case, the deepest first; empty for a page that is no Graph error."""
    try:
        node: Any = json.loads(body).get("error")
    except (ValueError, AttributeError, RecursionError):
        return []
    codes: list[str] = []
    for _ in range(16):
        if not isinstance(node, dict):
            break
        if isinstance(node.get("code"), str) and node["code"].isascii():
            codes.append(node["code"].lower()[:_LONGEST_CODE])
        node = node.get("innerError") or node.get("innererror")
    return codes[::-1]


def retry_after_of(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait, a day at most, from a number or a date; None when the answer names none.

    A date is read by the service's own clock where the answer tells it: this machine's may be wrong.
    """
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        moment = _date(value)
        if moment is None:
            return None
        seconds = moment - (_date(headers.get("date", "")) or now)
    return None if isnan(seconds) else min(max(seconds, 0.0), _LONGEST_PAUSE)


def clock_skew_of(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds by which this machine's clock is ahead of the service's; None when the answer has no date."""
    moment = _date(headers.get("date", ""))
    return None if moment is None else now - moment


def _date(text: str) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError, IndexError):
        return None


def error_of(status: int, headers: Mapping[str, str], body: bytes) -> StorageError:
    """The storage error for an answer that is not a success."""
    codes = codes_of(body)
    code = codes[0] if codes else ""
    told = f"OneDrive answered {status}" + (f" ({code})" if code else "") + "."
    special = _by_code(status, codes, told)
    if special is not None:
        return special
    if status in (429, 509) or (status == 503 and "retry-after" in headers):
        return Throttled(told, retry_after=retry_after_of(headers, datetime.now(UTC).timestamp()))
    if status >= 500 and status != 501:
        return Unreachable(told, "This is a fault of the service; it is tried again.")
    return _by_status(status, told)


def _by_code(status: int, codes: list[str], told: str) -> StorageError | None:
    known = set(codes)
    if known & _FULL or status == 507:
        return StorageFull("OneDrive is full.", "Free some space: nothing can be uploaded until then.")
    if known & _AGAIN_LATER:
        return Unreachable(told)
    if status == 410 or any(part in code for part in _DEAD_CURSOR for code in known):
        return CursorExpired(told)
    if status == 423 or known & _LOCKED:
        return ItemBusy("The file is locked; it may be open in an editor of Office or the browser.")
    if status == 409 and known & _RACED and not known & _TAKEN:
        return ItemBusy(told)  # seen after quick writes in a row, without any other writer
    return None


def _by_status(status: int, told: str) -> StorageError:
    if status == 401:
        return LoginRequired("OneDrive does not accept the login any more.", "Run `claude-memory login`.")
    if status == 403:
        return AccessDenied(told)
    if status == 404:
        return NotFound(told)
    if status == 408:
        return Unreachable(told)
    if status == 409:
        return AlreadyExists("A file of this name is there already.")
    if status == 412:
        return VersionMismatch("The file was changed in OneDrive meanwhile.")
    if status == 400:
        return InvalidName(told)
    return PermanentError(told)


def web_page(status: int) -> Unreachable:
    """A web page came where JSON or bytes should be."""
    return Unreachable(
        f"A web page answered instead of OneDrive (status {status}).",
        "This network may want a login in the browser, or a proxy is in the way.",
    )


def is_read_only(body: bytes) -> bool:
    """The service itself refuses all writes for now; no permission would help."""
    return bool(_READ_ONLY & set(codes_of(body)))
