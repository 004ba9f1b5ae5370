"""Changes to a front matter block that leave every other character as it is.

A block is edited by replacing slices of it: the value of a scalar, single items of a list, whole lines of
an entry that is added or removed. Comments, order, quoting and line ends outside these slices stay.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from memory_cache.text_format_block import Entry, Node, Unreadable
from memory_cache.text_format_values import KEYS, Value, as_list, literal, spell


class Source(str):
    """The lines of one entry exactly as another file has them, key and comments included.

    Given to `rewrite` in place of a value, it carries an entry over from one version to another.
    """

    __slots__ = ()


@dataclass(slots=True)
class Editor:
    """Collects edits of one block and applies them at once. `newline` is the file's line end."""

    block: str
    entries: list[Entry]
    newline: str
    _edits: list[tuple[int, int, str]] = field(default_factory=list)

    def change(self, values: Mapping[str, Value | Source], remove: Collection[str]) -> str:
        """The block with these entries set and those removed. Raises: Unreadable when edits collide."""
        known = {entry.key: entry for entry in self.entries}
        for key in remove:
            if key in known:
                start, end = self._lines(known[key])
                self._replace(start, self._behind_comments(end, known[key].key_start - start), "")
        for key in sorted(values, key=lambda name: (_rank(name), name)):
            if key in known:
                self._set(known[key], values[key])
            else:
                self._insert(key, values[key], known)
        return self._applied()

    def source(self, entry: Entry) -> Source:
        """The entry's own lines, with `\\n` as line end."""
        start, end = self._lines(entry)
        return Source(self.block[start:end].replace("\r\n", "\n"))

    def _replace(self, start: int, end: int, text: str) -> None:
        self._edits.append((start, end, text))

    def _applied(self) -> str:
        pieces: list[str] = []
        position = 0
        for start, end, text in sorted(self._edits, key=lambda edit: edit[:2]):
            if start < position:
                raise Unreadable("the front matter cannot be changed without touching other entries")
            pieces += (self.block[position:start], text)
            position = end
        return "".join([*pieces, self.block[position:]])

    def _line_start(self, position: int) -> int:
        return self.block.rfind("\n", 0, position) + 1

    def _line_end(self, position: int) -> int:
        """Behind the line end of the line that `position` is in."""
        found = self.block.find("\n", position)
        return len(self.block) if found < 0 else found + 1

    def _lines(self, entry: Entry) -> tuple[int, int]:
        return self._line_start(entry.key_start), self._line_end(max(entry.node.end, entry.colon))

    def _behind_comments(self, position: int, indent: int) -> int:
        """Behind the comment lines that are indented under an entry: they are about it, and without it
        they could become text of the entry before."""
        comment = re.compile(rf"[ \t]{{{indent + 1},}}#")
        while comment.match(self.block, position):
            position = self._line_end(position)
        return position

    def _set(self, entry: Entry, value: Value | Source) -> None:
        if isinstance(value, Source):
            self._replace(*self._lines(entry), self._as_lines(value))
            return
        node = entry.node
        if not isinstance(value, str) and isinstance(value, Sequence):
            if node.items and all(isinstance(item.value, str) for item in node.items):
                self._set_items(entry, tuple(value))
                return
            if as_list(node.value) == tuple(value) and node.value:
                return
        text = spell(value)
        if node.style == "plain" and node.start == node.end:
            self._replace(entry.colon + 1, entry.colon + 1, f" {text}")
        elif node.style == "block":
            self._replace(entry.colon + 1, entry.colon + 1, f" {text}")
            first = self._line_end(entry.colon)
            self._replace(first, max(first, self._line_end(node.end)), "")
        else:
            self._replace(node.start, node.end, text)

    def _insert(self, key: str, value: Value | Source, known: Mapping[str, Entry]) -> None:
        indent = ""
        if self.entries:
            first = self.entries[0].key_start
            indent = self.block[self._line_start(first) : first]
        line = self._as_lines(value) if isinstance(value, Source) else f"{indent}{key}: {spell(value)}{self.newline}"
        before = [known[name] for name in KEYS[: _rank(key)] if name in known]
        if key not in KEYS:
            position = len(self.block)
        elif before:
            position = self._lines(max(before, key=lambda entry: entry.key_start))[1]
        elif self.entries:
            position = self._line_start(self.entries[0].key_start)
        else:
            position = len(self.block)
        self._replace(position, position, line)

    def _as_lines(self, source: Source) -> str:
        text = source if source.endswith("\n") else f"{source}\n"
        return text.replace("\n", self.newline) if self.newline != "\n" else str(text)

    def _set_items(self, entry: Entry, wanted: tuple[str, ...]) -> None:
        node = entry.node
        if as_list(node.value) == wanted:
            return
        kept: dict[str, Node] = {}
        for item in node.items:
            if item.value.strip() in wanted:
                kept.setdefault(item.value.strip(), item)
        added = wanted[len(kept) :]
        if not kept or tuple(kept) + added != wanted or any(item in kept for item in added):
            self._rebuild(entry, wanted, kept)
        elif node.style == "flow":
            self._edit_flow(node, list(kept.values()), added)
        else:
            self._edit_block(node, list(kept.values()), added)

    def _rebuild(self, entry: Entry, wanted: tuple[str, ...], kept: Mapping[str, Node]) -> None:
        node = entry.node
        spelled = [self._slice(kept[item]) if item in kept else literal(item) for item in wanted]
        if node.style == "flow":
            self._replace(node.start, node.end, f"[{', '.join(spelled)}]")
            return
        start, end = self._line_start(node.items[0].start), self._line_end(node.end)
        if not wanted:
            self._replace(entry.colon + 1, entry.colon + 1, " []")
            self._replace(start, end, "")
            return
        dash = self._dash(node.items[0])
        self._replace(start, end, "".join(f"{dash}{item}{self.newline}" for item in spelled))

    def _slice(self, item: Node) -> str:
        text = self.block[item.start : item.end]
        return literal(item.value) if "\n" in text or item.style == "literal" else text

    def _edit_flow(self, node: Node, kept: list[Node], added: tuple[str, ...]) -> None:
        items = node.items
        last = max(index for index, item in enumerate(items) if item in kept)
        for index, item in enumerate(items):
            if item not in kept and index < last:
                self._replace(item.start, items[index + 1].start, "")
        tail = "".join(f", {literal(item)}" for item in added)
        self._replace(items[last].end, items[-1].end, tail)

    def _edit_block(self, node: Node, kept: list[Node], added: tuple[str, ...]) -> None:
        for item in node.items:
            if item not in kept:
                self._replace(self._line_start(self._dash_at(item)), self._line_end(item.end), "")
        dash = self._dash(node.items[0])
        position = self._line_end(kept[-1].end)
        self._replace(position, position, "".join(f"{dash}{literal(item)}{self.newline}" for item in added))

    def _dash_at(self, item: Node) -> int:
        return self.block.rfind("-", 0, item.start)

    def _dash(self, item: Node) -> str:
        """Indentation, dash and space in front of a list item."""
        match = re.match(r"[ \t]*-[ \t]+", self.block[self._line_start(item.start) : item.start])
        if not match:
            raise Unreadable("the front matter has a list in a form that cannot be changed safely")
        return match[0]


def _rank(key: str) -> int:
    return KEYS.index(key) if key in KEYS else len(KEYS)
