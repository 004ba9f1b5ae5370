"""From a record to the bytes of a memory. Pure.

A note's file carries a line `imported: "<kind> <fingerprint> <device>"`. The fingerprint is that of what was
imported: it tells later whether the memory was edited since, and whether the source has changed.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from memory_cache import drafts, paths, private, secrets_scan, text_format
from memory_cache.clock import EPOCH
from memory_cache.drafts import SecretsPolicy
from memory_cache.errors import InvalidInput
from memory_cache.importing.placement import Filed
from memory_cache.importing.records import Extra, Note
from memory_cache.search.filters import tag_key
from memory_cache.text_format import ParsedFile, Source
from memory_cache.text_format_values import encodable

MARK = "imported"


@dataclass(frozen=True, slots=True)
class Composed:
    """A memory ready to be stored: its file, and what is asked of it on the way."""

    id: str
    filed: Filed
    body: str
    data: bytes
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a memory came from. `fingerprint` is of the fields as they were imported; `device` imported them."""

    kind: str
    fingerprint: str
    device: str

    @classmethod
    def of(cls, parsed: ParsedFile) -> "Mark | None":
        """The mark in a file, or None."""
        value = parsed.unknown.get(MARK)
        parts = value.split(" ") if isinstance(value, str) else []
        return cls(*parts) if len(parts) == 3 else None

    def __str__(self) -> str:
        return f"{self.kind} {self.fingerprint} {self.device}"


def fingerprint(parsed: ParsedFile) -> str:
    """What a memory says, as 16 hex digits. Links and times do not count, nor do project and category, under which
    it may be filed anew without a change of what it says."""
    return _digest(parsed.body, parsed.tags, parsed.priority, parsed.expires_at)


def _digest(body: str, tags: Iterable[str], priority: str | None, expires: datetime | None) -> str:
    until = text_format.timestamp(expires) if expires else None
    said = [body, sorted(tags), priority or "normal", until]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def compose(
    note: Note, kind: str, memory_id: str, filed: Filed, category: str | None, links: Iterable[str], device: str
) -> Composed:
    """The memory that a note becomes. Raises: InvalidInput when nothing of it can be kept, saying why."""
    remarks = list(note.remarks)
    body = _body(note)
    chosen = category or _category(note.category, remarks)
    tags = _tags(note.tags, remarks)
    priority = note.priority if note.priority in ("high", "low") else None
    related = list(dict.fromkeys(link for link in (*note.related_to, *links) if link != memory_id))
    data = text_format.render(
        id=memory_id,
        category=chosen,
        tags=tags,
        created=note.created or note.updated or EPOCH,
        updated=note.updated or note.created or EPOCH,
        body=body,
        project_id=filed[0],
        project_name=filed[1] if filed[0] else None,
        priority=priority,
        expires_at=note.expires_at,
        related_to=related,
    )
    mark = Mark(kind, _digest(body, tags, priority, note.expires_at), device)
    return Composed(memory_id, filed, body, _with_extra(data, _extra(note.extra), str(mark)), tuple(remarks))


def _body(note: Note) -> str:
    body = private.strip_private(encodable(note.body)).strip("\r\n")
    title = private.strip_private(note.title or "")
    if not body.strip() and not any(map(str.isalnum, title)):
        private_only = "once its private parts are taken out " if note.body.strip() else ""
        raise InvalidInput(f"Nothing is left of it {private_only}".rstrip() + ".")
    if any(map(str.isalnum, title)):
        body = drafts.with_title(body, title, replace_heading=False) if body.strip() else f"# {' '.join(title.split())}"
    refuse_long(body)
    return body


def refuse_long(body: str) -> None:
    """Raises: InvalidInput when this is more than a memory holds."""
    size = len(body.encode("utf-8", "replace"))
    if size > drafts.MAX_CONTENT_BYTES:
        raise InvalidInput(
            f"It has {size:,} bytes; a memory holds at most {drafts.MAX_CONTENT_BYTES:,}. Split it at the source."
        )


def refuse_secrets(text: str, policy: SecretsPolicy) -> str | None:
    """A warning when this text seems to hold a secret. Raises: InvalidInput when the settings refuse that."""
    if policy == "allow":
        return None
    found = secrets_scan.find_secrets(text)
    if not found:
        return None
    names = ", ".join(found)
    if policy == "refuse":
        raise InvalidInput(f"It seems to hold a secret ({names}), and the settings refuse that (privacy.secrets).")
    return f"It seems to hold a secret ({names}). It is stored and synced as it is."


def _category(wanted: str | None, remarks: list[str]) -> str:
    try:
        return paths.valid_category(wanted or paths.DEFAULT_CATEGORY)
    except InvalidInput:
        remarks.append(f"Its category cannot be used here; it is filed under {paths.DEFAULT_CATEGORY}.")
        return paths.DEFAULT_CATEGORY


def _tags(tags: Sequence[str], remarks: list[str]) -> list[str]:
    kept: dict[str, str] = {}
    left_out = 0
    for tag in tags:
        text = " ".join(private.strip_private(encodable(tag)).split())
        fits = len(text) <= drafts.MAX_TAG_LENGTH and (len(kept) < drafts.MAX_TAGS or tag_key(text) in kept)
        if text and fits:
            kept.setdefault(tag_key(text), text)
        left_out += bool(text) and not fits
    if left_out:
        remarks.append(f"{left_out} of its tags are too long, or too many, and were left out.")
    return list(kept.values())


def _extra(extra: Mapping[str, Extra]) -> dict[str, Extra]:
    # What holds something private is left out whole: cut lines are no YAML any more.
    ours = {*text_format.KEYS, MARK}
    return {key: value for key, value in extra.items() if key not in ours and private.strip_private(value) == value}


def _with_extra(data: bytes, extra: Mapping[str, Extra], mark: str) -> bytes:
    try:
        return text_format.rewrite(data, set={**extra, MARK: mark})
    except InvalidInput:
        data = text_format.rewrite(data, set={MARK: mark})
    for key, value in extra.items():
        with suppress(InvalidInput):  # an entry that refers to another one (an alias) cannot stand alone
            data = text_format.rewrite(data, set={key: value})
    return data


def refreshed(current: bytes, new: Composed, updated: datetime, said: Collection[str]) -> bytes:
    """A memory that was imported before and not edited since, with what its source says by now.

    Links that it gained here stay, and where it is filed but for what the user `said`.
    Raises: InvalidInput when the file cannot be changed safely.
    """
    before, after = text_format.read(current), text_format.read(new.data)
    values: dict[str, text_format.Value | Source | None] = {
        "tags": list(after.tags),
        "priority": after.priority,
        "expiresAt": after.expires_at,
        "updated": updated,
        MARK: str(after.unknown[MARK]),
    }
    related = list(dict.fromkeys((*before.related_to, *after.related_to)))
    if related != list(before.related_to):
        values["relatedTo"] = related
    filed = {"category": after.category, "projectId": after.project_id, "projectName": after.project_name}
    values |= {key: value for key, value in filed.items() if key in said}
    return text_format.rewrite(current, set=values, body=new.body)
