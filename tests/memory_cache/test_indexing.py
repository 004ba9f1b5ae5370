"""What is derived from the bytes of files: one id per memory whatever the order, any bytes, rebuilt equal."""

import itertools
import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_cache import conflicts, files, indexing, memories, problems
from memory_cache.conflicts import ConflictRecord

from .store import NOW, derived, memory_file, new_connection

OWN = "memories/task/2026-01-01-port-aaaa1111.md"
COPY = "memories/task/2026-01-01-port-aaaa1111-LAPTOP.md"
PLACE = "memories/a.md"
ID = "aaaa1111-0000-4000-8000-000000000000"


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = new_connection()
    yield connection
    connection.close()


def ids_by_path(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(
        connection.execute("SELECT f.path, m.id FROM memories m JOIN files f USING (file_id)").fetchall()  # type: ignore[arg-type]
    )


def test_the_file_that_keeps_an_id_does_not_depend_on_which_came_first() -> None:
    outcomes = []
    for order in itertools.permutations([OWN, COPY, PLACE, "memories/task/old.md"]):
        connection = new_connection()
        for path in order:
            files.add(connection, path, memory_file(ID, path))
        outcomes.append(ids_by_path(connection))
        connection.close()
    assert all(outcome == outcomes[0] for outcome in outcomes)
    assert outcomes[0][OWN] == ID
    assert len(set(outcomes[0].values())) == 4


def test_without_its_rival_a_copy_gets_the_written_id_back(connection: sqlite3.Connection) -> None:
    original = files.add(connection, OWN, memory_file(ID, "one"))
    files.add(connection, COPY, memory_file(ID, "two"))
    assert problems.count(connection) == 1
    derived_id = ids_by_path(connection)[COPY]
    assert derived_id != ID
    files.delete(connection, original.file_id)
    assert ids_by_path(connection) == {COPY: ID}
    assert problems.count(connection) == 0
    files.add(connection, OWN, memory_file(ID, "one"))
    assert ids_by_path(connection) == {OWN: ID, COPY: derived_id}


def test_a_written_id_beats_one_derived_for_another_file(connection: sqlite3.Connection) -> None:
    files.add(connection, OWN, memory_file(ID, "one"))
    files.add(connection, COPY, memory_file(ID, "two"))
    taken = ids_by_path(connection)[COPY]
    files.add(connection, PLACE, memory_file(taken, "three"))
    ids = ids_by_path(connection)
    assert ids[PLACE] == taken
    assert len(set(ids.values())) == 3


@given(st.binary(max_size=300) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_at_all_can_be_a_file_of_any_kind(data: bytes) -> None:
    connection = new_connection()
    for path in (OWN, "conflicts/a-b.json", "documents/a.md", "patterns/a.md", "devices/a.json", "index.json"):
        files.add(connection, path, data)
    before = derived(connection)
    indexing.rebuild(connection)
    assert derived(connection) == before
    connection.close()


def test_a_file_without_an_id_is_no_memory_yet(connection: sqlite3.Connection) -> None:
    files.add(connection, PLACE, b"# Just a note\n\nText\n")
    assert memories.count(connection) == 0
    assert [problem.code for problem in problems.listed(connection)] == ["no-id"]
    assert problems.count(connection) == 0, "it waits, that is no fault"


def test_a_broken_front_matter_with_an_id_is_shown_and_marked_read_only(connection: sqlite3.Connection) -> None:
    files.add(connection, PLACE, b"---\nid: broken01\ntags: [a\nx: : y\n---\nThe text\n")
    memory = memories.find(connection, "broken01").memory
    assert "The text" in memory.content
    assert memory.read_only
    assert [problem.code for problem in problems.listed(connection)] == ["read-only"]


def test_a_file_that_is_no_text_is_listed_and_can_be_found(connection: sqlite3.Connection) -> None:
    files.add(connection, PLACE, b"\xff\xfe\x00binary \xc3\x28")
    (problem,) = problems.listed(connection)
    assert problem.code == "read-only"
    assert memories.count(connection) == 1


def test_category_and_dates_come_from_the_path_where_the_file_says_nothing(connection: sqlite3.Connection) -> None:
    files.add(connection, "memories/decision/2024-05-06-x.md", b"---\nid: plain001\n---\nText\n")
    memory = memories.find(connection, "plain001").memory
    assert (memory.category, memory.created.isoformat()[:10], memory.priority) == ("decision", "2024-05-06", "normal")


def test_a_change_leaves_no_old_tags_links_or_terms(connection: sqlite3.Connection) -> None:
    record = files.add(connection, OWN, memory_file(ID, "Alpha", tags=["One", "Two"], related_to=["x", ID]))
    assert [tuple(r) for r in connection.execute("SELECT target_id FROM memory_links")] == [("x",)]
    files.write(connection, record.file_id, memory_file(ID, "Beta", tags=["two"]))
    assert [row[0] for row in connection.execute("SELECT tag_key FROM memory_tags")] == ["two"]
    assert connection.execute("SELECT count(*) FROM memory_links").fetchone()[0] == 0
    files.delete(connection, record.file_id)
    assert all(rows == [] for rows in derived(connection).values())


def test_a_conflict_record_survives_writing_and_reading_byte_for_byte(connection: sqlite3.Connection) -> None:
    record = ConflictRecord(ID, OWN, "laptop", NOW, None, b"\xff broken\r\n" + memory_file(ID, "umläut"))
    assert conflicts.decode(conflicts.encode(record)) == record
    assert conflicts.path_of(record) == conflicts.path_of(record)
    files.add(connection, conflicts.path_of(record), conflicts.encode(record))
    (listed,) = conflicts.listed(connection)
    assert (listed.memory_id, listed.device, listed.mine) == (ID, "laptop", "")


def test_a_conflict_record_that_cannot_be_read_is_a_problem(connection: sqlite3.Connection) -> None:
    for number, data in enumerate([b"", b"[]", b"{}", b'{"memory_id": 1, "theirs": "x"}', b"[" * 100_000]):
        files.add(connection, f"conflicts/c-{number}.json", data)
    assert conflicts.count(connection) == 0
    assert problems.count(connection) == 5
