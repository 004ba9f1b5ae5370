"""What each tool promises: a call that works, and what it says to each kind of call that cannot.

The same table is gone through over every transport, by clients of both protocol eras.
"""

from dataclasses import dataclass
from typing import Any

from memory_cache import conflicts, document_file, documents, files, patterns
from memory_cache.cache import MemoryCache
from memory_cache.conflicts import ConflictRecord
from memory_cache.documents import Caps
from memory_cache.models import Change, Draft
from tests.mcp_server.world import START

NOWHERE = "ffffffff"
"""An id that names nothing."""


@dataclass(frozen=True, slots=True)
class Ids:
    """What there is when the first tool is called."""

    kept: str
    other: str
    changed: str
    doomed: str
    merged: tuple[str, str]
    trashed: str
    conflict: str
    document: str
    pattern: str


async def prepare(cache: MemoryCache) -> Ids:
    """Something for every tool to work on."""

    async def memory(title: str, **more: Any) -> str:
        content = f"# {title}\n\nText of {title}."
        return (await cache.remember(Draft(content=content, category="learning", **more))).memory.id

    changed, trashed, mine = [await memory(title) for title in ("Changing", "Gone", "Disputed")]
    await cache.update(changed, Change(content="# Changed\n\nTwice."))
    await cache.forget(trashed)
    ids = [await memory(title) for title in ("Kept", "Other", "Doomed", "Part one", "Part two")]
    path = (await cache.get(mine)).path

    def shelve(connection: Any) -> tuple[str, str, str]:
        record = ConflictRecord(mine, path, "laptop", START, None, b"# Theirs\n")
        files.add(connection, "conflicts/00000001-00000002.json", conflicts.encode(record))
        document = document_file.DocumentFile(
            title="Router", content="How routes nest.", type="library-docs", source="/vercel/next.js",
            source_tool="context7", created=START, updated=START,
        )  # fmt: skip
        stored, _ = documents.store(connection, document, synced=True, caps=Caps(), now=START)
        sighting = patterns.store(
            connection, description="Squash before merging a branch", category="git", project=None, example=None,
            device="laptop", now=START,
        )  # fmt: skip
        return conflicts.listed(connection)[0].id, stored, sighting.pattern.id

    conflict, document, pattern = await cache.database.write(shelve)
    return Ids(ids[0], ids[1], changed, ids[2], (ids[3], ids[4]), trashed, conflict, document, pattern)


Failures = tuple[tuple[dict[str, Any], str], ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One tool: arguments that work and what the answer says; arguments that do not, and what that answer says."""

    tool: str
    works: dict[str, Any]
    says: str
    fails: Failures


def _id_failures(**more: Any) -> Failures:
    return (
        ({"id": NOWHERE, **more}, "list or recall"),
        ({"id": "", **more}, "empty"),
        ({"id": "ab", **more}, "too short"),
        (more, "id is required"),
    )


def cases(ids: Ids, folder: str) -> list[Case]:
    """All tools, in an order in which each finds what it needs. `folder`: one that may become the storage."""
    limits: Failures = (({"limit": 0}, "limit"), ({"limit": "many"}, "limit"))
    return [
        Case("remember", {"category": "task", "content": "# New task", "priority": "high", "ttl": "7d"}, "ID: ", (
            ({"content": "x"}, "category is required"), ({"category": "task"}, "content is required"),
            ({"category": "task", "content": " "}, "empty"), ({"category": "../x", "content": "x"}, "category"),
            ({"category": "task", "content": "x", "ttl": "0d"}, "at least 1d"),
            ({"category": "task", "content": "x", "priority": "urgent"}, "high"),
            ({"category": "task", "content": "x", "global": True, "project": "y"}, "either global or of one project"),
            ({"category": "task", "content": "x", "tag": ["y"]}, "Did you mean tags?"),
        )),
        Case("recall", {"query": "kept"}, f"**ID:** {ids.kept}", (
            *limits, ({"max_tokens": 0}, "max_tokens"), ({"since_days": -1}, "since_days"), ({"q": "x"}, "query"),
            ({"category": "a/b"}, "No memories found"),
        )),
        Case("get_context", {"verbose": True}, "Detected technologies: none", limits),
        Case("list", {"category": "learning"}, f"`{ids.kept[:8]}` Kept", (*limits, ({"cursor": "?"}, "cursor"))),
        Case("update", {"id": ids.changed, "tags": ["a"]}, "Updated tags", (
            *_id_failures(content="x"), ({"id": ids.changed}, "needs something to change"),
            ({"id": ids.changed, "ttl": "0d"}, "at least 1d"), ({"id": ids.changed, "category": ".."}, "category"),
            ({"id": ids.trashed, "content": "x"}, "restore brings it back"),
        )),
        Case("forget", {"id": ids.doomed}, "Forgotten: Doomed", _id_failures()),
        Case("status", {}, "# Memory status", (({"x": 1}, "no arguments"),)),
        Case("search_documents", {"query": "routes"}, ids.document, (
            ({}, "query is required"), ({"query": "routes", "limit": 0}, "limit"),
            ({"query": "routes", "project": " "}, "project id"),
        )),
        Case("get_document", {"id": ids.document}, "How routes nest.", (
            ({"id": NOWHERE}, "search_documents"), ({"id": ""}, "too short"), ({}, "id is required"),
        )),
        Case("restore", {"id": ids.trashed}, "Restored: Gone", (
            ({"id": ids.kept}, "not deleted"), ({"id": ids.changed, "revision": 99}, "revision"), *_id_failures(),
        )),
        Case("history", {"id": ids.changed}, "Revision", _id_failures()),
        Case("undo_last_change", {}, "Undone: restore", (({"id": ids.kept}, "no arguments"),)),
        Case("link_memories", {"id1": ids.kept, "id2": ids.other}, "Linked", (
            ({"id1": ids.kept, "id2": ids.kept}, "itself"), ({"id1": ids.kept, "id2": NOWHERE}, "list or recall"),
            ({"id1": ids.kept}, "id2 is required"), ({"id1": ids.kept, "id2": ids.other, "operation": "x"}, "unlink"),
        )),
        Case("get_related", {"id": ids.kept}, "Other", (*_id_failures(), ({"id": ids.kept, "depth": 0}, "depth"))),
        Case("visualize_graph", {}, "graph LR", (
            ({"fromId": NOWHERE}, "list or recall"), ({"depth": 99}, "depth"),
        )),
        Case("merge_memories", {"ids": list(ids.merged)}, "Merged 2 memories", (
            ({"ids": [ids.kept]}, "two or more"), ({"ids": [ids.kept, ids.kept]}, "Give each memory once"),
            ({"ids": [ids.kept, NOWHERE]}, "list or recall"), ({}, "ids is required"),
        )),
        Case("batch_tag", {"tag": "t", "query": "kept"}, "1 memory got the tag t", (
            ({"tag": ""}, "tag"), ({}, "tag is required"), ({"tag": "t", "operation": "x"}, "remove"),
            ({"tag": "t", "query": " "}, "query"),
        )),
        Case("batch_delete", {"query": "kept"}, "1 memory would go to the trash", (
            ({}, "Give at least one of"), ({"query": " "}, "query"), ({"query": "x", "dryRun": "maybe"}, "dryRun"),
        )),
        Case("cleanup", {"dryRun": True}, "No memory is expired", (({"dry_run": True}, "Did you mean dryRun?"),)),
        Case("get_statistics", {}, "learning", (({"x": 1}, "no arguments"),)),
        Case("project_status", {}, "1 project", (({"project": " "}, "project id"),)),
        Case("export_memories", {"format": "markdown"}, "Kept", (({"format": "xml"}, "markdown"),)),
        Case("list_conflicts", {}, ids.conflict, (({"id": NOWHERE}, ids.conflict),)),
        Case("resolve_conflict", {"id": ids.conflict, "keep": "both"}, "Settled (kept both)", (
            ({"id": NOWHERE, "keep": "mine"}, "List the open conflicts"), ({"id": ids.conflict}, "keep"),
            ({"id": ids.conflict, "keep": "mine", "content": "x"}, "keep"), ({"keep": "mine"}, "id is required"),
            ({"id": ids.conflict, "keep": "none"}, "theirs"),
        )),
        Case("pattern_store", {"description": "Squash before merging a branch", "category": "git"}, "Seen 2 times", (
            ({"description": "short", "category": "git"}, "10 to 1000"),
            ({"category": "git"}, "description is required"),
            ({"description": "long enough a text", "category": "git", "example": "x"}, "10 to 2000"),
            ({"description": "long enough a text", "category": "a/b"}, "category"),
        )),
        Case("pattern_search", {"query": "squash"}, f"ID: {ids.pattern}", (
            ({}, "query is required"), ({"query": "squash", "min_count": 0}, "min_count"),
            ({"query": "squash", "limit": 0}, "limit"),
        )),
        Case("pattern_mature", {"min_count": 2}, f"ID: {ids.pattern}", (({"min_count": 0}, "min_count"),)),
        Case("pattern_mark_as_skill", {"pattern_ids": [ids.pattern]}, "1 pattern marked as a skill", (
            ({"pattern_ids": []}, "pattern_store"), ({"pattern_ids": [NOWHERE]}, "pattern_search"),
            ({"pattern_ids": ["ab"]}, "too short"), ({}, "pattern_ids is required"),
        )),
        Case("configure_storage", {"action": "custom", "path": folder}, f"Storage folder: {folder}", (
            ({}, "action is required"), ({"action": "move"}, "select"), ({"action": "custom"}, "path"),
            ({"action": "select", "index": 99}, "action="), ({"action": "custom", "path": "/nowhere/at/all"}, "exist"),
        )),
    ]  # fmt: skip
