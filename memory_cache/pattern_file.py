"""A skill pattern as a file: `patterns/<slug>-<id8>.md`, its description and the set of its occurrences.

A pattern is seen again on any device at any time. Each sighting is an entry of its own with its own id, and
two versions of a file are merged by uniting their entries: counts add up, and never race.

    <description>

    ## Seen 2026-11-30T10:00:00.000Z on laptop · 3f2a9c1d4e5f6071

    <example>
"""

import re
from dataclasses import dataclass, replace
from datetime import datetime

from memory_cache import paths, text_format
from memory_cache.clock import EPOCH, to_text
from memory_cache.hashing import content_hash
from memory_cache.project import key_of

_SEEN = re.compile(r"^## Seen (?P<at>\S+) on (?P<device>.*) · (?P<id>[0-9a-f]{16})[ \t]*$", re.MULTILINE)
_LOOKS_SEEN = re.compile(r"^(\\*)## Seen ", re.MULTILINE)
_ESCAPED = re.compile(r"^\\(\\*)## Seen ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One sighting. `example` may be empty."""

    id: str
    at: datetime
    device: str
    example: str


@dataclass(frozen=True, slots=True)
class PatternFile:
    """What a pattern's file says. Without a project it is global. `skill_at`: when a skill was made of it."""

    id: str
    description: str
    category: str
    created: datetime
    updated: datetime
    project_id: str | None = None
    project_name: str | None = None
    skill_at: datetime | None = None
    occurrences: tuple[Occurrence, ...] = ()

    @property
    def path(self) -> str:
        """Where the pattern is kept; chosen once, from its first description."""
        return f"patterns/{paths.slug(text_format.title_of(self.description))}-{self.id[:8]}.md"


def new_id(description: str, category: str, project_id: str | None) -> str:
    """The id of a pattern first described so: two devices that note the same words note one pattern."""
    words = " ".join(description.casefold().split())
    scope = key_of(project_id) if project_id else ""
    return content_hash(f"{category}\n{scope}\n{words}".encode("utf-8", "replace"))[:32]


def occurrence(at: datetime, device: str, example: str) -> Occurrence:
    """A sighting with its id."""
    device = " ".join(device.split()) or "?"
    example = example.replace("\r\n", "\n").strip()
    digest = content_hash(f"{to_text(at)}\n{device}\n{example}".encode("utf-8", "replace"))
    return Occurrence(digest[:16], at, device, example)


def encode(pattern: PatternFile, onto: bytes | None = None) -> bytes:
    """The bytes of the file; the same pattern always gives the same bytes.

    Written `onto` an earlier version, what that one holds beside (comments, unknown keys) stays.
    """
    mark = to_text(pattern.skill_at) if pattern.skill_at else None
    if onto is not None and text_format.read(onto).problem is None:
        changes: dict[str, text_format.Value | text_format.Source | None] = {
            "id": pattern.id, "created": pattern.created, "updated": pattern.updated, "skillAt": mark,
        }  # fmt: skip
        return text_format.rewrite(onto, set=changes, body=_body(pattern))
    data = text_format.render(
        id=pattern.id,
        category=pattern.category,
        tags=(),
        created=pattern.created,
        updated=pattern.updated,
        body=_body(pattern),
        project_id=pattern.project_id,
        project_name=pattern.project_name,
    )
    return data if mark is None else text_format.rewrite(data, set={"skillAt": mark})


def _body(pattern: PatternFile) -> str:
    parts = [_LOOKS_SEEN.sub(r"\\\1## Seen ", pattern.description.strip())]
    for seen in sorted(pattern.occurrences, key=lambda entry: (entry.at, entry.id)):
        parts.append(f"## Seen {to_text(seen.at)} on {seen.device} · {seen.id}")
        if seen.example:
            parts.append(_LOOKS_SEEN.sub(r"\\\1## Seen ", seen.example))
    return "\n\n".join(parts)


def decode(data: bytes) -> PatternFile:
    """Understand a file as far as possible; any bytes are safe. Text before the first sighting is the description."""
    parsed = text_format.read(data)
    heads = list(_SEEN.finditer(parsed.body))
    description = _plain(parsed.body[: heads[0].start()] if heads else parsed.body) or parsed.title
    found: dict[str, Occurrence] = {}
    ends = [*(head.start() for head in heads[1:]), len(parsed.body)]
    for head, end in zip(heads, ends, strict=False):
        example = _plain(parsed.body[head.end() : end])
        at = text_format.parse_timestamp(head["at"]) or EPOCH
        found.setdefault(head["id"], Occurrence(head["id"], at, head["device"], example))
    created = parsed.created or parsed.updated or EPOCH
    category = parsed.category or "custom"
    return PatternFile(
        id=parsed.id or new_id(description, category, parsed.project_id),
        description=description,
        category=category,
        created=created,
        updated=parsed.updated or created,
        project_id=parsed.project_id,
        project_name=parsed.project_name,
        skill_at=_moment(parsed.unknown.get("skillAt")),
        occurrences=tuple(sorted(found.values(), key=lambda entry: (entry.at, entry.id))),
    )


def merge(a: bytes, b: bytes) -> bytes:
    """What two versions of one pattern's file become, whatever they had in common: the same from both sides.

    Sightings are united, the earliest mark as a skill counts, the words are those of the later version. Files of
    two different patterns are not merged: the later one stands.
    """
    earlier, later = sorted((a, b), key=lambda data: (decode(data).updated, content_hash(data)))
    old, new = decode(earlier), decode(later)
    if old.id != new.id:
        return later
    united = {entry.id: entry for entry in (*old.occurrences, *new.occurrences)}
    marks = [mark for mark in (old.skill_at, new.skill_at) if mark is not None]
    joined = replace(
        new,
        created=min(old.created, new.created),
        skill_at=min(marks, default=None),
        occurrences=tuple(sorted(united.values(), key=lambda entry: (entry.at, entry.id))),
    )
    if joined == new:
        return later
    return earlier if joined == old else encode(joined, later)


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1## Seen ", text.strip("\n")).strip()


def _moment(value: object) -> datetime | None:
    return text_format.parse_timestamp(value) if isinstance(value, str) else None
