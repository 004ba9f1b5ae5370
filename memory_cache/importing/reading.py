"""Reading files of unknown content: bounded, tolerant, and without leaving the folder that was named."""

import csv
import io
import json
import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory_cache.clock import EPOCH
from memory_cache.drafts import MAX_CONTENT_BYTES
from memory_cache.errors import InvalidInput
from memory_cache.importing.records import Skipped
from memory_cache.text_format import parse_timestamp
from memory_cache.text_format_values import encodable

MAX_SOURCE_BYTES = 512 * 1024 * 1024
MAX_NOTE_BYTES = MAX_CONTENT_BYTES + 64 * 1024  # front matter comes on top
_MAX_FILES = 100_000
_PLACES_WITHOUT_NOTES = frozenset(["node_modules", "__pycache__", "site-packages", "venv", "target", "dist", "build"])
_MOST_BAD_LINES = 100
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_NEW_TIME = 100_000_000_000  # more than this many seconds are milliseconds


def file_bytes(path: Path, limit: int = MAX_SOURCE_BYTES) -> bytes:
    """The bytes of a regular file. Raises: InvalidInput, with the reason as its message."""
    try:
        facts = path.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise InvalidInput("It is no regular file.")
        if facts.st_size > limit:
            raise InvalidInput(f"It has {facts.st_size:,} bytes; at most {limit:,} are read.")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise InvalidInput(f"It cannot be read: {getattr(error, 'strerror', None) or error}.") from None


def text_of(data: bytes) -> tuple[str, str | None]:
    """The text of a file, and a remark when it is not UTF-8."""
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError:
        pass
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace"), "It was UTF-16 and is kept as UTF-8."
    return data.decode("cp1252", "replace"), "It was not UTF-8; it was read as Windows-1252."


def json_of(data: bytes) -> Any:
    """The JSON value in a file. Raises: InvalidInput."""
    try:
        return _loaded(text_of(data)[0].removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"It is not valid JSON: {_short(error)}.", "Export it again.") from None


def _loaded(text: str) -> Any:
    value = json.loads(text)
    return _encodable(value) if _SURROGATE.search(text) else value


def _encodable(value: Any) -> Any:
    # JSON can spell half a character; no file and no database can hold it.
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, dict):
        return {encodable(key): _encodable(item) for key, item in value.items()}
    return value


def json_lines(data: bytes) -> Iterator[tuple[int, Any]]:
    """Each line of a JSON Lines file with its number; what is no JSON comes as `InvalidInput`.

    Raises: InvalidInput when so many lines are no JSON, and none is, that this is another kind of file.
    """
    good = bad = 0
    for number, line in enumerate(text_of(data)[0].removeprefix("\ufeff").split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = _loaded(line)
            good += 1
        except (ValueError, RecursionError) as error:
            bad += 1
            value = InvalidInput(f"not valid JSON: {_short(error)}")
        if bad > _MOST_BAD_LINES and not good:
            raise InvalidInput("It is no JSON Lines file: no line is JSON.", "Name the kind of source with --from.")
        yield number, value


def csv_rows(data: bytes, needed: Collection[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Each row of a CSV file with its line number.

    Raises: InvalidInput for broken CSV, or when the header has none of the `needed` names.
    """
    before = csv.field_size_limit(MAX_SOURCE_BYTES)  # a text or a vector is longer than the usual limit
    try:
        lines = io.StringIO(text_of(data)[0].removeprefix("\ufeff"), newline="")
        reader = csv.DictReader(lines)
        if not set(needed) & set(reader.fieldnames or ()):
            raise InvalidInput(f"Its first line names none of the columns {', '.join(needed)}.")
        for row in reader:
            yield reader.line_num, {key: value for key, value in row.items() if key is not None and value is not None}
    except csv.Error as error:
        raise InvalidInput(f"It is not valid CSV: {error}.", "Export it again.") from None
    finally:
        csv.field_size_limit(before)


def _short(error: Exception) -> str:
    return str(error)[:120] if isinstance(error, ValueError) else "nested too deeply"


def walk(root: Path, suffixes: Sequence[str]) -> Iterator[Path | Skipped]:
    """Regular files with these endings below a folder, in the order of their names. Hidden folders, those of
    package managers, and links to folders are left alone. Raises: InvalidInput for far too many files."""
    count = 0
    unreadable: list[OSError] = []
    for folder, folders, names in os.walk(root, onerror=unreadable.append):
        folders[:] = sorted(name for name in folders if not _left_alone(name))
        for error in unreadable:
            yield Skipped(str(error.filename), f"It cannot be read: {error.strerror}.")
        unreadable.clear()
        for name in sorted(names):
            if name.startswith((".", "~$")) or not name.lower().endswith(tuple(suffixes)):
                continue
            count += 1
            if count > _MAX_FILES:
                raise InvalidInput(f"{root} has more than {_MAX_FILES:,} files.", "Name a smaller folder.")
            yield Path(folder, name)


def _left_alone(name: str) -> bool:
    return name.startswith(".") or name in _PLACES_WITHOUT_NOTES


def relative(path: Path, root: Path) -> str:
    """The path below a root, `/`-separated, without bytes that are no characters."""
    return encodable(path.relative_to(root).as_posix())


def tilde(path: Path, home: Path) -> str:
    """An absolute path with `~` for the home directory: the same for two machines that are set up alike."""
    try:
        return encodable(f"~/{path.relative_to(home).as_posix()}")
    except ValueError:
        return encodable(path.as_posix())


def modified(path: Path) -> datetime | None:
    """When a file was last written, to the second."""
    try:
        return datetime.fromtimestamp(int(path.stat().st_mtime), UTC)
    except (OSError, ValueError, OverflowError):
        return None


def moment(value: Any) -> datetime | None:
    """The time that a source means: ISO-8601 text, or seconds or milliseconds since 1970. None when it is no time."""
    if isinstance(value, str):
        found = parse_timestamp(value)
        if found is not None or not value.strip().isdigit():
            return found
        value = int(value.strip()) if len(value.strip()) < 20 else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = datetime.fromtimestamp(value / 1000 if abs(value) >= _NEW_TIME else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return found if found > EPOCH else None


def words(value: Any) -> tuple[str, ...]:
    """A list of texts: a JSON list, a JSON list as text, a PostgreSQL array `{a,"b c"}`, or `a, b`."""
    if isinstance(value, str):
        text = value.strip()
        if text.startswith("["):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                value = text.strip("[]").split(",")
        elif text.startswith("{") and text.endswith("}"):
            value = _postgres_array(text[1:-1])
        else:
            value = text.split(",")
    if not isinstance(value, list | tuple):
        return ()
    stripped = (item.strip() for item in value if isinstance(item, str))
    return tuple(dict.fromkeys(item for item in stripped if item))


def _postgres_array(inner: str) -> list[str]:
    try:
        rows = list(csv.reader([inner], doublequote=False, escapechar="\\"))
    except csv.Error:
        return []
    return [item for item in (rows[0] if rows else []) if item != "NULL"]


def one_line(text: str, length: int = 100) -> str:
    """A text on one line, cut."""
    flat = " ".join(text[: length * 4].split())
    return flat if len(flat) <= length else f"{flat[: length - 1].rstrip()}…"
