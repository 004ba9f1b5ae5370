"""Names of files in the storage: what a path means, and which path a new memory gets.

Paths are relative to the storage root, `/`-separated and NFC, as in `storage_backends.base`.
"""

import re
import unicodedata
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from memory_cache.errors import InvalidInput
from memory_cache.models import FileKind

CATEGORIES = ("project", "decision", "preference", "learning", "task")
DEFAULT_CATEGORY = "learning"
_SLUG_LENGTH = 50
_CATEGORY_LENGTH = 60
_NAMESPACE = uuid.UUID("5f0c9f0e-6a43-4a55-9a57-0d6f3a1b7c21")

# Names that Windows or OneDrive refuse, with any extension behind them.
_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", "clock$", "desktop", "forms"]
    + [f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³"]
)
_FORBIDDEN = re.compile(r'["*:<>?/\\|\x00-\x1f\x7f]')
_FLAT_FOLDERS = {
    "documents": (".md", FileKind.DOCUMENT),
    "patterns": (".md", FileKind.PATTERN),
    "conflicts": (".json", FileKind.CONFLICT),
    "devices": (".json", FileKind.DEVICE),
}


def kind_of(path: str) -> FileKind:
    """What the file at this path is. Raises: ValueError when the path is out of scope."""
    kind = _kind(path)
    if kind is None:
        raise ValueError(f"not a file of this store: {path}")
    return kind


def in_scope(path: str) -> bool:
    """Whether the file at this path belongs to the store; all others are left alone."""
    return _kind(path) is not None


def _kind(path: str) -> FileKind | None:
    segments = path.split("/")
    if not all(map(_ordinary, segments)):
        return None
    top, name = segments[0].lower(), segments[-1].lower()
    if len(segments) == 1:
        return FileKind.INDEX if name == "index.json" else None
    if top == "memories":
        return FileKind.MEMORY if name.endswith(".md") else None
    if len(segments) == 2 and top in _FLAT_FOLDERS:
        suffix, kind = _FLAT_FOLDERS[top]
        return kind if name.endswith(suffix) else None
    return None


def _ordinary(segment: str) -> bool:
    # Hidden files, editors' and sync clients' temporary files are nobody's memories.
    return bool(segment) and not segment.startswith((".", "~$")) and not segment.endswith(("~", ".tmp"))


def slug(title: str) -> str:
    """A file name part made from any title: letters and digits of any script, lower case, NFC,
    joined by hyphens, 1 to 50 characters, legal on every file system and on OneDrive."""
    kept: list[str] = []
    for character in unicodedata.normalize("NFC", title.lower()):
        kind = unicodedata.category(character)[0]
        # Marks (vowel signs of many scripts) only behind what they belong to.
        if kind in "LN" or (kind == "M" and kept and kept[-1] != "-"):
            kept.append(character)
        elif kept and kept[-1] != "-":
            kept.append("-")
    text = unicodedata.normalize("NFC", "".join(kept))
    if len(text) > _SLUG_LENGTH:
        text = _cut(text)
    text = text.strip("-")
    if not text:
        return "memory"
    return f"memory-{text}" if text in _RESERVED else text


def _cut(text: str) -> str:
    head = text[:_SLUG_LENGTH]
    if text[_SLUG_LENGTH] != "-" and "-" in head[_SLUG_LENGTH // 2 :]:
        head = head[: head.rindex("-")]  # between words where one is near
    while head and unicodedata.category(text[len(head)])[0] == "M":
        head = head[:-1]  # not between a letter and its mark
    return head


def valid_category(category: str) -> str:
    """The category as it is stored; the five usual ones in lower case, any other as given.

    Raises: InvalidInput when it is no single legal folder name.
    """
    text = unicodedata.normalize("NFC", category).strip()
    if text.lower() in CATEGORIES:
        return text.lower()
    legal = (
        text
        and len(text) <= _CATEGORY_LENGTH
        and not _FORBIDDEN.search(text)
        and text.isprintable()
        and not text.startswith((".", "~"))
        and not text.endswith((".", "~", ".tmp"))
        and text.split(".")[0].lower() not in _RESERVED
        and "_vti_" not in text
    )
    if not legal:
        raise InvalidInput(
            "This category cannot be used: it must be one plain folder name.",
            f"Use one of {', '.join(CATEGORIES)}, or a short name of letters, digits and hyphens.",
        )
    return text


def category_of(path: str) -> str:
    """The category that a memory's folder stands for; used when the file itself names none."""
    segments = path.split("/")
    return segments[1] if len(segments) > 2 else DEFAULT_CATEGORY


def memory_path(category: str, created: datetime, title: str, memory_id: str, taken: Callable[[str], bool]) -> str:
    """The path of a new memory: `memories/<category>/<UTC date>-<slug>-<id8>.md`, chosen once.

    `taken` says whether a path is in use. Raises: InvalidInput for an illegal category.
    """
    date = created.astimezone(UTC).strftime("%Y-%m-%d")
    stem = f"memories/{valid_category(category)}/{date}-{slug(title)}"
    plain_id = re.sub(r"[^0-9a-z]", "", memory_id.lower()) or "0"
    for tail in (plain_id[:8], plain_id[:32]):
        path = f"{stem}-{tail}.md"
        if not taken(path):
            return path
    number = 2
    while taken(f"{stem}-{plain_id[:32]}-{number}.md"):
        number += 1
    return f"{stem}-{plain_id[:32]}-{number}.md"


def date_of(path: str) -> datetime | None:
    """The day that the file name begins with, midnight UTC, or None."""
    match = re.match(r"(\d{4})-(\d\d)-(\d\d)(?!\d)", path.rsplit("/", 1)[-1], re.ASCII)
    if not match:
        return None
    try:
        return datetime(*map(int, match.groups()), tzinfo=UTC)  # type: ignore[arg-type, misc]
    except ValueError:
        return None


_COPY_MARKS = (
    re.compile(r"\.sync-conflict-\d{8}-\d{6}-[A-Z0-9]{7}$"),  # Syncthing
    re.compile(
        r"[ _]?\((?=[^()]*(?:confli|konfli))[^()]*(?:\([^()]*\)[^()]*)?\)$", re.IGNORECASE
    ),  # Dropbox, Nextcloud
    re.compile(r"_conflict-\d{8}-\d{6}$"),  # ownCloud
    re.compile(r" ?\(\d{1,3}\)$"),  # Google Drive, browsers, OneDrive on the web
)
_OWN_NAME = re.compile(r"\d{4}-\d\d-\d\d-.+-[0-9a-f]{8}")
_OWN_NAME_AND_HOST = re.compile(r"(\d{4}-\d\d-\d\d-.+-[0-9a-f]{8})-.+")
_OLD_NAME_AND_HOST = re.compile(r"(\d{4}-\d\d-\d\d-[^A-Z]+?)-[A-Z].*")
_WINDOWS_HOST = re.compile(r"(.+?)-(?:DESKTOP|LAPTOP|WIN|PC)-[A-Z0-9]{3,}(?:-\d+)?")


def conflict_copy_of(path: str) -> str | None:
    """The path this file looks like a sync client's conflict copy of, or None.

    Told by the name alone: OneDrive (`-HOST`), Dropbox and Nextcloud (`(… conflicted copy …)`),
    Syncthing (`.sync-conflict-…`), ` (1)`, also several on top of each other. The caller
    makes sure that the original exists and carries the same id.
    """
    stem, suffix = _split(path)
    original = stem
    while shorter := _without_mark(original):
        original = shorter
    return f"{original}{suffix}" if original != stem else None


_HYPHENS_OF_A_HOST = 32  # more than any host name has, and what a name without end is cut off at


def possible_originals(path: str) -> Iterator[str]:
    """Every path that this one could be a copy of, the likeliest first. Host names follow no rule
    (`note-Anna's MacBook-2.md`), so only existence and an equal id make one of them the original."""
    likely = conflict_copy_of(path)
    if likely:
        yield likely
    stem, suffix = _split(path)
    start, position = stem.rfind("/") + 1, len(stem)
    for _ in range(_HYPHENS_OF_A_HOST):
        position = stem.rfind("-", start + 1, position)
        if position < 0:
            return
        shorter = f"{stem[:position].rstrip()}{suffix}"
        if shorter != likely:
            yield shorter


def _split(path: str) -> tuple[str, str]:
    dot = path.rfind(".")
    return (path[:dot], path[dot:]) if dot > path.rfind("/") + 1 else (path, "")


def _without_mark(stem: str) -> str | None:
    folder, slash, name = stem.rpartition("/")
    shorter = None
    for mark in _COPY_MARKS:
        if match := mark.search(name):
            shorter = name[: match.start()]
            break
    else:
        if not _OWN_NAME.fullmatch(name):
            for pattern in (_OWN_NAME_AND_HOST, _OLD_NAME_AND_HOST, _WINDOWS_HOST):
                if match := pattern.fullmatch(name):
                    shorter = match[1]
                    break
    return f"{folder}{slash}{shorter}" if shorter else None


def new_id() -> str:
    """A fresh memory id."""
    return str(uuid.uuid4())


def derived_id(memory_id: str, path: str) -> str:
    """The id of a second file that carries an id already in use; the same on every device."""
    return str(uuid.uuid5(_NAMESPACE, f"{memory_id}\n{path}"))
