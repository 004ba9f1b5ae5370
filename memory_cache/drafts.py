"""What `remember` and `update` are given, checked and brought into the form that is stored. Pure.

Private parts are taken out and secrets looked for before anything is written anywhere.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memory_cache import paths, private, secrets_scan, text_format, ttl
from memory_cache.errors import InvalidInput
from memory_cache.models import Change, Draft, Priority, Project
from memory_cache.search.filters import tag_key
from memory_cache.text_format_values import encodable

MAX_CONTENT_BYTES = 1_000_000
MAX_TAGS = 100
MAX_TAG_LENGTH = 100
_TITLE_LENGTH = 100

SecretsPolicy = Literal["warn", "refuse", "allow"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A draft ready to be written."""

    body: str
    category: str
    tags: tuple[str, ...]
    project: Project | None
    priority: Priority
    expires_at: datetime | None
    related_to: tuple[str, ...]
    warnings: tuple[str, ...]


def prepare(draft: Draft, *, now: datetime, secrets: SecretsPolicy) -> Prepared:
    """Check a draft. Raises: InvalidInput, naming what to give instead."""
    category = paths.valid_category(draft.category)
    body, warnings = checked_content(draft.content, secrets=secrets)
    if draft.title is not None:
        body = with_title(body, draft.title, replace_heading=False)
    return Prepared(
        body=body,
        category=category,
        tags=checked_tags(draft.tags),
        project=draft.project,
        priority=draft.priority,
        expires_at=ttl.expiry(draft.ttl, now),
        related_to=draft.related_to,
        warnings=warnings,
    )


def checked_content(content: str, *, secrets: SecretsPolicy) -> tuple[str, tuple[str, ...]]:
    """The text to store, and warnings. Raises: InvalidInput when nothing is left of it, it is too long, or holds
    secrets that the settings refuse."""
    public = private.strip_private(encodable(content))
    if not public.strip():
        if content.strip():
            raise InvalidInput(
                "Nothing is left of this text once its private parts are taken out.", "Nothing was stored."
            )
        raise InvalidInput("The content is empty.", "Give the text to remember.")
    size = len(public.encode("utf-8", "replace"))
    if size > MAX_CONTENT_BYTES:
        raise InvalidInput(
            f"The content has {size:,} bytes; a memory holds at most {MAX_CONTENT_BYTES:,}.",
            "Remember what matters of it, or split it into several memories.",
        )
    return public.strip("\r\n"), _secret_warnings(public, secrets)


def _secret_warnings(text: str, policy: SecretsPolicy) -> tuple[str, ...]:
    if policy == "allow":
        return ()
    found = secrets_scan.find_secrets(text)
    if not found:
        return ()
    names = ", ".join(found)
    if policy == "refuse":
        raise InvalidInput(
            f"This text seems to hold a secret ({names}), and the settings refuse that.",
            "Leave the secret out, or put it between <private> and </private>.",
        )
    return (f"This text seems to hold a secret ({names}). It is stored and synced as it is.",)


def checked_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """The tags without private parts, white space at their ends, empty ones and repetitions (case does not count).

    Raises: InvalidInput for too many or too long ones.
    """
    kept: dict[str, str] = {}
    for tag in tags:
        text = " ".join(private.strip_private(encodable(tag)).split())
        if text:
            kept.setdefault(tag_key(text), text)
        if len(text) > MAX_TAG_LENGTH:
            raise InvalidInput(
                f"A tag has {len(text)} characters; at most {MAX_TAG_LENGTH} are possible.", "Use short tags."
            )
    if len(kept) > MAX_TAGS:
        raise InvalidInput(f"{len(kept)} tags are too many.", f"Give at most {MAX_TAGS} tags.")
    return tuple(kept.values())


def changed_tags(current: tuple[str, ...], change: Change) -> tuple[str, ...] | None:
    """The tags after this change, or None when it does not touch them."""
    if change.tags is None and not change.add_tags and not change.remove_tags:
        return None
    start = current if change.tags is None else checked_tags(change.tags)
    unwanted = {tag_key(tag) for tag in change.remove_tags}
    kept = [tag for tag in start if tag_key(tag) not in unwanted]
    known = {tag_key(tag) for tag in kept}
    new = checked_tags(change.add_tags)
    return (*kept, *(tag for tag in new if tag_key(tag) not in known))


def with_title(body: str, title: str, *, replace_heading: bool) -> str:
    """The body with this title as its first line.

    Args:
        replace_heading: a heading that is the title so far makes way; otherwise it stays below the new one.
    """
    text = " ".join(private.strip_private(encodable(title)).lstrip("#").split())
    if not any(character.isalnum() for character in text):
        raise InvalidInput("The title is empty.", "Give a title of a few words, or leave it out.")
    if text_format.title_of(body) == text_format.title_of(text):
        return body
    lines = body.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if replace_heading and is_heading(lines[first]):
        marks = lines[first][: len(lines[first]) - len(lines[first].lstrip("# \t"))].rstrip()
        lines[first] = f"{marks} {text}"
        return "\n".join(lines)
    return f"# {text}\n\n{body}"


def is_heading(line: str) -> bool:
    """Whether a line is a markdown heading (`# …`)."""
    marks = len(line) - len(line.lstrip("#"))
    return 1 <= marks <= 6 and line[marks : marks + 1] in (" ", "\t")
