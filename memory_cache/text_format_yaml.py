"""The entries of front matter, by a YAML parser, each with its place.

YAML is read as a stream of events with positions: no objects are ever made from tags, nothing is
executed, an alias is never expanded more than once, and the depth is bounded.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import yaml

from memory_cache.text_format_block import MAX_BLOCK, Entry, Node, Unreadable

_MAX_DEPTH = 40
_MAX_EVENTS = 20_000
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULLS = frozenset(["", "~", "null", "Null", "NULL"])


def entries_of(block: str) -> list[Entry] | None:
    """The top-level entries of a front matter block; None when it is no mapping (prose between rules).

    Raises: Unreadable for broken YAML, one-line `{…}` mappings, double keys, and anything excessive.
    """
    if len(block) > MAX_BLOCK:
        raise Unreadable(f"the front matter is longer than {MAX_BLOCK // 1024} KiB")
    try:
        return _Reader(block).entries()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 2}" if mark else "somewhere"
        raise Unreadable(f"the front matter is not valid YAML ({where}: {error.problem})") from None
    except (yaml.YAMLError, UnicodeError):
        raise Unreadable("the front matter holds characters that YAML does not allow") from None


class _Reader:
    def __init__(self, block: str) -> None:
        self._block = block
        self._events: Iterator[Any] = islice(yaml.parse(block, Loader=_LOADER), _MAX_EVENTS)
        self._anchors: dict[str, Any] = {}

    def entries(self) -> list[Entry] | None:
        event = self._next()
        while isinstance(event, (yaml.StreamStartEvent, yaml.DocumentStartEvent)):
            event = self._next()
        if isinstance(event, yaml.StreamEndEvent):
            return []
        if not isinstance(event, yaml.MappingStartEvent):
            self._node(event, 0)
            self._expect_end()
            return None
        if event.flow_style:
            raise Unreadable("the front matter is one flow mapping; write one key per line")
        found: list[Entry] = []
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            found.append(self._entry(event))
        self._expect_end()
        if len({entry.key for entry in found}) < len(found):
            raise Unreadable("the front matter has the same key twice")
        return found

    def _entry(self, event: Any) -> Entry:
        key = self._node(event, 0)
        if not isinstance(key.value, str) or "\n" in self._block[key.start : key.end]:
            raise Unreadable("the front matter has a key that is no plain word")
        node = self._node(self._next(), 0)
        colon = self._block.find(":", key.end)
        return Entry(key.value, key.start, colon, node)

    def _expect_end(self) -> None:
        if not isinstance(self._next(), yaml.DocumentEndEvent) or not isinstance(self._next(), yaml.StreamEndEvent):
            raise Unreadable("the front matter holds more than one document")

    def _next(self) -> Any:
        event = next(self._events, None)
        if event is None:
            raise Unreadable("the front matter has too many entries")
        return event

    def _node(self, event: Any, depth: int) -> Node:
        if depth > _MAX_DEPTH:
            raise Unreadable("the front matter is nested too deeply")
        start, end = event.start_mark.index, event.end_mark.index
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise Unreadable("the front matter refers to an anchor that it does not have")
            return Node(self._anchors[event.anchor], "alias", start, end)
        if isinstance(event, yaml.ScalarEvent):
            node = self._scalar(event, start, end)
        else:
            node = self._collection(event, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = _shareable(node.value, event.anchor)
        return node

    def _scalar(self, event: Any, start: int, end: int) -> Node:
        if event.style in ("|", ">"):
            while end > start and self._block[end - 1] in "\r\n":
                end -= 1
            return Node(event.value, "literal", start, end)
        if event.style in ("'", '"'):
            return Node(event.value, "quoted", start, end)
        return Node(None if event.value in _NULLS else event.value, "plain", start, end)

    def _collection(self, event: Any, depth: int) -> Node:
        start, style = event.start_mark.index, "flow" if event.flow_style else "block"
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        closing: Any = yaml.MappingEndEvent if is_mapping else yaml.SequenceEndEvent
        children: list[Node] = []
        while not isinstance(event := self._next(), closing):
            children.append(self._node(event, depth + 1))
        end = event.end_mark.index if style == "flow" else max((child.end for child in children), default=start)
        if is_mapping:
            value: Any = {str(k.value): v.value for k, v in zip(children[::2], children[1::2], strict=True)}
            return Node(value, style, start, end)
        return Node([child.value for child in children], style, start, end, tuple(children))


def _shareable(value: Any, anchor: str) -> Any:
    # What an alias to a nested collection stands for stays opaque: copies of copies would grow without bound.
    simple = isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value))
    return value if simple or value is None else {f"*{anchor}": None}
