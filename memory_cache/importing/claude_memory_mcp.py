"""claude-memory-mcp: rows of its Supabase tables, exported as JSON or CSV; memories and skill patterns.

Column names of its relatives are understood too. It deletes by letting a row expire: such rows stay behind.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from memory_cache import paths
from memory_cache.clock import EPOCH, utc_now
from memory_cache.errors import InvalidInput
from memory_cache.importing.reading import csv_rows, file_bytes, json_lines, json_of, moment, one_line, text_of, words
from memory_cache.importing.records import Item, Note, PatternRecord, Skipped
from memory_cache.pattern_file import Occurrence, PatternFile, new_id, occurrence

KIND = "claude-memory-mcp"

_CONTENT = ("content", "body", "text", "memory")
_TYPE = ("memory_type", "category", "type", "kind")
_PROJECT = ("project_id", "project", "project_name")
_CREATED = ("created_at", "created", "timestamp")
_UPDATED = ("updated_at", "updated", "last_modified")
_EXPIRES = ("expires_at", "expires")
_LINKS = ("linked_to", "related_to", "links")
_WEIGHT = ("priority", "importance")
_EVERYWHERE = frozenset(["global", "all", "*"])
_DONE = frozenset(["resolved", "waived", "superseded"])
_KEPT = ("relation", "provenance", "trust_score", "session_id")

_CATEGORIES = {
    "decision": "decision",
    "bug_fix": "learning",
    "pattern": "learning",
    "learning": "learning",
    "lesson": "learning",
    "dependency": "learning",
    "context": "project",
    "compliance_check": "project",
    "convention": "preference",
    "preference": "preference",
    "blocker": "task",
    "goal": "task",
    "deviation": "task",
    "counter_argument": "decision",
    "task": "task",
    "project": "project",
}


def read(path: Path, home: Path) -> Iterator[Item]:
    """Every row. Raises: InvalidInput when the file is neither JSON nor CSV with such rows."""
    for number, row in _rows(path):
        where = f"{path.name}, row {number}"
        if isinstance(row, InvalidInput):
            yield Skipped(where, f"It is {row.message}.")
        elif not isinstance(row, dict):
            yield Skipped(where, "It is no row: a row has named columns.")
        elif isinstance(_first(row, _CONTENT), str):
            yield _note(row, where)
        elif isinstance(row.get("description"), str):
            yield _pattern(row, where)
        else:
            yield Skipped(where, "It has no content.")


def _rows(path: Path) -> Iterator[tuple[int, Any]]:
    data = file_bytes(path)
    text = text_of(data[:4096])[0].removeprefix("\ufeff").lstrip()
    if not text.startswith(("[", "{")):
        yield from csv_rows(data, (*_CONTENT, "description"))
        return
    try:
        exported = json_of(data)
    except InvalidInput:
        if not text.startswith("{"):
            raise
        yield from json_lines(data)
        return
    if isinstance(exported, dict):
        tables = [value for value in exported.values() if isinstance(value, list)]
        exported = [row for table in tables for row in table] if tables else [exported]
    yield from enumerate(exported, 1)


def _first(row: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def _text(value: Any) -> str | None:
    return (value.strip() or None) if isinstance(value, str) else None


def _note(row: Mapping[str, Any], where: str) -> Item:
    content = str(_first(row, _CONTENT))
    title = _text(row.get("title"))
    where = f"{where}: {one_line(title or content, 60)}"
    expires = moment(_first(row, _EXPIRES))
    if expires is not None and expires <= utc_now():
        return Skipped(where, f"It was forgotten there, or expired, on {expires:%Y-%m-%d}.", expected=True)
    kind = _text(_first(row, _TYPE))
    status = (_text(row.get("status")) or "").lower()
    category, tags = _filed(kind, status, words(row.get("tags") or row.get("keywords")))
    project = _text(_first(row, _PROJECT))
    everywhere = project is None or project.casefold() in _EVERYWHERE or row.get("is_global") in (True, "true", "t")
    created = moment(_first(row, _CREATED))
    memory_id = _uuid(row.get("id"))
    return Note(
        origin=memory_id or f"{_text(str(row.get('id') or '')) or ''}\n{created}\n{title}\n{content}",
        where=where,
        body=content,
        title=title,
        category=category,
        tags=tags,
        created=created,
        updated=moment(_first(row, _UPDATED)) or created,
        project_id=None if everywhere else project,
        priority=_priority(_first(row, _WEIGHT)),
        expires_at=expires,
        related_to=tuple(found for link in words(_first(row, _LINKS)) if (found := _uuid(link))),
        id=memory_id,
        extra={_camel(name): str(row[name]) for name in _KEPT if row.get(name) not in (None, "")},
    )


def _filed(kind: str | None, status: str, tags: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """Category and tags; a type that is no category of ours stays as a tag, and so does what became of a task."""
    name = (kind or "").strip().lower().replace("-", "_").replace(" ", "_")
    singular = name if name in _CATEGORIES else name.removesuffix("s")
    category = _CATEGORIES.get(singular)
    if category == "task" and status in _DONE:
        category = "project"
    added = [status] if status in _DONE else []
    if kind and (category is None or singular != category):
        added.append(kind.strip())
    if category is None and kind:
        try:
            category = paths.valid_category(kind)
            added.remove(kind.strip())
        except InvalidInput:
            category = None
    return category, (*tags, *added)


def _priority(value: Any) -> str:
    if isinstance(value, str) and value.strip().lower() in ("high", "critical", "low"):
        return "low" if value.strip().lower() == "low" else "high"
    try:
        weight = float(value)
    except (TypeError, ValueError):
        return "normal"
    most = 1.0 if weight <= 1 else 10.0
    return "high" if weight >= 0.8 * most else "low" if weight <= 0.2 * most else "normal"


def _uuid(value: Any) -> str | None:
    try:
        return str(UUID(value)) if isinstance(value, str) and len(value) >= 32 else None
    except ValueError:
        return None


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(map(str.capitalize, rest))


def _pattern(row: Mapping[str, Any], where: str) -> Item:
    description = str(row["description"]).strip()
    where = f"{where}: {one_line(description, 60)}"
    if not description:
        return Skipped(where, "It has no description.")
    try:
        category = paths.valid_category(_text(row.get("category")) or "other")
    except InvalidInput:
        category = "other"
    project = _text(row.get("project"))
    seen = _occurrences(row)
    created, updated = seen[0].at, seen[-1].at
    made = row.get("skill_created") in (True, "true", "t", "True")
    pattern = PatternFile(
        id=new_id(description, category, project), description=description, category=category, created=created,
        updated=updated, project_id=project, project_name=project, skill_at=updated if made else None,
        occurrences=seen,
    )  # fmt: skip
    return PatternRecord(where, pattern)


_MOST_OCCURRENCES = 1000


def _occurrences(row: Mapping[str, Any]) -> tuple[Occurrence, ...]:
    """As many as were counted: those with an example, and between first and last sight those without."""
    first = moment(row.get("first_seen")) or moment(row.get("created_at")) or EPOCH
    last = max(moment(row.get("last_seen")) or first, first)
    seen = {entry.id: entry for entry in _examples(row.get("examples"), first)}
    try:
        count = min(int(row.get("count") or 1), _MOST_OCCURRENCES)
    except (TypeError, ValueError):
        count = 1
    missing = max(count - len(seen), 0 if seen else 1)
    for number in range(missing):
        # A millisecond apart, so that each is one of its own; the same at every import.
        entry = occurrence(max(last - timedelta(milliseconds=number), EPOCH + timedelta(milliseconds=number)), KIND, "")
        seen[entry.id] = entry
    return tuple(sorted(seen.values(), key=lambda entry: (entry.at, entry.id)))


def _examples(value: Any, first: datetime) -> Iterator[Occurrence]:
    if isinstance(value, str):
        try:
            value = json_of(value.encode())
        except InvalidInput:
            value = [value]
    for entry in value if isinstance(value, list) else []:
        at = entry.get("date") if isinstance(entry, dict) else None
        text = (entry.get("text") or entry.get("example")) if isinstance(entry, dict) else entry
        if isinstance(text, str) and text.strip():
            yield occurrence(moment(at) or first, KIND, text)
