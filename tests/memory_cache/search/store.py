"""A real cache database and a short way to put memories into it."""

import json
import sqlite3
from datetime import UTC, datetime, timedelta

from memory_cache.models import Filter
from memory_cache.search import index, recall
from memory_cache.search.filters import tag_key, timestamp
from memory_cache.search.vectors import VectorIndex

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


class Store:
    """Memories written as rows, indexed by the code under test."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.vectors = VectorIndex("static")
        self._count = 0

    def add(
        self,
        body: str,
        *,
        category: str = "learnings",
        tags: tuple[str, ...] = (),
        created: datetime | None = None,
        updated: datetime | None = None,
        project: str | None = None,
        priority: str = "normal",
        expires: datetime | None = None,
        related: tuple[str, ...] = (),
    ) -> int:
        self._count += 1
        moment = created or NOW - timedelta(days=30) + timedelta(minutes=self._count)
        file_id = self.connection.execute(
            "INSERT INTO files (path, kind, content) VALUES (?, 'memory', ?)",
            (f"memories/{category}/{self._count}.md", body.encode()),
        ).lastrowid
        assert file_id is not None
        title = body.strip().split("\n")[0].lstrip("# ")[:100]
        self.connection.execute(
            "INSERT INTO memories (file_id, id, category, title, body, created, updated, project_id, project_key,"
            " project_name, priority, expires_at, related_to, tags) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            (
                file_id, f"id-{file_id:06d}", category, title, body, timestamp(moment), timestamp(updated or moment),
                project, project, project, priority, expires and timestamp(expires), json.dumps(related),
                json.dumps(tags),
            ),
        )  # fmt: skip
        self.connection.executemany(
            "INSERT INTO memory_tags VALUES (?, ?)", [(file_id, tag_key(tag)) for tag in dict.fromkeys(tags)]
        )
        self.connection.executemany(
            "INSERT INTO memory_links VALUES (?, ?)", [(file_id, target) for target in dict.fromkeys(related)]
        )
        index.refresh(self.connection, file_id)
        return file_id

    def change(self, file_id: int, body: str) -> None:
        self.connection.execute("UPDATE memories SET body = ?, title = ? WHERE file_id = ?", (body, body, file_id))
        index.refresh(self.connection, file_id)

    def find(self, query: str, filter_: Filter | None = None, *, limit: int = 10, **options: object) -> list[int]:
        options.setdefault("now", NOW)
        result = recall.search(self.connection, query, filter_ or Filter(), limit=limit, **options)  # type: ignore[arg-type]
        return [hit.file_id for hit in result.hits]
