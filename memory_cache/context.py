"""What matters for a project now: its open tasks, decisions and preferences, what is known about its technologies, and
what changed last. Each memory once, each with the reason why it is there, all within a budget of tokens.
"""

import json
import math
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import anyio.to_thread

from memory_cache import context_stack, memories
from memory_cache.context_stack import Stack
from memory_cache.database import Database
from memory_cache.errors import InvalidInput
from memory_cache.models import ContextItem, Filter, Memory, Project, ProjectContext, Scope, Technology
from memory_cache.search.filters import conditions, tag_key

SECTIONS = ("task", "decision", "preference", "technology", "recent")
PATTERNS_FILE = "patterns.json"
_CANDIDATES = 200
_BYTES_PER_TOKEN = 4.0
_LONGEST_SHARE = 5  # one memory gets at most a fifth of the budget
_CLOSED = frozenset(["done", "completed", "closed", "resolved", "cancelled", "canceled", "wontfix"])
_PRIORITY = {"high": 2.0, "normal": 1.0, "low": 0.0}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that could be shown, why, and how strongly the reason counts beside priority and age."""

    memory: Memory
    section: str
    reason: str
    weight: float = 0.0


async def assemble(
    database: Database, project: Project | None, *, limit: int, max_tokens: int, now: datetime
) -> ProjectContext:
    """The context of a project; without one, of what is global. `limit` memories of each section at most."""
    if limit < 1:
        raise InvalidInput(f"A limit of {limit} is too small.", "Give a limit of at least 1.")
    directory = Path(project.directory) if project and project.directory else None
    stack = await anyio.to_thread.run_sync(_stack, directory, database.path.parent / PATTERNS_FILE)
    candidates = await database.read(lambda c: gather(c, project, stack.technologies, now))
    items, more, tokens = choose(candidates, project, limit=limit, max_tokens=max_tokens, now=now)
    return ProjectContext(project=project, technologies=stack.technologies, items=items, more=more, tokens=tokens)


def _stack(directory: Path | None, patterns: Path) -> Stack:
    if directory is None:
        return Stack((), context_stack.Names(()))
    stack = context_stack.detect(directory)
    return Stack((*stack.technologies, *matched_patterns(_patterns(patterns), stack.names)), stack.names)


def _patterns(path: Path) -> list[Mapping[str, object]]:
    try:
        value = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return []
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def matched_patterns(patterns: Iterable[Mapping[str, object]], names: context_stack.Names) -> list[Technology]:
    """The user's own file patterns (`{"pattern", "tags", "description"}`) that a file of the project matches."""
    found = []
    for entry in patterns:
        pattern, tags = entry.get("pattern"), entry.get("tags")
        if not isinstance(pattern, str) or not isinstance(tags, list):
            continue
        evidence = names.first(pattern)
        keys = tuple(tag_key(tag) for tag in tags if isinstance(tag, str) and tag.strip())
        if evidence is not None and keys:
            description = entry.get("description")
            name = description if isinstance(description, str) and description.strip() else pattern
            found.append(Technology(name=name, evidence=evidence, tags=keys))
    return found


def gather(
    connection: sqlite3.Connection, project: Project | None, technologies: Sequence[Technology], now: datetime
) -> list[Candidate]:
    """Everything that could be shown, a memory possibly for several reasons; the order means nothing."""
    key = project.key if project else None
    scope = Scope(project_key=key)
    found = []
    for category in ("task", "decision", "preference"):
        for memory in _latest(connection, Filter(scope=scope, category=category), now):
            if category != "task" or is_open(memory):
                what = f"open {category}" if category == "task" else category
                found.append(Candidate(memory, category, _reason(what, memory)))
    if project is not None:
        mine = Filter(scope=Scope(project_key=key, with_global=False))
        found += [
            Candidate(memory, "recent", f"about this project, changed {_ago(memory, now)}")
            for memory in _latest(connection, mine, now)
            if memory.category not in ("task", "decision", "preference")
        ]
    else:
        found += [
            Candidate(memory, "recent", f"global, changed {_ago(memory, now)}")
            for memory in _latest(connection, Filter(scope=scope), now)
        ]
    return found + _about(connection, scope, technologies, now)


def _latest(connection: sqlite3.Connection, filter_: Filter, now: datetime) -> list[Memory]:
    # Old ones of high priority must not fall behind many new ones.
    condition, values = conditions(filter_, now)
    rows = connection.execute(
        f"SELECT m.file_id FROM memories m WHERE {condition} ORDER BY CASE m.priority WHEN 'high' THEN 0 WHEN 'normal'"
        " THEN 1 ELSE 2 END, m.project_key IS NULL, m.updated DESC, m.id LIMIT ?",
        (*values, _CANDIDATES),
    ).fetchall()
    return list(memories.by_files(connection, [row[0] for row in rows]).values())


def _about(
    connection: sqlite3.Connection, scope: Scope, technologies: Sequence[Technology], now: datetime
) -> list[Candidate]:
    """Memories tagged with a technology, of other projects too when they are learnings; and titles that name one."""
    by_tag = {tag_key(tag): technology for technology in reversed(technologies) for tag in technology.tags}
    if not by_tag:
        return []
    inside, values = conditions(Filter(scope=scope), now)
    anywhere, more_values = conditions(Filter(scope=Scope.all(), category="learning"), now)
    rows = connection.execute(
        f"SELECT m.file_id, m.title, group_concat(t.tag_key, char(10)) AS tags, ({inside}) AS inside"
        " FROM memories m LEFT JOIN memory_tags t ON t.file_id = m.file_id"
        f" WHERE ({inside}) OR ({anywhere}) GROUP BY m.file_id ORDER BY m.updated DESC",
        (*values, *values, *more_values),
    ).fetchall()
    chosen: dict[int, tuple[str, float]] = {}
    for row in rows:
        tags = [tag for tag in (row["tags"] or "").split("\n") if tag in by_tag]
        if tags:
            technology = by_tag[tags[0]]
            reason = f"tag {tags[0]} fits {technology.name} ({technology.evidence})"
            chosen[row["file_id"]] = (reason, 0.5 + 0.25 * min(len(tags), 4) - (0 if row["inside"] else 1.0))
        elif row["inside"] and (named := _named(row["title"], by_tag)):
            chosen[row["file_id"]] = (f"title names {named.name} ({named.evidence})", 0.25)
        if len(chosen) >= _CANDIDATES:
            break
    found = memories.by_files(connection, list(chosen))
    return [Candidate(memory, "technology", *chosen[file_id]) for file_id, memory in found.items()]


_WORD = re.compile(r"[\w.+#-]*[\w+#]")


def _named(title: str, by_tag: Mapping[str, Technology]) -> Technology | None:
    # Words of one or two letters (go, c, r, js) are rarely meant.
    words = (word.casefold() for word in _WORD.findall(title))
    return next((by_tag[word] for word in words if len(word) > 2 and word in by_tag), None)


def is_open(task: Memory) -> bool:
    """Whether a task still waits: no tag says done, its title is not ticked, and not all of its boxes are."""
    if any(tag_key(tag) in _CLOSED for tag in task.tags):
        return False
    if re.match(r"[-*\s]*\[[xX]\]|[-*\s]*(?:✅|☑)|DONE\b", task.title):
        return False
    boxes = re.findall(r"^\s*[-*+]\s+\[([ xX])\]", task.content, re.MULTILINE)
    return not boxes or any(box == " " for box in boxes)


def choose(
    candidates: Sequence[Candidate], project: Project | None, *, limit: int, max_tokens: int, now: datetime
) -> tuple[tuple[ContextItem, ...], int, int]:
    """The best of each section in turn until the budget is used; also how many are left out, and the tokens used."""
    sections = _ranked(candidates, project, now)
    turns = [
        candidate for rank in range(limit) for section in SECTIONS for candidate in sections[section][rank : rank + 1]
    ]
    items: list[ContextItem] = []
    left = max_tokens
    for candidate in turns:
        text = shortened(candidate.memory.content, min(left - 40, max_tokens // _LONGEST_SHARE))
        cost = tokens_of(text) + tokens_of(candidate.memory.title) + tokens_of(candidate.reason) + 10
        if cost > left:
            continue
        left -= cost
        memory, section = candidate.memory, candidate.section
        items.append(ContextItem(memory=memory, section=section, reason=candidate.reason, text=text))
    items.sort(key=lambda item: SECTIONS.index(item.section))
    total = sum(len(ranked) for ranked in sections.values())
    return tuple(items), total - len(items), max_tokens - left


def _ranked(candidates: Sequence[Candidate], project: Project | None, now: datetime) -> dict[str, list[Candidate]]:
    sections: dict[str, list[Candidate]] = {section: [] for section in SECTIONS}
    seen: set[str] = set()
    for section in SECTIONS:
        mine = [candidate for candidate in candidates if candidate.section == section]
        for candidate in sorted(mine, key=lambda c: (-_score(c, project, now), c.memory.id)):
            if candidate.memory.id not in seen:
                seen.add(candidate.memory.id)
                sections[section].append(candidate)
    return sections


def _score(candidate: Candidate, project: Project | None, now: datetime) -> float:
    memory = candidate.memory
    days = max(0.0, (now - memory.updated).total_seconds() / 86_400)
    own = 0.5 if project is not None and memory.project_id is not None else 0.0
    return _PRIORITY[memory.priority] + own + candidate.weight + math.exp(-days / 45)


def _reason(what: str, memory: Memory) -> str:
    reason = f"global {what}" if memory.project_id is None else f"{what} of this project"
    return f"{reason}, high priority" if memory.priority == "high" else reason


def _ago(memory: Memory, now: datetime) -> str:
    days = (now - memory.updated).days
    if days < 1:
        return "today"
    return "yesterday" if days == 1 else f"{days} days ago"


def tokens_of(text: str) -> int:
    """About how many tokens a text costs: UTF-8 bytes / 4, which fits prose and code, and is high for CJK."""
    return math.ceil(len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN)


def shortened(text: str, tokens: int) -> str:
    """The beginning of a text that costs at most so many tokens, cut at the end of a line or word, with ` …`."""
    if tokens_of(text) <= tokens:
        return text
    room = max(0, int(tokens * _BYTES_PER_TOKEN) - 4)
    head = text.encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
    cut = max(head.rfind("\n"), head.rfind(" "))
    if cut > len(head) // 2:
        head = head[:cut]
    return f"{head.rstrip()} …" if head.strip() else ""
