"""Who saved which line: every text that anybody saves carries lines with marks that occur nowhere else.

A mark may vanish from the world only when somebody who had seen it saved a text without it, deleted what held it, or
settled a conflict against it; or when the only place that held it, an unsynced cache, was destroyed.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from memory_cache import text_format

_MARK = re.compile(rb"mark\d+")


def marks_of(*texts: bytes | None) -> set[bytes]:
    """The marks in these texts."""
    return {mark for text in texts if text for mark in _MARK.findall(text)}


@lru_cache(maxsize=4096)
def id_of(data: bytes) -> str | None:
    """The memory that this file holds. Kept, because the whole world is asked for it again and again."""
    return text_format.read(data).id


@dataclass
class Book:
    """All marks ever saved, and those that may be missing in the end."""

    saved: dict[bytes, str] = field(default_factory=dict)
    retired: dict[bytes, str] = field(default_factory=dict)
    gone: dict[str, str] = field(default_factory=dict)
    in_step: Callable[[str], bool] = lambda memory_id: False
    number: int = 0

    def new_mark(self) -> str:
        """A mark that occurs nowhere yet."""
        self.number += 1
        return f"mark{self.number}"

    def save(self, who: str, seen: Iterable[bytes | None], written: bytes | None) -> None:
        """Somebody who had seen these texts saved this one (None: deleted them)."""
        before, after = marks_of(*seen), marks_of(written)
        for mark in after - before:
            self.saved.setdefault(mark, who)
        for mark in before - after:
            self.retired[mark] = who
        if written is not None:
            self.touch(written)

    def touch(self, data: bytes) -> None:
        """Somebody changed this file, perhaps not its marks: to delete it before was not the last word."""
        self.gone.pop(id_of(data) or "", None)

    def delete(self, who: str, data: bytes | None) -> None:
        """Somebody is about to delete this file. When all the world has it in step, it has to stay deleted."""
        memory_id = id_of(data or b"")
        if memory_id is not None and self.in_step(memory_id):
            self.gone[memory_id] = who

    def resurrected(self, files: dict[str, bytes]) -> dict[str, str]:
        """Memories that are there although nobody touched them since they were deleted in the sight of all."""
        ids = {id_of(data) for path, data in files.items() if path.startswith("memories/")}
        return {memory_id: who for memory_id, who in self.gone.items() if memory_id in ids}

    def destroyed(self, what: str, marks: Iterable[bytes]) -> None:
        """The only place that held these marks was destroyed."""
        for mark in marks:
            self.retired.setdefault(mark, what)

    def missing(self, files: dict[str, bytes]) -> dict[str, str]:
        """Marks that are neither in a file nor in an open conflict nor given up, with who saved them."""
        present = set()
        for path, data in files.items():
            present |= marks_of(_theirs(data)) if path.startswith("conflicts/") else marks_of(data)
        lost = self.saved.keys() - present - self.retired.keys()
        return {mark.decode(): self.saved[mark] for mark in sorted(lost)}


def _theirs(data: bytes) -> bytes:
    try:
        return str(json.loads(data)["theirs"]).encode("utf-8", "surrogatepass")
    except (ValueError, KeyError, TypeError):
        return data
