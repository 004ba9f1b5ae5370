"""Open conflicts: files of their own that hold the losing version of a memory whole.

A record is named by its memory and the hash of the losing text, so two devices that merge the same pair
write one file. Resolving a conflict deletes its file, everywhere, as long as nobody else has come to rely on it since.
"""

import json
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from memory_cache import problems, text_format
from memory_cache.clock import EPOCH, from_text, to_text
from memory_cache.errors import AmbiguousId, UnknownMemory
from memory_cache.hashing import content_hash
from memory_cache.models import Conflict
from memory_cache.problems import Code
from memory_cache.search.filters import beginning_with


@dataclass(frozen=True, slots=True)
class ConflictRecord:
    """What one conflict file says.

    Attributes:
        path: of the memory's file.
        device: name of the device whose version lost; may be empty.
        at: when the two versions met.
        base: the whole file at their common ancestor; None when unknown.
        theirs: the whole losing file.
        kept_by: the devices that count on this record to hold the losing version, by id, and since when. What
            stands at one of them may be another text than at another.
    """

    memory_id: str
    path: str
    device: str
    at: datetime
    base: bytes | None
    theirs: bytes
    kept_by: Mapping[str, datetime] = field(default_factory=dict)


def path_of(record: ConflictRecord) -> str:
    """Where the record is kept: `conflicts/<memory id8>-<hash8 of the losing text>.json`."""
    short = re.sub(r"[^0-9a-z]", "", record.memory_id.lower())[:8] or "0"
    return f"conflicts/{short}-{content_hash(record.theirs)[:8]}.json"


def encode(record: ConflictRecord) -> bytes:
    """The record as the bytes of its file; the same record always gives the same bytes."""
    fields = {
        "memory_id": record.memory_id,
        "path": record.path,
        "device": record.device,
        "at": to_text(record.at),
        "base": None if record.base is None else _text(record.base),
        "theirs": _text(record.theirs),
        "kept_by": {device: to_text(at) for device, at in sorted(record.kept_by.items())},
    }
    return (json.dumps(fields, indent=2) + "\n").encode("ascii")


def decode(data: bytes) -> ConflictRecord:
    """The record of a conflict file. Raises: ValueError when it is none."""
    fields = json.loads(data.decode("utf-8-sig"))
    if not isinstance(fields, dict):
        raise TypeError("not an object")
    theirs, memory_id, base = fields.get("theirs"), fields.get("memory_id"), fields.get("base")
    if not isinstance(theirs, str) or not isinstance(memory_id, str) or not isinstance(base, str | None):
        raise TypeError("memory_id, theirs or base is missing")
    return ConflictRecord(
        memory_id=memory_id,
        path=str(fields.get("path") or ""),
        device=str(fields.get("device") or ""),
        at=_moment(fields.get("at")),
        base=None if base is None else _bytes(base),
        theirs=_bytes(theirs),
        kept_by=_keepers(fields.get("kept_by")),
    )


def merge(one: bytes, other: bytes) -> bytes | None:
    """What two records of one losing version become; None when they are no such pair.

    Who settles a conflict deletes the record that he saw. The text that stands where another device counts on it
    may be one that he has not seen; so each device changes the record, and a changed record outlives his delete.
    """
    try:
        first, second = decode(one), decode(other)
    except (ValueError, TypeError, RecursionError):
        return None
    if (first.memory_id, first.theirs) != (second.memory_id, second.theirs):
        return None
    later = max(first, second, key=lambda record: (record.at, encode(record)))
    since = {
        device: max(record.kept_by[device] for record in (first, second) if device in record.kept_by)
        for device in {*first.kept_by, *second.kept_by}
    }
    return encode(replace(later, kept_by=since))


def _text(data: bytes) -> str:
    # Bytes that are no UTF-8 survive as lone surrogates, which JSON can escape.
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _keepers(fields: object) -> dict[str, datetime]:
    return {str(device): _moment(at) for device, at in fields.items()} if isinstance(fields, dict) else {}


def _moment(text: object) -> datetime:
    try:
        moment = datetime.fromisoformat(str(text))
        return from_text(to_text(moment))
    except (ValueError, OverflowError):
        return EPOCH


def refresh(connection: sqlite3.Connection, file_id: int, path: str, content: bytes) -> None:
    """Derive the open conflict from its file."""
    remove(connection, file_id)
    try:
        record = decode(content)
    except (ValueError, TypeError, RecursionError) as error:
        problems.put(connection, file_id, Code.UNREADABLE, f"This conflict record cannot be read ({error}).")
        return
    connection.execute(
        "INSERT INTO conflicts (file_id, id, memory_id, theirs, base, device, at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            file_id,
            path.rsplit("/", 1)[-1].removesuffix(".json"),
            record.memory_id,
            record.theirs.decode("utf-8", "replace"),
            None if record.base is None else record.base.decode("utf-8", "replace"),
            record.device,
            to_text(record.at),
        ),
    )


def remove(connection: sqlite3.Connection, file_id: int) -> None:
    """The conflict of this file is no more."""
    connection.execute("DELETE FROM conflicts WHERE file_id = ?", (file_id,))


_SELECT = """
SELECT c.*, (SELECT f.content FROM memories m JOIN files f ON f.file_id = m.file_id WHERE m.id = c.memory_id) AS mine
FROM conflicts c
"""


def listed(connection: sqlite3.Connection) -> list[Conflict]:
    """All open conflicts, the oldest first."""
    return [_conflict(row) for row in connection.execute(f"{_SELECT} ORDER BY c.at, c.id")]


def count(connection: sqlite3.Connection) -> int:
    """How many there are."""
    return int(connection.execute("SELECT count(*) FROM conflicts").fetchone()[0])


def find(connection: sqlite3.Connection, text: str) -> tuple[int, Conflict]:
    """File id and conflict of this id, prefix of an id, or id of a memory that has one open conflict.

    Raises: UnknownMemory when there is none; AmbiguousId.
    """
    wanted = text.strip()
    rows = connection.execute(
        f"{_SELECT} WHERE ?1 <> '' AND (c.id LIKE ?2 ESCAPE '\\' OR c.memory_id LIKE ?2 ESCAPE '\\') ORDER BY c.id",
        (wanted, beginning_with(wanted)),
    ).fetchall()
    exact = [row for row in rows if row["id"] == wanted] or rows
    if not exact:
        raise UnknownMemory("There is no open conflict with this id.", "List the open conflicts for their ids.")
    if len(exact) > 1:
        ids = ", ".join(row["id"] for row in exact[:10])
        raise AmbiguousId(f"Several open conflicts begin with {wanted}: {ids}.", "Give one of these ids in full.")
    return int(exact[0]["file_id"]), _conflict(exact[0])


def of_memory(connection: sqlite3.Connection, memory_id: str) -> list[int]:
    """File ids of the open conflicts of this memory."""
    return [row[0] for row in connection.execute("SELECT file_id FROM conflicts WHERE memory_id = ?", (memory_id,))]


def _conflict(row: sqlite3.Row) -> Conflict:
    mine = row["mine"]
    return Conflict(
        id=row["id"],
        memory_id=row["memory_id"],
        title=text_format.read(mine if mine is not None else row["theirs"].encode()).title,
        mine="" if mine is None else mine.decode("utf-8", "replace"),
        theirs=row["theirs"],
        base=row["base"],
        device=row["device"],
        at=from_text(row["at"]),
    )
