"""The three versions of a file: what `files` promises about content, base and sent, whatever happens in which order."""

import sqlite3
from dataclasses import dataclass, replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from memory_cache import files, indexing, remote_tree
from memory_cache.errors import EditedMeanwhile
from memory_cache.files import FileRecord, content_hash

from .store import derived, memory_file, new_connection

PATHS = [
    "memories/task/2026-01-01-a-aaaa0001.md",
    "memories/task/2026-01-01-a-aaaa0001 (1).md",
    "memories/note.md",
    "documents/d.md",
    "conflicts/c-1.json",
]
CONTENTS = [
    b"",
    b"no front matter\n",
    memory_file("aaaa0001-x", "One", tags=["A", "b"]),
    memory_file("aaaa0001-x", "Two", related_to=["bbbb"]),
    memory_file("bbbb0002-y", "Three", project_id="github.com/A/B", priority="high"),
    b"---\nid: aaaa0001-x\ntags: [broken\n---\nbody\n",
    b"\xff\xfe broken bytes",
    b'{"memory_id": "aaaa0001-x", "theirs": "x", "at": "2026-01-01T00:00:00Z"}',
]


@dataclass
class Model:
    path: str
    content: bytes | None
    version: int = 1
    item: str | None = None
    base: bytes | None = None
    base_version: str | None = None
    sent: bytes | None = None


contents = st.sampled_from(CONTENTS)
paths = st.sampled_from(PATHS)


class ThreeVersions(RuleBasedStateMachine):
    """Compares the table with a model that stores all three versions plainly."""

    rows = Bundle("rows")

    def __init__(self) -> None:
        super().__init__()
        self.connection = new_connection()
        self.model: dict[int, Model] = {}
        self.items = 0

    def teardown(self) -> None:
        self.a_rebuild_changes_nothing()
        self.connection.close()

    def _changed(self, file_id: int, **values: object) -> None:
        before = self.model[file_id]
        after = replace(before, **values)  # type: ignore[arg-type]
        if (before.path, before.content) != (after.path, after.content):
            after.version += 1
        self.model[file_id] = after

    def _item_of(self, file_id: int) -> str:
        known = self.model[file_id].item
        if known is None:
            self.items += 1
        return known or f"item{self.items}"

    @rule(target=rows, path=paths, content=contents)
    def add(self, path: str, content: bytes) -> int:
        record = files.add(self.connection, path, content)
        self.model[record.file_id] = Model(path, content)
        return record.file_id

    @rule(target=rows, path=paths, content=contents)
    def download_new(self, path: str, content: bytes) -> int:
        self.items += 1
        item = f"item{self.items}"
        record = files.take_remote(self.connection, item_id=item, path=path, version="v0", data=content, file_id=None)
        self.model[record.file_id] = Model(path, content, 1, item, content, "v0")
        return record.file_id

    @rule(file_id=rows, content=contents)
    def write(self, file_id: int, content: bytes) -> None:
        if file_id in self.model:
            files.write(self.connection, file_id, content, expected=self.model[file_id].version)
            self._changed(file_id, content=content)

    @rule(file_id=rows, path=paths)
    def move(self, file_id: int, path: str) -> None:
        if file_id in self.model:
            files.move(self.connection, file_id, path)
            self._changed(file_id, path=path)

    @rule(file_id=rows)
    def delete(self, file_id: int) -> None:
        if file_id not in self.model:
            return
        files.delete(self.connection, file_id, expected=self.model[file_id].version)
        row = self.model[file_id]
        if row.item is None and row.sent is None and row.content is not None:
            del self.model[file_id]
        else:
            self._changed(file_id, content=None)

    @rule(file_id=consumes(rows))
    def drop(self, file_id: int) -> None:
        files.drop(self.connection, file_id)
        self.model.pop(file_id, None)

    @rule(file_id=rows, path=paths, content=contents, version=st.sampled_from(["v1", "v2"]))
    def take_remote(self, file_id: int, path: str, content: bytes, version: str) -> None:
        if file_id in self.model:
            item = self._item_of(file_id)
            files.take_remote(self.connection, item_id=item, path=path, version=version, data=content, file_id=file_id)
            self._changed(file_id, path=path, content=content, item=item, base=content, base_version=version, sent=None)

    @rule(file_id=rows, content=contents, path=paths, version=st.sampled_from(["v3", "v4"]))
    def record_base(self, file_id: int, content: bytes, path: str, version: str) -> None:
        if file_id in self.model:
            item = self._item_of(file_id)
            files.record_base(self.connection, file_id, item_id=item, path=path, version=version, data=content)
            self._changed(file_id, path=path, item=item, base=content, base_version=version, sent=None)

    @rule(file_id=rows, content=contents)
    def remember_sent(self, file_id: int, content: bytes) -> None:
        if file_id in self.model:
            files.remember_sent(self.connection, file_id, content)
            self._changed(file_id, sent=content)

    @rule(file_id=rows)
    def clear_base(self, file_id: int) -> None:
        if file_id in self.model:
            files.clear_base(self.connection, file_id)
            self._changed(file_id, item=None, base=None, base_version=None, sent=None)

    @precondition(lambda self: len(self.model) > 2)
    @rule()
    def another_storage(self) -> None:
        files.clear_every_base(self.connection)
        self.model = {number: row for number, row in self.model.items() if row.content is not None}
        for file_id in self.model:
            self._changed(file_id, item=None, base=None, base_version=None, sent=None)

    @rule(file_id=rows, content=contents)
    def a_late_step_of_an_old_plan_is_refused(self, file_id: int, content: bytes) -> None:
        stale = self.model[file_id].version - 1 if file_id in self.model else 1
        with pytest.raises(EditedMeanwhile):
            files.write(self.connection, file_id, content, expected=stale)
        with pytest.raises(EditedMeanwhile):
            files.delete(self.connection, file_id, expected=stale)

    @invariant()
    def every_row_tells_the_three_versions(self) -> None:
        stored = {row[0] for row in self.connection.execute("SELECT file_id FROM files")}
        assert stored == self.model.keys()
        for file_id, row in self.model.items():
            record = files.get(self.connection, file_id)
            assert record == FileRecord(
                file_id=file_id,
                path=row.path,
                kind=files.kind_of(row.path),
                content=row.content,
                local_version=row.version,
                item_id=row.item,
                base_version=row.base_version,
                base_path=record.base_path if record else None,
                base=row.base,
                sent=row.sent,
            )
            assert record.changed_here == (row.content != row.base)
            assert row.item is None or files.by_item(self.connection, row.item) == record

    @invariant()
    def hashes_fit_and_nothing_is_stored_twice(self) -> None:
        for row in self.connection.execute("SELECT * FROM files"):
            content, base = row["content"], row["base_content"]
            assert row["content_hash"] == (None if content is None else content_hash(content))
            assert (row["item_id"] is None) == (row["base_hash"] is None) == (row["base_version"] is None)
            assert (row["item_id"] is None) == (row["base_path"] is None)
            if base is not None:
                assert row["base_hash"] == content_hash(base)
                assert row["base_hash"] != row["content_hash"]
            assert (row["sent_hash"] is None) == (row["sent_content"] is None)

    @invariant()
    def what_is_not_in_step_is_found(self) -> None:
        found = {pair[0] for pair in remote_tree.divergent(self.connection)}
        expected = {number for number, row in self.model.items() if row.item is None or row.content != row.base}
        assert expected <= found

    @rule()
    def a_rebuild_changes_nothing(self) -> None:
        before = derived(self.connection)
        indexing.rebuild(self.connection)
        assert derived(self.connection) == before

    @invariant()
    def every_living_id_is_one_memory(self) -> None:
        rows = self.connection.execute(
            "SELECT f.content, f.kind, m.id FROM files f LEFT JOIN memories m USING (file_id)"
        ).fetchall()
        for row in rows:
            if row["content"] is None or row["kind"] != "memory":
                assert row["id"] is None


TestThreeVersions = ThreeVersions.TestCase
TestThreeVersions.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


@pytest.fixture
def connection() -> sqlite3.Connection:
    connection = new_connection()
    yield connection
    connection.close()


def test_a_change_during_an_upload_stays_a_change(connection: sqlite3.Connection) -> None:
    record = files.add(connection, PATHS[0], CONTENTS[2])
    files.remember_sent(connection, record.file_id, CONTENTS[2])
    files.write(connection, record.file_id, CONTENTS[3])
    after = files.record_base(connection, record.file_id, item_id="i", path=PATHS[0], version="v1", data=CONTENTS[2])
    assert (after.content, after.base, after.sent) == (CONTENTS[3], CONTENTS[2], None)
    assert after.changed_here


def test_a_file_whose_upload_may_have_arrived_is_not_dropped_by_a_delete(connection: sqlite3.Connection) -> None:
    record = files.add(connection, PATHS[0], CONTENTS[2])
    files.remember_sent(connection, record.file_id, CONTENTS[2])
    files.delete(connection, record.file_id)
    after = files.get(connection, record.file_id)
    assert after is not None
    assert (after.content, after.sent) == (None, CONTENTS[2])


def test_two_rows_never_stand_for_one_item(connection: sqlite3.Connection) -> None:
    files.take_remote(connection, item_id="i", path=PATHS[0], version="v", data=b"a", file_id=None)
    with pytest.raises(EditedMeanwhile):
        files.take_remote(connection, item_id="i", path=PATHS[2], version="v", data=b"b", file_id=None)
    other = files.add(connection, PATHS[2], b"b")
    with pytest.raises(EditedMeanwhile):
        files.record_base(connection, other.file_id, item_id="i", path=PATHS[2], version="v", data=b"b")
    assert files.by_item(connection, "i").content == b"a"


def test_what_a_write_or_a_download_replaces_stays_as_a_revision(connection: sqlite3.Connection) -> None:
    record = files.add(connection, PATHS[0], CONTENTS[2])
    files.write(connection, record.file_id, CONTENTS[3])
    files.take_remote(connection, item_id="i", path=PATHS[0], version="v", data=CONTENTS[2], file_id=record.file_id)
    kept = connection.execute("SELECT content, reason FROM revisions ORDER BY revision_id").fetchall()
    assert [tuple(row) for row in kept] == [(CONTENTS[2], "write"), (CONTENTS[3], "sync")]


def test_equal_bytes_are_no_change(connection: sqlite3.Connection) -> None:
    record = files.add(connection, PATHS[0], CONTENTS[2])
    assert files.write(connection, record.file_id, CONTENTS[2]).local_version == record.local_version
    assert connection.execute("SELECT count(*) FROM revisions").fetchone()[0] == 0


def test_a_path_out_of_scope_is_refused(connection: sqlite3.Connection) -> None:
    with pytest.raises(ValueError, match="not a file of this store"):
        files.add(connection, "../outside.md", b"")
