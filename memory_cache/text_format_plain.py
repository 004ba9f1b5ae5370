"""Reads front matter that is plain, as this program and most people write it, without a YAML parser,
in a sixth of its time.

Plain means that every line stands for itself: `key: value`, or `key:` and one `- item` per line, on ASCII punctuation
that means nothing to YAML. Everything else is left to `memory_cache.text_format_yaml`, whose values these are.
"""

import re

_LONGEST = 8192  # characters; far within the bounds of the parser
_NULLS = frozenset(["null", "Null", "NULL"])

_FIRST = r"[\w./]"
_MORE = r"[\w./+=()-]"
_WORDS = rf"{_FIRST}{_MORE}*(?::+{_MORE}+)*(?: {_MORE}+(?::+{_MORE}+)*)*"
_QUOTED = r'"[\x20-\x21\x23-\x5b\x5d-\x7e\w]*"'
_ITEM = rf"(?:{_QUOTED}|{_FIRST}{_MORE}*(?: {_MORE}+)*)"
_LINE = re.compile(
    rf"(?P<key>[A-Za-z]\w*):(?: (?:(?P<value>{_QUOTED}|{_WORDS})|\[(?P<flow>{_ITEM}(?:, {_ITEM})*)?\]))?"
)
_DASHED = re.compile(rf"(?P<dash> {{0,4}}- )(?P<item>{_QUOTED}|{_WORDS})")
_ITEMS = re.compile(_ITEM)


def values(block: str) -> dict[str, str | list[str | None] | None] | None:
    """The values of a front matter block by key; None when it is not plain, and has to be parsed."""
    if len(block) > _LONGEST or not block.endswith("\n"):
        return None
    found: dict[str, str | list[str | None] | None] = {}
    key = dash = ""
    items: list[str | None] | None = None  # of the entry that may go on
    for line in block[:-1].split("\n"):
        entry = _LINE.fullmatch(line)
        if entry is not None:
            key, dash = entry["key"], ""
            if key in found or key in _NULLS:
                return None
            items = [] if line.endswith(":") else None
            found[key] = None if items is not None else _value(entry)
            continue
        item = _DASHED.fullmatch(line)
        if item is None or items is None or dash not in ("", item["dash"]):
            return None
        dash, found[key] = item["dash"], items
        items.append(_scalar(item["item"]))
    return found


def _value(entry: re.Match[str]) -> str | list[str | None] | None:
    if entry["value"] is not None:
        return _scalar(entry["value"])
    return [_scalar(item) for item in _ITEMS.findall(entry["flow"] or "")]


def _scalar(spelled: str) -> str | None:
    if spelled[0] == '"':
        return spelled[1:-1]
    return None if spelled in _NULLS else spelled
