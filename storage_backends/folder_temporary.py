"""Names of our own temporary files. All we need to know to clear up after a killed process is in the name.

Sync clients and editors' indexers leave such names alone (`.~…`, `….tmp`), and so does `names.is_temporary`.
"""

import re
import secrets
from dataclasses import dataclass
from enum import StrEnum

from storage_backends.names import MAX_NAME_BYTES

LEFTOVER_SECONDS = 600.0
"""Age from which a temporary file of ours belongs to a process that died."""

_NAME = re.compile(
    r"\.~claude-memory-(?P<stage>[wrud])-(?P<seen>[0-9a-f]{20}|none)-(?P<ours>[0-9a-f]{20}|none)-[0-9a-f]{8}-"
    r"(?P<original>.+)\.tmp",
    re.DOTALL,
)


class Stage(StrEnum):
    """What is in a temporary file.

    WRITING: our bytes, perhaps half written. READY: our bytes, whole; or what they displaced. AWAITED: a file whose
    successor is about to take its name. DELETED: a file that is about to go.
    """

    WRITING = "w"
    READY = "r"
    AWAITED = "u"
    DELETED = "d"


@dataclass(frozen=True, slots=True)
class Leftover:
    """What a temporary name tells.

    Attributes:
        seen: digest of the version that was to be replaced or deleted, or "none".
        ours: digest of the bytes that were to be written, or "none".
        original: name of the file it was about; shortened when it was very long.
    """

    stage: Stage
    seen: str
    ours: str
    original: str

    @property
    def hides(self) -> bool:
        """The file `original` is not gone, although nothing has its name right now."""
        return self.stage in (Stage.AWAITED, Stage.DELETED)


def temporary_name(stage: Stage, original: str, *, seen: str = "none", ours: str = "none") -> str:
    """A new name, used by nobody."""
    head = f".~claude-memory-{stage}-{seen}-{ours}-{secrets.token_hex(4)}-"
    room = MAX_NAME_BYTES - len(head) - len(".tmp")
    shortened = original.encode("utf-8", "surrogateescape")[:room].decode("utf-8", "ignore")
    return f"{head}{shortened}.tmp"


def parse(name: str) -> Leftover | None:
    """None when the name is not one of ours."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return Leftover(Stage(match["stage"]), match["seen"], match["ours"], match["original"])
