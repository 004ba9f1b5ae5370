"""claude-mem's database: read in every version of its schema, never written."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory_cache import documents
from memory_cache.importing.placement import Placement
from memory_cache.settings import Settings
from tests.memory_cache.cache_fixtures import WIDGET, opened
from tests.memory_cache.store import NOW

from .importing_help import all_memories, reasons, take_in

pytestmark = pytest.mark.anyio

EPOCH_MS = int(datetime(2026, 2, 1, 12, tzinfo=UTC).timestamp() * 1000)
CREATED = datetime(2026, 2, 1, 12, tzinfo=UTC)

SCHEMA = """
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT);
CREATE TABLE observations (
    id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL, project TEXT NOT NULL, text TEXT,
    type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT,
    files_modified TEXT, merged_into_project TEXT, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
CREATE TABLE session_summaries (
    id INTEGER PRIMARY KEY, memory_session_id TEXT, project TEXT, request TEXT, investigated TEXT, learned TEXT,
    completed TEXT, next_steps TEXT, files_read TEXT, files_edited TEXT, notes TEXT, created_at TEXT,
    created_at_epoch INTEGER);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY, prompt_text TEXT);
CREATE TABLE directives (id INTEGER PRIMARY KEY, scope TEXT, project TEXT, content TEXT, status TEXT, created_at TEXT,
    created_at_epoch INTEGER, updated_at_epoch INTEGER);
CREATE TABLE documents (id INTEGER PRIMARY KEY, project TEXT, source TEXT, source_tool TEXT, title TEXT, content TEXT,
    content_hash TEXT, type TEXT, metadata TEXT, memory_session_id TEXT, access_count INTEGER, last_accessed TEXT,
    created_at TEXT);
"""


def database(path: Path, *, session: str = "s-1") -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(SCHEMA)
        connection.execute(
            "INSERT INTO observations (memory_session_id, project, type, title, subtitle, facts, narrative, concepts,"
            " files_read, files_modified, created_at, created_at_epoch) VALUES (?, 'widget', 'bugfix', 'Port clash',"
            " 'Two servers', ?, 'Both used port 3001.', ?, ?, '[]', '2026-02-01T12:00:00.000Z', ?)",
            (session, json.dumps(["3001 is taken", "3002, 3003 are free"]), json.dumps(["networking", "ports"]),
             json.dumps(["src/a.py"]), EPOCH_MS),
        )  # fmt: skip
        connection.execute(
            "INSERT INTO observations (memory_session_id, project, type, text, merged_into_project, created_at,"
            " created_at_epoch) VALUES (?, 'widget-tree', 'decision', '# Use tabs', 'widget', '', ?)",
            (session, EPOCH_MS),
        )
        connection.execute(
            "INSERT INTO session_summaries VALUES (1, ?, 'widget', 'Fix the port', 'Logs', 'Ports clash', 'Moved it',"
            " 'Test it', '[]', '[\"a.py\"]', NULL, '2026-02-01', ?)",
            (session, EPOCH_MS),
        )
        connection.executemany("INSERT INTO user_prompts (prompt_text) VALUES (?)", [("hello",), ("world",)])
        connection.execute(
            "INSERT INTO directives VALUES (1, 'global', NULL, 'Never force-push', 'active', '', ?, ?)",
            (EPOCH_MS, EPOCH_MS),
        )
        connection.execute(
            "INSERT INTO directives VALUES (2, 'project', 'widget', 'Old rule', 'archived', '', ?, ?)",
            (EPOCH_MS, EPOCH_MS),
        )
        connection.execute(
            "INSERT INTO documents VALUES (1, 'widget', 'react', 'context7', 'React hooks', 'useEffect runs later',"
            " 'x', 'library-docs', '{\"topic\": \"hooks\"}', 's-1', 7, '2026-02-20T00:00:00Z', '2026-02-01T00:00:00Z')"
        )
        connection.execute(
            "INSERT INTO documents VALUES (2, 'widget', 'y', 'webfetch', 'Old', 'Old text', 'x', 'nonsense', NULL,"
            " NULL, 0, NULL, '2020-01-01')"
        )
    return path


async def test_observations_summaries_rules_and_documents_are_taken(tmp_path: Path) -> None:
    path = database(tmp_path / "claude-mem.db")
    async with opened(tmp_path) as cache:
        report = await take_in(cache, tmp_path)
        assert (report.kind, len(report.imported)) == ("claude-mem", 5)
        memories = await all_memories(cache)
        bug = memories["Port clash"]
        assert bug.content == (
            "# Port clash\n\nTwo servers\n\nBoth used port 3001.\n\n- 3001 is taken\n- 3002, 3003 are free\n\n"
            "Files read: src/a.py"
        )
        assert (bug.category, bug.tags, bug.project_id) == ("learning", ("networking", "ports", "bugfix"), "widget")
        assert bug.created == CREATED
        assert (memories["Use tabs"].category, memories["Use tabs"].project_id) == ("decision", "widget")
        summary = memories["Session: Fix the port"]
        assert (summary.category, summary.tags, summary.priority) == ("project", ("session-summary",), "low")
        assert "## Next steps\n\nTest it" in summary.content
        rule = memories["Never force-push"]
        assert (rule.category, rule.priority, rule.project_id) == ("preference", "high", None)
        hits, _ = await cache.database.write(lambda c: documents.search(c, "useEffect", limit=5, now=NOW))
        assert (hits[0].source_tool, hits[0].type, hits[0].projects) == ("context7", "library-docs", ("widget",))
        assert (hits[0].created.month, hits[0].access_count) == (2, 8)
        told = reasons(report)
        assert "no memory" in told["user_prompts, 2 rows"]
        assert "archived" in told["directives 2: Old rule"]
        assert "90 days" in told["documents 2: Old"]
        assert report.failures == 0
        again = await take_in(cache, path)
        assert (again.unchanged, again.imported, again.updated) == (5, [], [])


async def test_the_database_is_only_read_also_while_claude_mem_writes(tmp_path: Path) -> None:
    folder = tmp_path / "mem"
    folder.mkdir()
    path = database(folder / "claude-mem.db")
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    async with opened(tmp_path) as cache:
        assert (await take_in(cache, path, dry_run=True)).imported
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == before
        with closing(sqlite3.connect(path)) as writer:
            writer.execute("UPDATE directives SET content = 'Never rebase'")
            writer.commit()  # in the log only, as long as this connection lives
            writer.execute("BEGIN IMMEDIATE")
            writer.execute("UPDATE observations SET title = 'Not yet'")
            report = await take_in(cache, path)
            writer.rollback()
        titles = [done.title for done in report.imported]
        assert "Never rebase" in titles
        assert "Port clash" in titles


async def test_what_a_crash_left_in_the_log_is_read_and_left_there(tmp_path: Path) -> None:
    live = database(tmp_path / "live.db")
    folder = tmp_path / "mem"
    folder.mkdir()
    with closing(sqlite3.connect(live)) as connection:
        connection.execute("UPDATE directives SET content = 'Never rebase'")
        connection.commit()
        for suffix in ("", "-wal"):
            (folder / f"claude-mem.db{suffix}").write_bytes(Path(f"{live}{suffix}").read_bytes())
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    async with opened(tmp_path) as cache:
        assert "Never rebase" in [done.title for done in (await take_in(cache, folder)).imported]
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


async def test_two_databases_with_the_same_row_numbers_do_not_mix(tmp_path: Path) -> None:
    async with opened(tmp_path) as cache:
        await take_in(cache, database(tmp_path / "a.db", session="laptop"))
        path = database(tmp_path / "b.db", session="desktop")
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE observations SET title = 'Other' WHERE id = 1")
        report = await take_in(cache, path)
        assert [done.title for done in report.imported if done.type == "memory" and "session" not in done.where] == [
            "Other"
        ]
        assert "Port clash" in await all_memories(cache)


OLDER = """
CREATE TABLE observations (id INTEGER PRIMARY KEY, {column} TEXT, project TEXT, text TEXT, type TEXT, created_at TEXT);
INSERT INTO observations VALUES (1, 's', 'widget', 'Old observation', 'discovery', '2025-10-01 10:00:00');
CREATE TABLE memories (
    id INTEGER PRIMARY KEY, session_id TEXT, text TEXT, keywords TEXT, created_at TEXT, project TEXT);
INSERT INTO memories VALUES (1, 's', 'Compressed memory', 'a, b', '2025-09-01', 'widget');
CREATE TABLE overviews (id INTEGER PRIMARY KEY, session_id TEXT, content TEXT, created_at TEXT, project TEXT);
INSERT INTO overviews VALUES (1, 's', 'What was done', '2025-09-01', 'widget');
"""


@pytest.mark.parametrize("column", ["sdk_session_id", "memory_session_id"])
async def test_older_schemas_are_understood(tmp_path: Path, column: str) -> None:
    path = tmp_path / "claude-mem.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(OLDER.format(column=column))
    async with opened(tmp_path) as cache:
        report = await take_in(cache, path, placement=Placement(project=WIDGET))
        assert len(report.imported) == 3
        memories = await all_memories(cache)
        assert memories["Compressed memory"].tags == ("a", "b")
        assert memories["Old observation"].created == datetime(2025, 10, 1, 10, tzinfo=UTC)
        assert {memory.project_id for memory in memories.values()} == {WIDGET.id}


async def test_private_text_in_documents_stays_out_and_kept_on_this_device_only_when_set_so(tmp_path: Path) -> None:
    path = database(tmp_path / "claude-mem.db")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE documents SET content = 'open <private>HIDDEN</private>' WHERE id = 1")
    settings = Settings.model_validate({"documents": {"sync": False}})
    async with opened(tmp_path, settings=settings) as cache:
        report = await take_in(cache, path)
        (done,) = [done for done in report.imported if done.type == "document"]
        document = await cache.database.write(lambda c: documents.get(c, done.id, NOW))
        assert (document.synced, document.content) == (False, "open ")
        assert (await take_in(cache, path)).unchanged == 5


async def test_a_damaged_database_gives_what_it_can(tmp_path: Path) -> None:
    path = tmp_path / "claude-mem.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(SCHEMA)
        connection.executemany(
            "INSERT INTO observations (memory_session_id, project, type, title, narrative, created_at,"
            " created_at_epoch) VALUES ('s', 'widget', 'decision', ?, ?, '', ?)",
            [(f"Note {n}", "long text " * 300, EPOCH_MS + n) for n in range(200)],
        )
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 40_000] = bytes(40_000)
    path.write_bytes(bytes(data))
    async with opened(tmp_path) as cache:
        report = await take_in(cache, path)
        assert report.imported
        assert any("damaged" in reason for reason in reasons(report).values())
