"""Two versions of one memory become one file: the same on every device, and no text lost."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.merge import merge
from memory_cache import conflicts, text_format
from memory_cache.conflicts import ConflictRecord
from memory_cache.models import FileKind

ID = "0c0ffee0-0000-4000-8000-000000000001"
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
HAND_MADE = b"""---
id: 0c0ffee0-0000-4000-8000-000000000001
# how it was decided
category: decision
tags:
  - cache
  - sqlite   # the file kind
created: 2026-03-01
updated: '2026-03-01T12:00:00.000Z'
number: 007
approved: yes
---
# One cache

first
second
third
"""


def memory(body: str, *, minutes: int = 0, tags: tuple[str, ...] = ("a", "b"), **fields: Any) -> bytes:
    return text_format.render(
        id=fields.pop("id", ID), category=fields.pop("category", "decision"), tags=tags, created=START,
        updated=START + timedelta(minutes=minutes), body=body, **fields,
    )  # fmt: skip


def both_ways(base: bytes | None, a: bytes, b: bytes, kind: FileKind = FileKind.MEMORY) -> tuple[bytes, bytes | None]:
    one, other = merge(kind, base, a, b), merge(kind, base, b, a)
    assert one == other
    return one.data, one.loser


def test_changes_in_different_places_are_united_without_a_conflict() -> None:
    a = memory("ONE\ntwo\nthree", minutes=1, tags=("a", "b", "c"))
    b = memory("one\ntwo\nTHREE\nfour", minutes=2, tags=("b",), priority="high")
    data, loser = both_ways(memory("one\ntwo\nthree"), a, b)
    parsed = text_format.read(data)
    assert loser is None
    assert parsed.body == "ONE\ntwo\nTHREE\nfour"
    assert set(parsed.tags) == {"b", "c"}
    assert (parsed.priority, parsed.updated) == ("high", START + timedelta(minutes=2))


def test_lines_changed_on_both_sides_keep_the_later_one_and_hand_back_the_other_whole() -> None:
    a, b = memory("port 3001\nx", minutes=5), memory("port 3002\nx\ny", minutes=1)
    data, loser = both_ways(memory("port 3000\nx"), a, b)
    assert text_format.read(data).body == "port 3001\nx\ny"
    assert loser == b


def test_a_field_changed_on_both_sides_is_a_conflict_too() -> None:
    a, b = memory("x", minutes=1, priority="high"), memory("x", minutes=2, priority="low")
    data, loser = both_ways(memory("x"), a, b)
    assert text_format.read(data).priority == "low"
    assert loser == a


def test_equal_bytes_never_conflict_and_a_side_without_a_change_yields() -> None:
    base, a = memory("x"), memory("y", minutes=1)
    assert both_ways(None, a, a) == (a, None)
    assert both_ways(base, a, a) == (a, None)
    assert both_ways(base, base, a) == (a, None)


def test_without_a_base_different_versions_are_both_kept() -> None:
    a, b = memory("x", minutes=1), memory("y")
    assert both_ways(None, a, b) == (a, b)


def test_without_a_base_a_version_that_holds_all_of_the_other_one_is_no_conflict() -> None:
    a, b = memory("x\ny\nz", tags=("a", "b", "c")), memory("x\nz", minutes=5)
    assert both_ways(None, a, b) == (a, None)


def test_the_same_text_with_other_line_ends_is_no_conflict() -> None:
    a = memory("x\ny")
    assert both_ways(None, a, a.replace(b"\n", b"\r\n"))[1] is None


def test_comments_quoting_order_and_unknown_keys_of_both_hands_survive() -> None:
    a = HAND_MADE.replace(b"# how it was decided", b"# how it was decided, and by whom").replace(b"first", b"FIRST")
    b = HAND_MADE.replace(b"number: 007", b'number: 007\nowner: "Ann"  # she knows').replace(b"third", b"THIRD")
    data, loser = both_ways(HAND_MADE, a, b)
    assert loser is None
    assert data == (
        HAND_MADE.replace(b"# how it was decided", b"# how it was decided, and by whom").replace(b"first", b"FIRST")
        .replace(b"number: 007", b'number: 007\nowner: "Ann"  # she knows').replace(b"third", b"THIRD")
    )  # fmt: skip


def test_unknown_keys_added_on_both_sides_both_stand() -> None:
    a = HAND_MADE.replace(b"approved: yes\n", b"approved: yes\nfrom: here\n")
    b = HAND_MADE.replace(b"approved: yes\n", b"approved: yes\nto:\n  - there\n  - 08\n")
    data, loser = both_ways(HAND_MADE, a, b)
    assert loser is None
    assert text_format.read(data).unknown == {"number": "007", "approved": "yes", "from": "here", "to": ["there", "08"]}


def test_line_ends_and_the_missing_last_line_end_of_one_side_are_kept() -> None:
    a = HAND_MADE.replace(b"\n", b"\r\n")
    b = HAND_MADE.replace(b"second", b"SECOND").removesuffix(b"\n")
    data, loser = both_ways(HAND_MADE, a, b)
    assert (data, loser) == (b.replace(b"\n", b"\r\n"), None)


def test_two_devices_that_gave_one_hand_written_file_its_id_agree() -> None:
    base = b"# A note\n\ntext\n"
    a = text_format.adopt(base, {"id": ID, "category": "learning", "created": START, "updated": START})
    later = START + timedelta(seconds=3)
    b = text_format.adopt(base, {"id": ID, "category": "learning", "created": later, "updated": later})
    data, loser = both_ways(base, a, b)
    parsed = text_format.read(data)
    assert loser is None
    assert (parsed.created, parsed.updated) == (START, later)
    assert data.endswith(base)


def test_text_written_while_another_device_gave_the_file_its_id_is_kept() -> None:
    base = b"# A note\n\ntext\n"
    adopted = text_format.adopt(base, {"id": ID, "category": "learning", "created": START, "updated": START})
    data, loser = both_ways(base, adopted, base + b"more\n")
    assert (data, loser) == (adopted + b"more\n", None)


@pytest.mark.parametrize(
    "broken", [b"---\nid: [\n---\nx\n", b"\xff\xfe\xfa", b"---\nid: a\nid: b\n---\nx"], ids=["yaml", "utf-8", "twice"]
)
def test_a_version_that_cannot_be_understood_is_kept_whole_and_never_rewritten(broken: bytes) -> None:
    readable = memory("y", minutes=1)
    assert both_ways(memory("x"), broken, readable) == (readable, broken)
    assert both_ways(None, broken, readable) == (readable, broken)


def test_two_memories_are_never_mixed_into_one() -> None:
    a, b = memory("one", id=ID), memory("two", id="0c0ffee0-0000-4000-8000-000000000002")
    data, loser = both_ways(memory("zero"), a, b)
    assert {data, loser} == {a, b}


def test_an_edit_of_a_field_beats_its_removal() -> None:
    base = memory("x", priority="high")
    a, b = memory("x", minutes=9), memory("x", minutes=1, priority="low")
    data, loser = both_ways(base, a, b)
    assert text_format.read(data).priority == "low"
    assert loser is not None


@pytest.mark.parametrize("kind", [FileKind.DOCUMENT, FileKind.PATTERN])
def test_the_bookkeeping_of_documents_and_patterns_never_makes_a_conflict_but_lost_text_does(kind: FileKind) -> None:
    base = memory("text", priority="high")
    a, b = memory("text", minutes=1, priority="low"), memory("text", minutes=2)
    assert both_ways(base, a, b, kind)[1] is None
    assert both_ways(memory("text"), memory("mine", minutes=1), memory("yours", minutes=2), kind)[1] is not None


def test_two_devices_that_saw_one_pattern_again_add_up() -> None:
    one, two = (f"\n\n## Seen 2026-11-30T10:00:0{n}.000Z on d · 3f2a9c1d4e5f607{n}\n\nsame example" for n in (1, 2))
    data, loser = both_ways(memory("text"), memory("text" + one, minutes=1), memory("text" + two), FileKind.PATTERN)
    assert loser is None
    assert text_format.read(data).body == f"text{one}{two}"


@pytest.mark.parametrize("kind", [FileKind.DEVICE, FileKind.INDEX])
def test_derived_files_never_conflict(kind: FileKind) -> None:
    data, loser = both_ways(b"{}", b'{"a": 1}', b'{"b": 1}', kind)
    assert data in (b'{"a": 1}', b'{"b": 1}')
    assert loser is None


DAY = datetime(2026, 1, 1, tzinfo=UTC)
LOST = ConflictRecord("m1", "memories/a.md", "laptop", DAY, None, b"lost", {"one": DAY})


@pytest.mark.parametrize("at", [DAY, DAY + timedelta(days=1), datetime.max.replace(microsecond=0, tzinfo=UTC)])
def test_the_records_of_two_devices_become_one_that_neither_of_them_has_settled(at: datetime) -> None:
    one, other = conflicts.encode(LOST), conflicts.encode(replace(LOST, at=at, kept_by={"two": at}))
    data, loser = both_ways(None, one, other, FileKind.CONFLICT)
    assert data not in (one, other)
    assert conflicts.decode(data) == replace(LOST, at=at, kept_by={"one": DAY, "two": at})
    assert loser is None
    assert both_ways(None, one, data, FileKind.CONFLICT) == both_ways(None, other, data, FileKind.CONFLICT)
    assert both_ways(None, one, data, FileKind.CONFLICT) == (data, None)


@pytest.mark.parametrize("other", [b"no record", conflicts.encode(replace(LOST, theirs=b"lost too"))])
def test_a_conflict_file_that_holds_something_else_is_kept_beside_the_other(other: bytes) -> None:
    one = conflicts.encode(LOST)
    data, loser = both_ways(None, one, other, FileKind.CONFLICT)
    assert {data, loser} == {one, other}


def lines_of(data: bytes) -> set[str]:
    return set(data.decode("utf-8", "replace").replace("\r", "").removeprefix("\ufeff").split("\n"))


WORDS = st.lists(st.sampled_from(["one", "two", "three", "", "- item", "---", "# h"]), max_size=6).map("\n".join)
TAGS = st.lists(st.sampled_from(["a", "b", "c", "ü", "x y"]), max_size=4, unique=True).map(tuple)


@st.composite
def versions(draw: st.DrawFn) -> bytes:
    fields: dict[str, str] = {}
    if draw(st.booleans()):
        fields["priority"] = draw(st.sampled_from(["high", "low"]))
    data = memory(draw(WORDS), minutes=draw(st.integers(0, 3)), tags=draw(TAGS), **fields)
    changes: list[Callable[[bytes], bytes]] = [
        lambda x: x.replace(b"\n", b"\r\n"), lambda x: b"\xef\xbb\xbf" + x, lambda x: x.rstrip(b"\n"),
        lambda x: x.replace(b"category", b"# note\ncategory"), lambda x: x + b"\xff", lambda x: x[3:],
        lambda x: x.replace(b"tags:", b"tagz:"),
    ]  # fmt: skip
    for change in draw(st.lists(st.sampled_from(changes), max_size=2)):
        data = change(data)
    return data


@given(st.one_of(st.none(), versions()), versions(), versions())
@settings(max_examples=500, deadline=None)
def test_merging_is_symmetric_repeatable_and_loses_no_line(base: bytes | None, a: bytes, b: bytes) -> None:
    data, loser = both_ways(base, a, b)
    assert loser is None or loser in (a, b)
    if loser is not None:
        return
    bookkeeping = ("updated:", "tags:", "created:", "  - ")
    for side in (a, b):
        new = lines_of(side) - lines_of(base or b"") - lines_of(data)
        assert not {line for line in new if not line.startswith(bookkeeping)}
