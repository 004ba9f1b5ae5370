"""A mermaid diagram of linked memories."""

import re
from collections.abc import Sequence

from memory_cache.models import Memory

_LABEL_LENGTH = 50
# What mermaid could take for syntax, markdown or a formula, or a browser for markup, inside a quoted label.
_ESCAPES = {character: f"#{ord(character)};" for character in '"#&<>`\\;{}[]()|%*_~$'}
_LIST_MARK = re.compile(r"([-+]|\d+(?=[.)]))")


def label(text: str) -> str:
    """A text as a quoted label that renders as it is, on one line."""
    flat = " ".join(text.split())
    short = flat if len(flat) <= _LABEL_LENGTH else flat[: _LABEL_LENGTH - 1].rstrip() + "…"
    escaped = "".join(_ESCAPES.get(character, character) for character in short) or "untitled"
    mark = _LIST_MARK.match(short)
    if mark:  # "1. first" and "- first" would be lists, which labels do not show
        escaped = f"#8203;{escaped}"
    return f'"{escaped}"'


def diagram(memories: Sequence[Memory], edges: Sequence[tuple[str, str]], most: int) -> tuple[str, int]:
    """The diagram of at most `most` memories, in their order, with each link once; how many are left out."""
    shown = list(memories)[:most]
    names = {memory.id: f"m{number}" for number, memory in enumerate(shown)}
    lines = ["graph LR"]
    lines += [f"  {names[memory.id]}[{label(memory.title)}]" for memory in shown]
    drawn = {tuple(sorted(edge)) for edge in edges if edge[0] in names and edge[1] in names and edge[0] != edge[1]}
    order = {memory_id: number for number, memory_id in enumerate(names)}
    for first, second in sorted(drawn, key=lambda edge: (order[edge[0]], order[edge[1]])):
        lines.append(f"  {names[first]} --- {names[second]}")
    return "\n".join(lines), len(memories) - len(shown)
