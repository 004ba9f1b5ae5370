"""A markdown file taken apart into what merges on its own: each front-matter entry as it is written
(comments above it, quoting and continuation lines included), the body's lines, line ends, byte-order mark.

Put together again without a change, the parts give the same bytes, mixed line ends excepted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from memory_cache.text_format_block import BOM, Layout, Unreadable, divide
from memory_cache.text_format_yaml import entries_of

TAIL = "\ntail"  # the key of what stands below the last entry; no real key begins so


@dataclass(frozen=True, slots=True)
class Parts:
    """One file, taken apart.

    Attributes:
        entries: key → its lines, in file order; empty without front matter.
        fences: the two `---` lines; None without front matter.
    """

    bom: bool
    newline: str
    final_newline: bool
    fences: tuple[str, str] | None
    entries: Mapping[str, tuple[str, ...]]
    body: tuple[str, ...]

    def join(self) -> bytes:
        """The bytes of the file."""
        lines = list(self.body)
        if self.fences is not None:
            written = [line for entry in self.entries.values() for line in entry]
            lines = [self.fences[0], *written, self.fences[1], *lines]
        text = self.newline.join(lines) + (self.newline if self.final_newline and lines else "")
        return ((BOM if self.bom else "") + text).encode()


def take_apart(data: bytes, *, front_matter: bool) -> Parts | None:
    """The parts of these bytes; None when they cannot be told apart safely.

    `front_matter`: whether the reader of the format found a readable block.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    bom = text.startswith(BOM)
    newline = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    text = text.removeprefix(BOM).replace("\r\n", "\n")
    layout = divide(text)
    if not front_matter:
        body, final = _lines(text)
        return Parts(bom, newline, final, None, MappingProxyType({}), body)
    if layout.block is None:
        return None
    try:
        entries = _entries(layout)
    except Unreadable:
        return None
    if entries is None:
        return None
    body, final = _lines(text[layout.body :])
    fences = (text[: layout.block[0]].rstrip("\n"), text[layout.block[1] : layout.body].rstrip("\n"))
    final = final if body else text.endswith("\n")
    return Parts(bom, newline, final, fences, MappingProxyType(entries), body)


def _lines(text: str) -> tuple[tuple[str, ...], bool]:
    """The lines, and whether the last one is ended."""
    lines = text.split("\n")
    final = lines[-1] == ""
    return tuple(lines[:-1] if final else lines), final


def _entries(layout: Layout) -> dict[str, tuple[str, ...]] | None:
    start, end = layout.block or (0, 0)
    block = layout.text[start:end]
    keys = entries_of(block)
    if keys is None:
        return None
    lines, _ = _lines(block)
    starts = [block.count("\n", 0, entry.key_start) for entry in keys]
    ends = [block.count("\n", 0, max(entry.node.end, entry.colon)) + 1 for entry in keys]
    entries: dict[str, tuple[str, ...]] = {}
    position = 0
    for number, entry in enumerate(keys):
        if starts[number] < position:
            return None  # two keys on one line
        # Comments and blank lines belong to the key that follows them.
        entries[entry.key] = lines[position : ends[number]]
        position = ends[number]
    if lines[position:]:
        entries[TAIL] = lines[position:]
    return entries
