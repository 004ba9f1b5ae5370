"""The markdown file of a memory: YAML front matter, then the body.

Reading is tolerant and never raises. Rewriting is faithful: it touches the lines it changes, and every
rewrite is read back before it is handed out. What cannot be understood is shown, and never rewritten.

The body is the text behind the front matter without the file's last line end. One line end or BOM
right behind the front matter is not part of it either; a body that begins with one is written with two.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memory_cache import text_format_plain
from memory_cache.errors import InvalidInput
from memory_cache.text_format_block import BOM, Entry, Layout, Unreadable, divide
from memory_cache.text_format_edit import Editor, Source
from memory_cache.text_format_values import (
    KEYS,
    LISTS,
    TIMES,
    Value,
    as_list,
    as_priority,
    as_text,
    as_time,
    encodable,
    parse_timestamp,
    salvage,
    timestamp,
)

__all__ = [
    "KEYS",
    "ParsedFile",
    "Source",
    "Value",
    "adopt",
    "parse_timestamp",
    "read",
    "render",
    "rewrite",
    "sources",
    "timestamp",
    "title_of",
]

_TITLE_LENGTH = 100
_TITLE_LINES = 50


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """What a file says; None or empty where it says nothing usable.

    Attributes:
        unknown: other front matter keys, their values as written (strings, lists, dicts, None).
        has_front_matter: there is a readable front matter block, with or without an id.
        problem: why this file must not be rewritten, in words for `doctor`; None when it may be.
        adoptable: it has no id and may get one (`adopt`); also true where a broken block without an id
            counts as body.
    """

    id: str | None
    category: str | None
    tags: tuple[str, ...]
    created: datetime | None
    updated: datetime | None
    project_id: str | None
    project_name: str | None
    priority: str | None
    expires_at: datetime | None
    related_to: tuple[str, ...]
    body: str
    title: str
    unknown: dict[str, Any] = field(default_factory=dict)
    has_front_matter: bool = False
    problem: str | None = None
    adoptable: bool = False


def read(data: bytes) -> ParsedFile:
    """Understand a file as far as possible. Any bytes at all are safe."""
    text, problem = _decode(data)
    if problem:
        return _parsed({}, text.removeprefix(BOM), problem=problem)
    layout = divide(text)
    if layout.language:
        return _parsed({}, _body(layout, 0), problem=f"`---{layout.language}` is not YAML front matter", adoptable=True)
    if layout.block is None:
        return _parsed({}, _body(layout, 0), adoptable=True)
    block = text[slice(*layout.block)]
    plain = text_format_plain.values(block)
    if plain is not None:
        return _with_front_matter(plain, layout)
    try:
        entries = _entries_of(block)
    except Unreadable as unreadable:
        values = salvage(block)
        if as_text(values.get("id")):
            return _parsed(values, _body(layout, layout.body), problem=str(unreadable))
        return _parsed(values, _body(layout, 0), problem=str(unreadable), adoptable=True)
    if entries is None:
        return _parsed({}, _body(layout, 0), adoptable=True)
    return _with_front_matter({entry.key: entry.node.value for entry in entries}, layout)


def _with_front_matter(values: Mapping[str, Any], layout: Layout) -> ParsedFile:
    parsed = _parsed(values, _body(layout, layout.body), has_front_matter=True)
    return parsed if parsed.id else _parsed(values, parsed.body, has_front_matter=True, adoptable=True)


def title_of(body: str) -> str:
    """The first line of a body that says something, without leading `#`, at most 100 characters."""
    spare = ""
    position = 0
    for _ in range(_TITLE_LINES):
        end = body.find("\n", position)
        line = " ".join(body[position : end if end >= 0 else len(body)][:1000].lstrip("\ufeff \t#").split())
        if any(character.isalnum() for character in line):
            return line[:_TITLE_LENGTH].rstrip()
        spare = spare or line[:_TITLE_LENGTH]
        position = end + 1
        if end < 0:
            break
    return spare or "Untitled"


def render(
    *,
    id: str,
    category: str,
    tags: Sequence[str],
    created: datetime,
    updated: datetime,
    body: str,
    project_id: str | None = None,
    project_name: str | None = None,
    priority: str | None = None,
    expires_at: datetime | None = None,
    related_to: Sequence[str] = (),
) -> bytes:
    """The bytes of a new memory. A priority of `normal` is not written."""
    values: dict[str, Value | None] = {
        "id": id,
        "category": category,
        "tags": tags,
        "created": created,
        "updated": updated,
        "projectId": project_id,
        "projectName": project_name,
        "priority": None if priority == "normal" else priority,
        "expiresAt": expires_at,
        "relatedTo": related_to or None,
    }
    front = _front_matter({key: value for key, value in values.items() if value is not None}, "\n")
    return (front + _raw_body(encodable(body))).encode("utf-8")


def rewrite(
    data: bytes,
    *,
    set: Mapping[str, Value | Source | None] | None = None,
    remove: Collection[str] = (),
    body: str | None = None,
) -> bytes:
    """The file with these front matter keys set or removed, and this body; all else byte for byte as it was.

    Keys are those of the file (`projectId`); a value of None, or an empty `relatedTo`, removes its key.
    A `Source` (from `sources`) carries an entry over as another version of the file spells it.

    Raises: InvalidInput when the file must not be rewritten, or cannot be without touching more.
    """
    before = read(data)
    if before.problem:
        raise InvalidInput(f"This file cannot be changed: {before.problem}.", "Repair its front matter in an editor.")
    values, gone = _split_changes(set or {}, remove)
    text, _ = _decode(data)
    layout = divide(text)
    has_block = before.has_front_matter and layout.block is not None
    start = layout.body if has_block else 0
    body = before.body if body is None else encodable(body)
    tail = text[start:] if body == before.body else _with_body(layout, start, body)
    try:
        if has_block and layout.block is not None:
            block = text[slice(*layout.block)]
            changed = Editor(block, _entries_of(block) or [], layout.newline).change(values, gone)
            head = (
                text[: layout.block[0]] + changed + _closed(text[layout.block[1] : layout.body], tail, layout.newline)
            )
        elif values:
            head = _front_matter(values, layout.newline)
        else:
            head = ""
    except Unreadable as unreadable:
        raise InvalidInput(f"This file cannot be changed: {unreadable}.", "Edit it by hand.") from None
    result = (head + tail).encode("utf-8")
    _verify(before, read(result), values, gone, body)
    return result


def adopt(data: bytes, fields: Mapping[str, Value]) -> bytes:
    """Give a file without an id its front matter; `fields` holds at least the id.

    Readable front matter gets the lines that it lacks. Otherwise a new block is put in front and the
    original bytes, a broken block included, stay as the tail. Raises: InvalidInput when not adoptable.
    """
    parsed = read(data)
    if not parsed.adoptable:
        raise InvalidInput("This file cannot be given an id.", "Repair its front matter in an editor.")
    if parsed.has_front_matter:
        present = _values_of(parsed)
        return rewrite(data, set={key: value for key, value in fields.items() if not present.get(key)})
    newline = divide(data.decode("utf-8")).newline
    return _front_matter(fields, newline).encode("utf-8") + data


def sources(data: bytes) -> dict[str, Source]:
    """Every front matter entry as its file spells it, by key; empty for a file that must not be rewritten."""
    parsed = read(data)
    layout = divide(_decode(data)[0])
    if parsed.problem or not parsed.has_front_matter or layout.block is None:
        return {}
    block = layout.text[slice(*layout.block)]
    entries: list[Entry] = _entries_of(block) or []
    editor = Editor(block, entries, layout.newline)
    return {entry.key: editor.source(entry) for entry in entries}


def _entries_of(block: str) -> list[Entry] | None:
    # Most files need no parser, and importing one takes longer than reading a hundred of them.
    from memory_cache.text_format_yaml import entries_of

    return entries_of(block)


def _decode(data: bytes) -> tuple[str, str | None]:
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError:
        pass
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace"), "the file is UTF-16; save it as UTF-8"
    return data.decode("utf-8", "replace"), "the file is not valid UTF-8"


def _parsed(
    values: Mapping[str, Any],
    body: str,
    *,
    has_front_matter: bool = False,
    problem: str | None = None,
    adoptable: bool = False,
) -> ParsedFile:
    get = values.get
    return ParsedFile(
        id=as_text(get("id")),
        category=as_text(get("category")),
        tags=as_list(get("tags")),
        created=as_time(get("created")),
        updated=as_time(get("updated")),
        project_id=as_text(get("projectId")),
        project_name=as_text(get("projectName")),
        priority=as_priority(get("priority")),
        expires_at=as_time(get("expiresAt")),
        related_to=as_list(get("relatedTo")),
        body=body,
        title=title_of(body),
        unknown={key: value for key, value in values.items() if key not in KEYS},
        has_front_matter=has_front_matter,
        problem=problem,
        adoptable=adoptable,
    )


def _values_of(parsed: ParsedFile) -> dict[str, Any]:
    return {
        "id": parsed.id,
        "category": parsed.category,
        "tags": parsed.tags,
        "created": parsed.created,
        "updated": parsed.updated,
        "projectId": parsed.project_id,
        "projectName": parsed.project_name,
        "priority": parsed.priority,
        "expiresAt": parsed.expires_at,
        "relatedTo": parsed.related_to,
        **parsed.unknown,
    }


def _front_matter(values: Mapping[str, Value | Source], newline: str) -> str:
    block = Editor("", [], newline).change(values, ())
    return f"---{newline}{block}---{newline}"


def _body(layout: Layout, start: int) -> str:
    raw = layout.text[start:]
    if layout.newline == "\r\n":
        raw = raw.replace("\r\n", "\n")
    return raw.removeprefix(_lead(raw)).removesuffix("\n")


def _lead(raw: str) -> str:
    return raw[0] if raw[:1] in (BOM, "\n") else ""


def _raw_body(body: str) -> str:
    return f"{_lead(body)}{body}\n" if body else ""


def _with_body(layout: Layout, start: int, body: str) -> str:
    """The text from `start` on with a new body; lines that stay keep their line ends."""
    old = layout.text[start:]
    crlf = layout.newline == "\r\n"
    plain_old, new = (old.replace("\r\n", "\n"), body.replace("\r\n", "\n")) if crlf else (old, body)
    lead = _lead(plain_old) or _lead(new)
    final = "\n" if not plain_old or plain_old.endswith("\n") or new.endswith("\n") else ""
    plain_new = f"{lead}{new}{final}" if new or lead else ""
    if not crlf:
        return plain_new
    return _merged_lines(old.split("\n"), plain_new.split("\n"))


def _merged_lines(old: list[str], new: list[str]) -> str:
    # `old` may have \r at the end of each line but the last; lines equal but for it are taken from there.
    bare = [line.removesuffix("\r") for line in old]
    first = 0
    while first < min(len(old), len(new)) - 1 and bare[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(old), len(new)) - first and bare[-1 - last] == new[-1 - last]:
        last += 1
    middle = [f"{line}\r" for line in new[first : len(new) - last]]
    if middle and not last:
        middle[-1] = middle[-1].removesuffix("\r")
    return "\n".join(old[:first] + middle + old[len(old) - last :])


def _closed(fence: str, tail: str, newline: str) -> str:
    return fence if fence.endswith("\n") or not tail else fence + newline


def _split_changes(
    changes: Mapping[str, Value | Source | None], remove: Collection[str]
) -> tuple[dict[str, Value | Source], frozenset[str]]:
    gone = {key for key, value in changes.items() if value is None or (key == "relatedTo" and not value)}
    values = {key: value for key, value in changes.items() if value is not None and key not in gone}
    return values, frozenset(gone) | (frozenset(remove) - values.keys())


def _verify(
    before: ParsedFile,
    after: ParsedFile,
    values: Mapping[str, Value | Source],
    gone: Collection[str],
    body: str,
) -> None:
    """The rewritten file says what it should and nothing else changed. Raises: InvalidInput."""
    expected = {key: value for key, value in _values_of(before).items() if key not in gone}
    expected.update({key: _as_read(key, value) for key, value in values.items()})
    actual = _values_of(after)
    wrong = [key for key in expected.keys() | actual.keys() if (expected.get(key) or None) != (actual.get(key) or None)]
    if after.body != body and after.body != body.replace("\r\n", "\n"):
        wrong.append("body")
    if wrong or after.problem:
        raise InvalidInput(
            f"This file's front matter is written in a way that cannot be changed safely ({', '.join(sorted(wrong))}).",
            "Edit the file by hand.",
        )


def _as_read(key: str, value: Value | Source) -> Any:
    if isinstance(value, Source):
        return _values_of(read(f"---\n{value}\n---\n".encode()))[key]
    if key in TIMES:
        return parse_timestamp(timestamp(value) if isinstance(value, datetime) else str(value))
    if key in LISTS:
        return as_list(list(value) if not isinstance(value, (str, datetime)) else value)
    return as_text(value) if key in KEYS else value
