"""Skill patterns: counted as sets of occurrences, matched by likeness, proposed from the third on."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from memory_cache import files, indexing, pattern_file, patterns
from memory_cache.errors import AmbiguousId, InvalidInput, UnknownMemory
from memory_cache.models import Project
from memory_cache.pattern_similarity import SAME_PATTERN, Profile, similarity
from tests.memory_cache.store import NOW, new_connection

WIDGET = Project(id="github.com/acme/widget", key="github.com/acme/widget", name="widget")
GADGET = Project(id="github.com/acme/gadget", key="github.com/acme/gadget", name="gadget")
TEXT = "Write a failing test before fixing a bug"


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(new_connection()) as opened:
        yield opened


@pytest.fixture
def other() -> Iterator[sqlite3.Connection]:
    with closing(new_connection()) as opened:
        yield opened


def see(connection: sqlite3.Connection, description: str = TEXT, **more: Any) -> patterns.Sighting:
    minutes = more.pop("minutes", 0)
    values: dict[str, Any] = {"category": "testing", "project": None, "example": None, "device": "laptop", **more}
    return patterns.store(connection, description=description, now=NOW + timedelta(minutes=minutes), **values)


def only_file(connection: sqlite3.Connection) -> bytes:
    rows = connection.execute("SELECT content FROM files WHERE content IS NOT NULL").fetchall()
    assert len(rows) == 1
    return bytes(rows[0][0])


def test_the_same_pattern_in_other_words_is_counted_and_the_example_kept(connection: sqlite3.Connection) -> None:
    first = see(connection, example="test_login fails first")
    second = see(
        connection, "Before fixing a bug, write a test that is failing", minutes=5, example="see issue 12, test first"
    )
    assert first.is_new
    assert not second.is_new
    assert second.pattern.id == first.pattern.id
    assert second.pattern.count == 2
    assert second.pattern.examples == ("see issue 12, test first", "test_login fails first")
    assert not second.pattern.mature
    assert see(connection, minutes=6).pattern.mature


def test_sightings_of_one_moment_are_as_many_as_there_were(connection: sqlite3.Connection) -> None:
    for number in range(1, 6):
        assert see(connection).pattern.count == number, "sessions side by side"


def test_category_and_project_scope_keep_patterns_apart(connection: sqlite3.Connection) -> None:
    ids = {
        see(connection, project=project, category=category).pattern.id
        for project in (None, WIDGET, GADGET)
        for category in ("testing", "learning")
    }
    assert len(ids) == 6


def test_another_number_is_another_pattern() -> None:
    one, other = Profile.of("Use port 3001 for the API server"), Profile.of("Use port 3002 for the API server")
    assert similarity(one, other) < SAME_PATTERN


def test_counts_of_two_devices_add_up(connection: sqlite3.Connection, other: sqlite3.Connection) -> None:
    for minutes in range(2):
        see(connection, minutes=minutes, device="laptop")
        see(other, minutes=minutes, device="desktop")
    merged = pattern_file.merge(only_file(connection), only_file(other))
    for device in (connection, other):
        row = device.execute("SELECT file_id FROM files").fetchone()
        files.write(device, row["file_id"], merged)
        found, _ = patterns.search(device, "failing test")
        assert [(pattern.count, pattern.devices) for pattern, _ in found] == [(4, 2)]


def test_patterns_that_two_devices_worded_differently_while_apart_are_united(
    connection: sqlite3.Connection, other: sqlite3.Connection
) -> None:
    mine = see(connection).pattern
    theirs = see(other, "Always write a failing test before fixing the bug", minutes=1, device="desktop").pattern
    assert mine.id != theirs.id
    data = only_file(other)
    files.take_remote(connection, item_id="7", path="patterns/other-1.md", version="1", data=data, file_id=None)
    united = see(connection, minutes=9).pattern
    assert (united.id, united.count) == (mine.id, 3)
    assert "Always write a failing test before fixing the bug" in united.examples
    # The other device adds to its own file meanwhile, and edit beats delete: nothing is counted twice.
    again = see(other, "Always write a failing test before fixing the bug", minutes=4, device="desktop")
    row = connection.execute("SELECT file_id FROM files WHERE content IS NULL").fetchone()
    files.write(connection, row["file_id"], only_file(other))
    assert again.pattern.count == 2
    assert see(connection, minutes=10).pattern.count == 5


def test_filters_hold_before_the_limit(connection: sqlite3.Connection) -> None:
    for number in range(20):
        see(connection, f"Deploy service number {number} with a canary release", minutes=number)
    wanted = see(connection, "Canary release checks for the deploy of a service", category="ops", minutes=30)
    found, more = patterns.search(connection, "canary release deploy service", category="ops", limit=1)
    assert [pattern.id for pattern, _ in found] == [wanted.pattern.id]
    assert more == 0
    assert patterns.search(connection, "canary release", min_count=2)[0] == []
    assert len(patterns.search(connection, "canary release", project_key="github.com/x/y", limit=5)[0]) == 5


def test_mature_patterns_most_seen_first_and_marked_ones_only_when_asked_for(connection: sqlite3.Connection) -> None:
    for minutes in range(3):
        three = see(connection, minutes=minutes).pattern
    for minutes in range(4):
        four = see(connection, "Rebase the branch onto main before review", category="git", minutes=minutes).pattern
    see(connection, "Only seen once so far here")
    assert [pattern.id for pattern in patterns.mature(connection)] == [four.id, three.id]
    marked = patterns.mark_as_skill(connection, [three.id[:8], three.id], NOW)
    assert [pattern.id for pattern in marked] == [three.id]
    assert [pattern.id for pattern in patterns.mature(connection)] == [four.id]
    assert {pattern.id for pattern in patterns.mature(connection, exclude_created=False)} == {three.id, four.id}
    assert patterns.mature(connection, category="testing") == []
    patterns.mark_as_skill(connection, [three.id], NOW + timedelta(days=9))
    assert patterns.mature(connection, category="testing", exclude_created=False)[0].skill_at == NOW


def test_marking_is_all_or_nothing(connection: sqlite3.Connection) -> None:
    known = see(connection).pattern.id
    with pytest.raises(UnknownMemory, match="No pattern"):
        patterns.mark_as_skill(connection, [known, "ffffffff"], NOW)
    assert patterns.mature(connection, min_count=1)[0].skill_at is None
    with pytest.raises(InvalidInput):
        patterns.mark_as_skill(connection, [], NOW)
    with pytest.raises(InvalidInput, match="too short"):
        patterns.mark_as_skill(connection, ["a"], NOW)


@pytest.mark.parametrize(
    ("description", "example"),
    [("too short", None), ("x" * 1001, None), (TEXT, "short"), (TEXT, "x" * 2001), ("   ", None)],
)
def test_lengths_are_checked(connection: sqlite3.Connection, description: str, example: str | None) -> None:
    with pytest.raises(InvalidInput, match="characters"):
        see(connection, description, example=example)
    assert connection.execute("SELECT count(*) FROM files").fetchone()[0] == 0


def test_private_text_is_not_kept(connection: sqlite3.Connection) -> None:
    see(connection, f"{TEXT} <private>hunter2</private>", example="an example <private>hunter2</private>")
    assert b"hunter2" not in only_file(connection)


def test_a_rebuild_derives_the_same(connection: sqlite3.Connection) -> None:
    see(connection, project=WIDGET, example="an example of it")
    see(connection, project=WIDGET, minutes=1)
    tables = ("patterns", "pattern_occurrences")
    before = [[tuple(row) for row in connection.execute(f"SELECT * FROM {table}")] for table in tables]
    indexing.rebuild(connection)
    assert [[tuple(row) for row in connection.execute(f"SELECT * FROM {table}")] for table in tables] == before


def test_ambiguous_prefixes_name_the_candidates(connection: sqlite3.Connection) -> None:
    one = see(connection).pattern.id
    see(connection, "Rebase the branch onto main before review")
    connection.execute("UPDATE patterns SET id = ? WHERE id <> ?", (one[:8] + "0" * 24, one))
    with pytest.raises(AmbiguousId, match=one):
        patterns.find(connection, one[:8])
