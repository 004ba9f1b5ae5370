"""`Filter` as SQL conditions on `memories AS m`, applied before any limit."""

import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime

from memory_cache.models import Filter, Scope

Parameter = str | int | float | bytes | None


def timestamp(moment: datetime) -> str:
    """A moment as the table `memories` stores it; such texts sort as their moments do."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def conditions(filter_: Filter, now: datetime) -> tuple[str, list[Parameter]]:
    """A boolean SQL expression over `m` and its parameters; `1` when nothing is asked."""
    parts: list[str] = []
    values: list[Parameter] = []

    def add(condition: str, *parameters: Parameter) -> None:
        parts.append(condition)
        values.extend(parameters)

    _scope(filter_.scope, add)
    if filter_.category is not None:
        add("m.category = ?", filter_.category)
    for tag in filter_.tags:
        add("EXISTS (SELECT 1 FROM memory_tags t WHERE t.file_id = m.file_id AND t.tag_key = ?)", tag_key(tag))
    if filter_.updated_after is not None:
        add("m.updated >= ?", timestamp(filter_.updated_after))
    if filter_.updated_before is not None:
        add("m.updated < ?", timestamp(filter_.updated_before))
    if not filter_.with_expired:
        add("(m.expires_at IS NULL OR m.expires_at > ?)", timestamp(now))
    return " AND ".join(parts) or "1", values


def tag_key(tag: str) -> str:
    """How tags are compared: casefolded NFC, as `memory_tags.tag_key` holds them."""
    return unicodedata.normalize("NFC", tag.strip().casefold())


def _scope(scope: Scope, add: Callable[..., None]) -> None:
    if scope.everything:
        return
    if scope.project_key is None:
        add("m.project_key IS NULL" if scope.with_global else "0")
    elif scope.with_global:
        add("(m.project_key = ? OR m.project_key IS NULL)", scope.project_key)
    else:
        add("m.project_key = ?", scope.project_key)


def is_open(filter_: Filter) -> bool:
    """Whether the filter leaves out nothing but expired memories."""
    return filter_ == Filter(scope=Scope.all(), with_expired=filter_.with_expired)


def hidden(filter_: Filter, now: datetime) -> tuple[str, tuple[Parameter, ...]]:
    """For an open filter: a selection of the file ids that it leaves out."""
    if filter_.with_expired:
        return "SELECT NULL WHERE 0", ()
    return "SELECT file_id FROM memories WHERE expires_at <= ?", (timestamp(now),)


def beginning_with(text: str) -> str:
    """The pattern for `LIKE ? ESCAPE '\\'` that finds what begins with this text, at most its first 5,000 characters:
    SQLite refuses patterns of 50,000 bytes and more."""
    return re.sub(r"([%_\\])", r"\\\1", text[:5000]) + "%"
