"""Where front matter is in a file, and what its entries are made of. Positions only, no meaning."""

import re
from dataclasses import dataclass
from typing import Any

BOM = "\ufeff"
MAX_BLOCK = 64 * 1024

_OPENING = re.compile(r"\ufeff?---[ \t]*\r?\n")
_LANGUAGE = re.compile(r"\ufeff?---[ \t]*([A-Za-z][\w.+-]*)[ \t]*\r?\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.MULTILINE)


class Unreadable(Exception):
    """This front matter cannot be understood; the text says why, without quoting it."""


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file's text is divided.

    Attributes:
        newline: the file's line end, that of its first line.
        block: start and end of the text between the fences, its last line end included; None without fences.
        body: where the body begins; 0 without fences (a BOM belongs to the body then).
        language: the word behind an opening `---js`, which is never front matter.
    """

    text: str
    newline: str
    block: tuple[int, int] | None
    body: int
    language: str | None


def divide(text: str) -> Layout:
    """Find the fences. A file that opens with `---` and never closes has no front matter."""
    first_end = text.find("\n")
    newline = "\r\n" if first_end > 0 and text[first_end - 1] == "\r" else "\n"
    opening = _OPENING.match(text)
    if opening:
        closing = _CLOSING.search(text, opening.end())
        if closing:
            return Layout(text, newline, (opening.end(), closing.start()), closing.end(), None)
    language = _LANGUAGE.match(text)
    return Layout(text, newline, None, 0, language[1] if language else None)


@dataclass(frozen=True, slots=True)
class Node:
    """One value: plain data exactly as written (strings, lists, dicts, None), and its place.

    `style` is `plain`, `quoted`, `literal` (`|` and `>`), `flow`, `block` or `alias`. `end` is behind
    the last character that belongs to the value, so the line of `end` is its last line.
    """

    value: Any
    style: str
    start: int
    end: int
    items: "tuple[Node, ...]" = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One top-level key with its value; positions count from the start of the block."""

    key: str
    key_start: int
    colon: int
    node: Node
