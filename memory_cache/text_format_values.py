"""Front matter values: what they mean when read, and how they are spelled when written.

Every value is a string to us (`007`, `yes` and `2024-01-05` stay what the file says). What is written
reads as the same string in YAML 1.1 (PyYAML, js-yaml 3) and YAML 1.2.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

KEYS = (
    "id",
    "category",
    "tags",
    "created",
    "updated",
    "projectId",
    "projectName",
    "priority",
    "expiresAt",
    "relatedTo",
)
LISTS = frozenset(["tags", "relatedTo"])
TIMES = frozenset(["created", "updated", "expiresAt"])
PRIORITIES = ("high", "normal", "low")

Value = str | datetime | Sequence[str]

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
# What YAML 1.1 takes for null, a boolean, or the merge and value keys.
_WORDS = frozenset(["null", "true", "false", "yes", "no", "on", "off", "y", "n"])
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f-\xa0\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\uffff]')


def literal(text: str) -> str:
    """A string as a YAML scalar that is safe in block and flow context."""
    if _UUID.fullmatch(text) or (_PLAIN.fullmatch(text) and text.lower() not in _WORDS):
        return text
    return f'"{_ESCAPED.sub(_escape, encodable(text))}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _ESCAPES.get(character) or f"\\u{ord(character):04x}"


def spell(value: Value) -> str:
    """Any value that this module writes, on one line."""
    if isinstance(value, datetime):
        return f'"{timestamp(value)}"'
    if isinstance(value, str):
        return literal(value)
    return f"[{', '.join(map(literal, value))}]"


def timestamp(when: datetime) -> str:
    """ISO-8601 in UTC with milliseconds and `Z`; a naive time is UTC."""
    aware = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    return f"{aware.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


_TIMESTAMP = re.compile(
    r"""(\d{4})-(\d\d?)-(\d\d?)
        (?:(?:[Tt]|[ \t]+)(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?[ \t]*
        (?:Z|z|UTC|GMT|([+-])(\d\d?)(?::?(\d\d))?)?)?""",
    re.VERBOSE | re.ASCII,
)


_AS_WRITTEN = ("-", "-", "T", ":", ":", ".", "Z")


def parse_timestamp(text: str) -> datetime | None:
    """The time a person or program meant, in UTC; None when it is no time. No zone means UTC."""
    if len(text) == 24 and (text[4], text[7], text[10], text[13], text[16], text[19], text[23]) == _AS_WRITTEN:
        with suppress(ValueError):
            return datetime.fromisoformat(text)
    match = _TIMESTAMP.fullmatch(text.strip())
    if not match:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    microsecond = int((match[7] or "").ljust(6, "0")[:6])
    offset = timedelta(hours=int(match[9] or 0), minutes=int(match[10] or 0)) * (-1 if match[8] == "-" else 1)
    try:
        return datetime(year, month, day, hour, minute, second, microsecond, timezone(offset)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def as_text(value: Any) -> str | None:
    """A single value; None when there is none, or something else than a string stands there."""
    return (value.strip() or None) if isinstance(value, str) else None


def as_list(value: Any) -> tuple[str, ...]:
    """A list of strings. One string is a list as well: `a, b`, `#a #b`, or a single word."""
    if isinstance(value, str):
        words = value.split()
        if "," in value:
            value = value.split(",")
        elif words and all(word.startswith("#") for word in words):
            value = [word.lstrip("#") for word in words]
        else:
            value = [value]
    if not isinstance(value, list):
        return ()
    stripped = (item.strip() for item in value if isinstance(item, str))
    return tuple(dict.fromkeys(item for item in stripped if item))


def as_time(value: Any) -> datetime | None:
    """A point in time, or None."""
    return parse_timestamp(value) if isinstance(value, str) else None


def as_priority(value: Any) -> str | None:
    """high, normal, low, or None for anything else."""
    text = (as_text(value) or "").lower()
    return text if text in PRIORITIES else None


def encodable(text: str) -> str:
    """The text with lone surrogates, which no file can hold, replaced by U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


_LINE = re.compile(r"([A-Za-z]\w*)[ \t]*:(?:[ \t]+(.*?))?[ \t\r]*")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*?)[ \t\r]*")


def salvage(block: str) -> dict[str, Any]:
    """The known keys of front matter that is not valid YAML, line by line, for reading only."""
    found: dict[str, Any] = {}
    lines = [line for line in block[:20_000].split("\n") if line.strip()]
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())] if lines else ""
    open_list: list[str] | None = None
    for line in lines:
        item = _ITEM.fullmatch(line)
        entry = _LINE.fullmatch(line.removeprefix(indent)) if line.startswith(indent) else None
        if item and open_list is not None:
            open_list.append(_unquoted(item[1]))
        elif entry:
            key, value = entry[1], _unquoted(entry[2] or "")
            open_list = None
            if key not in KEYS or key in found:
                continue
            if key in LISTS and not value:
                found[key] = open_list = []
            elif key in LISTS and value.startswith("["):
                found[key] = [_unquoted(part.strip()) for part in value.strip("[]").split(",")]
            else:
                found[key] = value
    return found


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] in "'\"" and (end := text.find(text[0], 1)) > 0:
        return text[1:end]
    return re.sub(r"(?:^|[ \t])#.*", "", text).rstrip()
