"""Documents and patterns as files: read back what was written, merge without a conflict and without loss."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_cache import document_file, pattern_file
from memory_cache.document_file import DocumentFile
from memory_cache.pattern_file import PatternFile, occurrence

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
MOMENTS = st.integers(0, 10_000).map(lambda minutes: NOON + timedelta(minutes=minutes))
LINE = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
TEXT = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=200),
    st.sampled_from(["---\nid: x\n---\nbody", "## Seen 2026-11-30T10:00:00.000Z on x · 0123456789abcdef", "\\## Seen x",
                     "# Title\r\n\r\ntext\r\n", "```\ncode\n```", "日本語の文書"]),
)  # fmt: skip
PROJECTS = st.lists(
    st.sampled_from(["github.com/a/b", "github.com/A/B", "gitlab.com/x/y", "local:/work"]), max_size=3
).map(lambda projects: document_file.united(projects))


def document(content: str, minutes: int = 0, projects: tuple[str, ...] = ()) -> DocumentFile:
    return DocumentFile(
        title="Routing in Next.js", content=content, type="library-docs", source="/vercel/next.js",
        source_tool="context7", created=NOON + timedelta(minutes=minutes), updated=NOON + timedelta(minutes=minutes),
        projects=projects, metadata={"topic": "routing", "tokens": 500}, memory_session_id="s1", memory_id=None,
    )  # fmt: skip


@given(content=TEXT, projects=PROJECTS)
def test_a_document_reads_back_as_it_was_written(content: str, projects: tuple[str, ...]) -> None:
    written = document(content, projects=projects)
    read = document_file.decode(document_file.encode(written))
    assert read.content == document_file.normal(content)
    assert read.id == written.id
    assert (read.title, read.source, read.source_tool, read.type) == (
        written.title, written.source, written.source_tool, written.type,
    )  # fmt: skip
    assert read.projects == projects
    assert read.metadata == written.metadata
    assert (read.created, read.memory_session_id, read.memory_id) == (written.created, "s1", None)


def test_one_content_is_one_document_whatever_its_line_ends_and_title() -> None:
    first = document("one\ntwo\n")
    second = DocumentFile(**{**vars_of(first), "title": "Other", "content": "\ufeffone\r\ntwo"})
    assert first.id == second.id
    assert first.path == f"documents/routing-in-next-js-{first.id[:8]}.md"


def vars_of(record: DocumentFile) -> dict[str, object]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


@given(content=TEXT, first=PROJECTS, second=PROJECTS, minutes=st.tuples(st.integers(0, 99), st.integers(0, 99)))
def test_two_devices_that_fetch_one_text_make_one_file_of_all_projects(
    content: str, first: tuple[str, ...], second: tuple[str, ...], minutes: tuple[int, int]
) -> None:
    a = document_file.encode(document(content, minutes[0], first))
    b = document_file.encode(document(content, minutes[1], second))
    merged = document_file.merge(a, b)
    assert merged == document_file.merge(b, a)
    read = document_file.decode(merged)
    assert set(read.projects) == set(document_file.united(first, second))
    assert read.created == NOON + timedelta(minutes=min(minutes))
    assert read.updated == NOON + timedelta(minutes=max(minutes))
    assert document_file.merge(merged, a) == merged == document_file.merge(b, merged)


def test_what_a_person_adds_to_the_front_matter_survives_a_merge() -> None:
    plain = document_file.encode(document("text", 0, ("github.com/a/b",)))
    edited = document_file.encode(document("text", 5, ("gitlab.com/x/y",))).replace(
        b"source:", b"# kept by hand\nstars: 5\nsource:"
    )
    merged = document_file.merge(plain, edited)
    assert b"# kept by hand\nstars: 5\n" in merged
    assert document_file.decode(merged).projects == ("github.com/a/b", "gitlab.com/x/y")


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xfe", b"plain text", b"---\nmetadata: [\n---\nx", b"---\nprojects: 5\n---\n"]
)
def test_any_bytes_are_a_document_of_some_kind(data: bytes) -> None:
    assert document_file.decode(data).type == "custom"
    assert document_file.merge(data, b"---\nid: x\n---\nother") in (data, b"---\nid: x\n---\nother")


OCCURRENCES = st.lists(
    st.builds(occurrence, MOMENTS, st.sampled_from(["laptop", "my desktop"]), st.one_of(st.just(""), TEXT)), max_size=4
)


def pattern(
    seen: list[pattern_file.Occurrence], description: str = "Write the test first", minutes: int = 0
) -> PatternFile:
    unique = {entry.id: entry for entry in seen}
    return PatternFile(
        id=pattern_file.new_id("Write the test first", "testing", None), description=description, category="testing",
        created=NOON, updated=NOON + timedelta(minutes=minutes),
        occurrences=tuple(sorted(unique.values(), key=lambda entry: (entry.at, entry.id))),
    )  # fmt: skip


@given(seen=OCCURRENCES, description=TEXT)
def test_a_pattern_reads_back_with_every_occurrence(seen: list[pattern_file.Occurrence], description: str) -> None:
    written = pattern(seen, description)
    read = pattern_file.decode(pattern_file.encode(written))
    assert [(entry.id, entry.at, entry.device) for entry in read.occurrences] == [
        (entry.id, entry.at, entry.device) for entry in written.occurrences
    ]
    assert read.id == written.id
    if description.isprintable() and description == description.strip():
        assert read.description == description


@given(first=OCCURRENCES, second=OCCURRENCES, third=OCCURRENCES)
def test_counts_of_all_devices_add_up_in_any_order_of_merging(
    first: list[pattern_file.Occurrence], second: list[pattern_file.Occurrence], third: list[pattern_file.Occurrence]
) -> None:
    a, b, c = (pattern_file.encode(pattern(seen, minutes=n)) for n, seen in enumerate((first, second, third)))
    left = pattern_file.merge(pattern_file.merge(a, b), c)
    right = pattern_file.merge(a, pattern_file.merge(c, b))
    expected = {entry.id for entry in (*first, *second, *third)}
    assert {entry.id for entry in pattern_file.decode(left).occurrences} == expected
    assert pattern_file.decode(left) == pattern_file.decode(right)
    assert pattern_file.merge(a, b) == pattern_file.merge(b, a)
    assert pattern_file.merge(left, b) == left


def test_an_example_that_looks_like_a_sighting_is_none() -> None:
    forged = "## Seen 2026-11-30T10:00:00.000Z on x · 0123456789abcdef\n\ntext"
    read = pattern_file.decode(pattern_file.encode(pattern([occurrence(NOON, "laptop", forged)])))
    assert [entry.example for entry in read.occurrences] == [forged]


def test_two_devices_that_note_the_same_words_note_one_pattern() -> None:
    one = pattern_file.new_id("Write the  test first", "testing", "github.com/Acme/Widget")
    other = pattern_file.new_id("write the test FIRST", "testing", "git@github.com:acme/widget.git")
    assert one == other
    assert one != pattern_file.new_id("write the test first", "testing", None)
