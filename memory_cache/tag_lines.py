"""Changes the tags of a file whose front matter is plain, without a YAML parser: one tag on 5,000 memories in a second.

Plain means that every line stands for itself, so that a line can be replaced without a look at the others: one
`key: value` or one `- item` per line, no comments, anchors, blocks, or values over several lines. For every other
file the caller goes the long way (`memory_cache.text_format.rewrite`), which gives the same bytes.
"""

import re
from collections.abc import Sequence
from datetime import datetime

from memory_cache.text_format_values import literal, spell

_WORD = r"""[^\s#"'\[\]{},&*!|>%@`:]+(?::[^\s#"'\[\]{},&*!|>%@`:]+)*"""
_QUOTED = r'"[^"\\\x00-\x1f]*"'
_ITEM = rf"(?:{_QUOTED}|\w[\w./+-]*(?: \w[\w./+-]*)*)"
_FLOW = rf"\[(?:{_ITEM}(?:, {_ITEM})*)?\]"
_LINE = re.compile(rf"(?P<key>[A-Za-z]\w*):(?: (?P<value>{_QUOTED}|{_FLOW}|[\w./]*{_WORD}(?: {_WORD})*))?")
_DASHED = re.compile(rf"(?P<dash> {{0,4}}- )(?P<item>{_ITEM})")
_ITEMS = re.compile(_ITEM)


def retagged(content: bytes, current: Sequence[str], wanted: Sequence[str], updated: datetime) -> bytes | None:
    """The file with these tags and this `updated`, all else as it was; None when its front matter is not plain.

    Args:
        current: its tags as they are read; what the lines say must agree.
    """
    end = content.find(b"\n---\n", 3)
    if not content.startswith(b"---\n") or end < 0:
        return None
    try:
        lines = content[4:end].decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return None
    entries = _entries(lines)
    if entries is None or "tags" not in entries or "updated" not in entries:
        return None
    (first, last), (dated, _) = entries["tags"], entries["updated"]
    tags = _tag_lines(lines[first:last], current, wanted)
    if tags is None or lines[dated] == "updated:":
        return None
    lines[dated] = f"updated: {spell(updated)}"
    lines[first:last] = tags
    return b"---\n" + "\n".join(lines).encode("utf-8") + content[end:]


def _entries(lines: Sequence[str]) -> dict[str, tuple[int, int]] | None:
    """First and last line of each key, when every line is plain and every key comes once."""
    entries: dict[str, tuple[int, int]] = {}
    key = None
    for number, line in enumerate(lines):
        match = _LINE.fullmatch(line)
        if match is not None:
            key = match["key"]
            if key in entries:
                return None
            entries[key] = (number, number + 1)
        elif key is not None and lines[entries[key][0]] == f"{key}:" and _DASHED.fullmatch(line):
            entries[key] = (entries[key][0], number + 1)
        else:
            return None
    return entries


def _tag_lines(lines: Sequence[str], current: Sequence[str], wanted: Sequence[str]) -> list[str] | None:
    head, *dashed = lines
    if dashed:
        matches = [match for line in dashed if (match := _DASHED.fullmatch(line))]
        spelled, dash = [match["item"] for match in matches], matches[0]["dash"]
        if any(match["dash"] != dash for match in matches):
            return None
    elif head.startswith("tags: ["):
        spelled, dash = _ITEMS.findall(head[len("tags: ") :]), None
    else:
        return None
    if [item.strip('"') for item in spelled] != list(current):
        return None
    known = dict(zip(current, spelled, strict=True))
    items = [known.get(tag) or literal(tag) for tag in wanted]
    if dash is None or not items:
        return [f"tags: [{', '.join(items)}]"]
    return [head, *(f"{dash}{item}" for item in items)]
