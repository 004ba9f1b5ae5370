"""What memories are filed under: projects, categories, tags, ids. For completion, and to know a project by its name."""

import sqlite3

from memory_cache.clock import from_text
from memory_cache.models import Project, Record
from memory_cache.project import from_remote, key_of
from memory_cache.search.filters import beginning_with


class FiledProject(Record):
    """A project that memories belong to. `ids`: every spelling found in files; the first one is the most used."""

    key: str
    ids: tuple[str, ...]
    name: str
    memories: int
    updated: str


def projects(connection: sqlite3.Connection) -> list[FiledProject]:
    """All projects with memories, the most recently changed first."""
    rows = connection.execute(
        "SELECT project_key, project_id, max(project_name) AS name, count(*) AS memories, max(updated) AS updated"
        " FROM memories WHERE project_key IS NOT NULL GROUP BY project_key, project_id"
        " ORDER BY memories DESC, project_id"
    ).fetchall()
    grouped: dict[str, list[sqlite3.Row]] = {}
    for row in rows:
        grouped.setdefault(row["project_key"], []).append(row)
    found = [_filed(key, spellings) for key, spellings in grouped.items()]
    return sorted(found, key=lambda project: (project.updated, project.key), reverse=True)


def _filed(key: str, rows: list[sqlite3.Row]) -> FiledProject:
    name = next((row["name"] for row in rows if row["name"]), key.rstrip("/").rsplit("/", 1)[-1])
    return FiledProject(
        key=key,
        ids=tuple(row["project_id"] for row in rows),
        name=name,
        memories=sum(row["memories"] for row in rows),
        updated=max(from_text(row["updated"]).isoformat() for row in rows),
    )


def called(connection: sqlite3.Connection, text: str) -> list[Project]:
    """The projects with memories that are meant by this id, key or name; case does not count for a name."""
    wanted, key = text.strip().casefold(), key_of(text)
    known = projects(connection)
    meant = [project for project in known if project.key == key or wanted in map(str.casefold, project.ids)]
    if not meant:
        meant = [project for project in known if project.name.casefold() == wanted]
    return [Project(id=_clean(project.ids[0]), key=project.key, name=project.name) for project in meant]


def _clean(project_id: str) -> str:
    # Older versions wrote ids with scheme, case and even credentials; those are never written again.
    remote = from_remote(project_id)
    return remote[0] if remote else (key_of(project_id) if "@" in project_id else project_id)


def categories(connection: sqlite3.Connection, beginning: str, limit: int) -> list[str]:
    """Categories in use, the fullest first."""
    rows = connection.execute(
        "SELECT category FROM memories WHERE category LIKE ? ESCAPE '\\' GROUP BY category"
        " ORDER BY count(*) DESC, category LIMIT ?",
        (beginning_with(beginning.strip()), limit),
    )
    return [row[0] for row in rows]


def tags(connection: sqlite3.Connection, beginning: str, limit: int) -> list[str]:
    """Tags in use, the most used first."""
    rows = connection.execute(
        "SELECT tag_key FROM memory_tags WHERE tag_key LIKE ? ESCAPE '\\' GROUP BY tag_key"
        " ORDER BY count(*) DESC, tag_key LIMIT ?",
        (beginning_with(beginning.strip().casefold()), limit),
    )
    return [row[0] for row in rows]


def ids(connection: sqlite3.Connection, beginning: str, limit: int) -> list[str]:
    """Ids of memories that begin so, or whose title holds this text; the most recently changed first."""
    rows = connection.execute(
        "SELECT id FROM memories WHERE id LIKE ?1 ESCAPE '\\' OR (?2 <> '' AND title LIKE '%' || ?1 ESCAPE '\\')"
        " ORDER BY updated DESC, id LIMIT ?3",
        (beginning_with(beginning.strip()), beginning, limit),
    )
    return [row[0] for row in rows]


def document_ids(connection: sqlite3.Connection, beginning: str, limit: int) -> list[str]:
    """Ids of documents that begin so, or whose title holds this text; the most recently fetched first."""
    rows = connection.execute(
        "SELECT id FROM documents WHERE id LIKE ?1 ESCAPE '\\' OR (?2 <> '' AND title LIKE '%' || ?1 ESCAPE '\\')"
        " GROUP BY id ORDER BY max(updated) DESC, id LIMIT ?3",
        (beginning_with(beginning.strip()), beginning, limit),
    )
    return [row[0] for row in rows]


def category_counts(connection: sqlite3.Connection, project_key: str) -> dict[str, int]:
    """How many memories of a project are in each category, the fullest first; expired ones too."""
    rows = connection.execute(
        "SELECT category, count(*) AS number FROM memories WHERE project_key = ? GROUP BY category"
        " ORDER BY number DESC, category",
        (project_key,),
    )
    return {row["category"]: row["number"] for row in rows}
