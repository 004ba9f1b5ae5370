"""The storage as last observed: pages, enumerations, scopes, and which pairs are not in step."""

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_cache import files, meta, remote_tree
from memory_cache.remote_tree import RemoteItem, RemoteState

from .store import memory_file, new_connection

PATH = "memories/task/2026-01-01-a-aaaa0001.md"


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = new_connection()
    yield connection
    connection.close()


def item(number: int, version: str = "v1", path: str | None = None) -> RemoteItem:
    return RemoteItem(f"i{number}", path or f"memories/task/{number}.md", version, 10, None)


def states(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT item_id, state FROM remote_items ORDER BY item_id").fetchall())


def test_absence_shows_only_with_the_last_page_of_an_enumeration(connection: sqlite3.Connection) -> None:
    remote_tree.begin_enumeration(connection)
    remote_tree.observe(connection, [item(1), item(2), item(3)], [], "c1", more=False)
    remote_tree.begin_enumeration(connection)
    remote_tree.observe(connection, [item(1)], [], "c2", more=True)
    assert set(states(connection).values()) == {"present"}
    remote_tree.observe(connection, [item(3)], [], "c3", more=False)
    assert states(connection) == {"i1": "present", "i2": "absent", "i3": "present"}


def test_an_item_written_by_this_device_during_an_enumeration_is_not_absent(connection: sqlite3.Connection) -> None:
    remote_tree.begin_enumeration(connection)
    remote_tree.observe(connection, [item(1)], [], "c1", more=True)
    remote_tree.store(connection, item(9))
    remote_tree.observe(connection, [], [], "c2", more=False)
    assert states(connection) == {"i1": "present", "i9": "present"}


def test_an_enumeration_goes_on_after_a_restart_where_it_was(connection: sqlite3.Connection) -> None:
    remote_tree.begin_enumeration(connection)
    remote_tree.observe(connection, [item(1)], [], "c1", more=True)
    where = remote_tree.position(connection)
    assert (where.cursor, where.enumerating, where.enumerated) == ("c1", True, False)
    remote_tree.observe(connection, [item(2)], [], "c2", more=False)
    where = remote_tree.position(connection)
    assert (where.cursor, where.enumerating, where.enumerated) == ("c2", False, True)


def test_an_enumeration_begun_anew_keeps_what_is_known_until_it_is_complete(connection: sqlite3.Connection) -> None:
    remote_tree.begin_enumeration(connection)
    remote_tree.observe(connection, [item(1)], [], "c1", more=False)
    remote_tree.begin_enumeration(connection)
    assert remote_tree.position(connection).cursor is None
    assert remote_tree.position(connection).enumerated
    assert states(connection) == {"i1": "present"}


def test_a_removed_item_that_comes_back_is_present(connection: sqlite3.Connection) -> None:
    remote_tree.observe(connection, [item(1)], ["unknown"], "c1", more=False)
    remote_tree.observe(connection, [], ["i1"], "c2", more=False)
    assert states(connection) == {"i1": "removed"}
    assert remote_tree.count_present(connection) == 0
    remote_tree.observe(connection, [item(1, "v2")], [], "c3", more=False)
    assert states(connection) == {"i1": "present"}


def test_another_scope_makes_every_local_file_new_and_deletes_none(connection: sqlite3.Connection) -> None:
    assert remote_tree.enter_scope(connection, "store one")
    live = files.take_remote(
        connection, item_id="i1", path=PATH, version="v1", data=memory_file("aaaa0001"), file_id=None
    )
    gone = files.take_remote(
        connection, item_id="i2", path="memories/b.md", version="v1", data=memory_file("bbbb0002"), file_id=None
    )
    files.delete(connection, gone.file_id)
    remote_tree.observe(connection, [item(1, path=PATH)], [], "c1", more=False)
    assert not remote_tree.enter_scope(connection, "store one")
    assert remote_tree.position(connection).cursor == "c1"

    assert remote_tree.enter_scope(connection, "store two")
    after = files.get(connection, live.file_id)
    assert after is not None
    assert (after.content, after.item_id, after.base) == (memory_file("aaaa0001"), None, None)
    assert files.get(connection, gone.file_id) is None
    assert states(connection) == {}
    where = remote_tree.position(connection)
    assert (where.cursor, where.enumerated, where.enumerating) == (None, False, False)


def test_the_first_scope_keeps_bases(connection: sqlite3.Connection) -> None:
    record = files.take_remote(connection, item_id="i1", path=PATH, version="v1", data=b"x", file_id=None)
    remote_tree.enter_scope(connection, "store")
    assert files.get(connection, record.file_id) == record


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["local", "synced", "edited", "deleted", "moved there", "newer there"]),
            st.sampled_from(list(RemoteState)),
        ),
        max_size=6,
    ),
    st.integers(0, 3),
)
def test_exactly_the_pairs_that_differ_are_divergent(rows: list[tuple[str, RemoteState]], strangers: int) -> None:
    connection = new_connection()
    expected: set[tuple[int | None, str | None]] = set()
    for number, (kind, state) in enumerate(rows):
        path = f"memories/task/{number}.md"
        if kind == "local":
            expected.add((files.add(connection, path, b"x").file_id, None))
            continue
        file_id = files.take_remote(
            connection, item_id=f"i{number}", path=path, version="v1", data=b"x", file_id=None
        ).file_id
        seen = RemoteItem(f"i{number}", path, "v1", 1, None, state)
        if kind == "edited":
            files.write(connection, file_id, b"y")
        elif kind == "deleted":
            files.delete(connection, file_id)
        elif kind == "moved there":
            seen = RemoteItem(f"i{number}", f"memories/{number}.md", "v1", 1, None, state)
        elif kind == "newer there":
            seen = RemoteItem(f"i{number}", path, "v2", 1, None, state)
        remote_tree.store(connection, seen)
        if kind != "synced" or state != RemoteState.PRESENT:
            expected.add((file_id, f"i{number}"))
    for number in range(strangers):
        remote_tree.store(connection, item(100 + number))
        expected.add((None, f"i{100 + number}"))
    assert set(remote_tree.divergent(connection)) == expected
    for file_id, item_id in expected:
        pair = remote_tree.divergence(connection, file_id, item_id)
        assert (pair.file is None) == (file_id is None)
        assert (pair.remote is None) == (item_id is None)
    connection.close()


def test_meta_values_are_replaced_and_removed(connection: sqlite3.Connection) -> None:
    assert meta.get(connection, "k") is None
    meta.put(connection, "k", "1")
    meta.put(connection, "k", "2")
    assert meta.get(connection, "k") == "2"
    meta.delete(connection, "k")
    meta.delete(connection, "k")
    assert meta.get(connection, "k") is None
