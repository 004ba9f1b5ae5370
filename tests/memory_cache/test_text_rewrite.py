"""Rewriting is faithful: whatever a change does not mean stays byte for byte."""

import difflib
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memory_cache.errors import InvalidInput
from memory_cache.text_format import KEYS, Source, read, rewrite, sources

WHEN = datetime(2026, 3, 1, 10, 11, 12, 345000, tzinfo=UTC)
STAMP = '"2026-03-01T10:11:12.345Z"'

HAND_MADE = """---
# my own order
rating: 007        # not eight
updated: 2024-01-05T10:00:00Z   # by hand
tags:
  - 'alpha'
  # the second one
  - beta   # greek
draft: yes
summary: >
  folded
  text

id: abc-1
category: "task"
---
# Title

line one
line two
"""


def variants() -> list[Any]:
    shapes = []
    for bom in ("", "\ufeff"):
        for newline in ("\n", "\r\n"):
            for final in (True, False):
                text = HAND_MADE if final else HAND_MADE.rstrip("\n")
                ends = "crlf" if newline == "\r\n" else "lf"
                name = f"{'bom' if bom else 'no bom'}, {ends}, {'final' if final else 'no final'}"
                shapes.append(pytest.param((bom + text).replace("\n", newline).encode(), id=name))
    return shapes


def changed_lines(before: bytes, after: bytes) -> list[str]:
    lines = difflib.ndiff(before.decode().splitlines(True), after.decode().splitlines(True))
    return [line.rstrip("\r\n") for line in lines if line[0] in "+-"]


@pytest.mark.parametrize("data", variants())
def test_a_changed_value_touches_its_own_line_and_keeps_its_comment(data: bytes) -> None:
    after = rewrite(data, set={"updated": WHEN})
    assert changed_lines(data, after) == [
        "- updated: 2024-01-05T10:00:00Z   # by hand",
        f"+ updated: {STAMP}   # by hand",
    ]
    assert read(after).updated == WHEN


@pytest.mark.parametrize("data", variants())
def test_a_new_key_is_one_new_line_in_its_place(data: bytes) -> None:
    after = rewrite(data, set={"priority": "high"})
    assert changed_lines(data, after) == ["+ priority: high"]
    lines = after.decode().splitlines()
    assert lines[lines.index("priority: high") - 1] == 'category: "task"'


@pytest.mark.parametrize("data", variants())
def test_adding_a_tag_is_one_new_line(data: bytes) -> None:
    after = rewrite(data, set={"tags": ["alpha", "beta", "007"]})
    assert changed_lines(data, after) == ['+   - "007"']
    assert read(after).tags == ("alpha", "beta", "007")


@pytest.mark.parametrize("data", variants())
def test_removing_a_tag_is_one_line_less(data: bytes) -> None:
    after = rewrite(data, set={"tags": ["alpha"]})
    assert changed_lines(data, after) == ["-   - beta   # greek"]


@pytest.mark.parametrize("data", variants())
def test_a_changed_body_keeps_front_matter_line_ends_and_final_newline(data: bytes) -> None:
    after = rewrite(data, body="# Title\n\nline one\nline 2")
    assert changed_lines(data, after)[:1] == ["- line two"]
    assert after.endswith(b"\n") == data.endswith(b"\n")
    assert (b"\r\n" in after) == (b"\r\n" in data)
    assert after.count(b"\n") == data.count(b"\n")
    assert after.count(b"\r\n") == data.count(b"\r\n")
    assert read(after).body == "# Title\n\nline one\nline 2"


@pytest.mark.parametrize("data", variants())
def test_setting_what_is_there_already_changes_nothing(data: bytes) -> None:
    parsed = read(data)
    assert rewrite(data, set={"tags": parsed.tags}, body=parsed.body) == data
    assert rewrite(data, remove=["priority"], set={"expiresAt": None, "relatedTo": ()}) == data
    assert rewrite(data) == data


@pytest.mark.parametrize("data", variants())
def test_removing_a_key_removes_its_lines_only(data: bytes) -> None:
    after = rewrite(data, remove=["summary", "draft"])
    assert [line for line in changed_lines(data, after) if line.strip("- ")] == [
        "- draft: yes", "- summary: >", "-   folded", "-   text"
    ]  # fmt: skip
    assert read(after).unknown == {"rating": "007"}


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        ("tags: [a, 'b c', 007]  # mine", {"tags": ["a", "b c", "007", "new"]}, "tags: [a, 'b c', 007, new]  # mine"),
        ("tags: [a, 'b c', 007]  # mine", {"tags": ["b c", "007"]}, "tags: ['b c', 007]  # mine"),
        ("tags: [a, b, c]", {"tags": ["a", "c"]}, "tags: [a, c]"),
        ("tags: [a, b, c]", {"tags": ["a"]}, "tags: [a]"),
        ("tags: [a, b, c]", {"tags": ["b", "x"]}, "tags: [b, x]"),
        ("tags: [ a, b ]", {"tags": []}, "tags: []"),
        ("tags: [a, b]", {"tags": ["b", "a"]}, "tags: [b, a]"),
        ("tags: [a, a]", {"tags": ["a", "b"]}, "tags: [a, b]"),
        ("tags: []  # none yet", {"tags": ["x"]}, "tags: [x]  # none yet"),
        ("tags:   # none yet", {"tags": ["x"]}, "tags: [x]   # none yet"),
        ("tags: a, b  # words", {"tags": ["a", "c"]}, "tags: [a, c]  # words"),
        ("tags: a, b", {"tags": ["a", "b"]}, "tags: a, b"),
        ("tags:\n- a\n- b", {"tags": []}, "tags: []"),
        ("tags:\n- a\n- b", {"tags": ["b", "a"]}, "tags:\n- b\n- a"),
        ("tags: # two\n- a\n\n# middle\n- b", {"tags": ["a", "c"]}, "tags: # two\n- a\n- c\n\n# middle"),
        ("tags: [a, # first\n  b]", {"tags": ["a", "b", "c"]}, "tags: [a, # first\n  b, c]"),
        ("tags:\n- {a: 1}\n- b", {"tags": ["b"]}, "tags:\n- {a: 1}\n- b"),
        ("tags:\n- {a: 1}\n- b", {"tags": ["c"]}, "tags: [c]"),
        ("tags:\t[a]", {"tags": ["b"]}, "tags:\t[b]"),
        ("category: |\n  task\n  x\n", {"category": "task"}, "category: task\n"),
        ("category: 'ta\n  sk' # c", {"category": "task"}, "category: task # c"),
        ("category: plain\n  words # c", {"category": "task"}, "category: task # c"),
        ("category: null", {"category": "task"}, "category: task"),
        ("category: ''", {"category": "yes"}, 'category: "yes"'),
        ('"category": x', {"category": "task"}, '"category": task'),
        ("category : x", {"category": "task"}, "category : task"),
        ("category:", {"category": "task"}, "category: task"),
        ("priority: low\nkeep: &a v\nuse: *a", {"priority": "high"}, "priority: high\nkeep: &a v\nuse: *a"),
        (
            "other: {deep: [1, {x: 'y'}]}  # c",
            {"priority": "high"},
            "priority: high\nother: {deep: [1, {x: 'y'}]}  # c",
        ),
        ("mine: 1", {"mine": "2", "new": "yes"}, 'mine: "2"\nnew: "yes"'),
        ("relatedTo: [a]", {"relatedTo": []}, None),
        ("expiresAt: 2020-01-01", {"expiresAt": None}, None),
        ("a: |\n  x\nexpiresAt: 2020-01-01\n  # soon\nb: 1", {"expiresAt": None}, "a: |\n  x\nb: 1"),
    ],
)
def test_each_form_of_a_value_is_changed_in_place(before: str, change: dict[str, Any], after: str | None) -> None:
    def file(middle: str | None) -> bytes:
        return f"---\nid: x\n{middle + chr(10) if middle is not None else ''}---\nb".encode()

    if "priority" in change and not before.startswith("priority"):
        expected = f"---\nid: x\n{after}\n---\nb".encode()
    else:
        expected = file(after)
    assert rewrite(file(before), set=change) == expected


@pytest.mark.parametrize(
    "text",
    [
        "---\nid: x\ntitle: a: b\n---\nbody",
        "---\nid: x\nid: y\n---\nbody",
        "---js\nid: x\n---\nbody",
        "---\n{id: x}\n---\nbody",
        "---\nid: x\ntags: &t [a]\nmore: *t\n---\nbody",
        "---\n? category\n: x\n---\n",
    ],
)
def test_what_cannot_be_changed_safely_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        rewrite(text.encode(), set={"tags": ["new"], "category": "task"})
    assert caught.value.hint


def test_text_without_front_matter_gets_one_and_keeps_its_body() -> None:
    assert rewrite(b"hello", set={"id": "x"}) == b"---\nid: x\n---\nhello"
    assert rewrite(b"hello\r\nyou", body="hello\nme") == b"hello\r\nme"


def test_an_indented_mapping_keeps_its_indentation() -> None:
    assert (
        rewrite(b"---\n  id: x\n  z: 1\n---\n", set={"category": "t"}) == b"---\n  id: x\n  category: t\n  z: 1\n---\n"
    )


def test_mixed_line_ends_stay_where_nothing_changes() -> None:
    data = b"---\r\nid: x\nz: 1\r\n---\r\none\ntwo\r\nthree\nfour\r\n"
    assert rewrite(data, set={"z": "2"}) == data.replace(b"z: 1", b'z: "2"')
    after = rewrite(data, body=read(data).body.replace("two", "2"))
    assert after == data.replace(b"two", b"2")


def test_a_file_that_ends_with_its_fence_can_get_a_body() -> None:
    assert rewrite(b"---\nid: x\n---", body="hi") == b"---\nid: x\n---\nhi\n"
    assert rewrite(b"---\nid: x\n...\nhi\n", body="ho") == b"---\nid: x\n...\nho\n"


def test_an_entry_is_carried_over_as_the_other_version_spells_it() -> None:
    theirs = b"---\r\nid: x\r\nrating: 007  # seven\r\ntags:\r\n- 'a'  # first\r\n- b\r\n---\r\nbody"
    mine = b"---\nid: x\ntags: [a]\n---\nbody\n"
    found = sources(theirs)
    assert found["rating"] == "rating: 007  # seven\n"
    after = rewrite(mine, set={"rating": found["rating"], "tags": found["tags"]})
    assert after == b"---\nid: x\ntags:\n- 'a'  # first\n- b\nrating: 007  # seven\n---\nbody\n"
    assert read(after).unknown == read(theirs).unknown


def test_a_source_that_says_more_than_one_entry_is_refused() -> None:
    with pytest.raises((InvalidInput, KeyError)):
        rewrite(b"---\nid: x\n---\n", set={"a": Source("a: 1\nid: evil\n")})


comment = st.sampled_from(["", "  # note", "\t# tab", " #x: y"])
scalar = st.sampled_from(["007", "yes", "'it''s'", '"a: b"', "2024-01-05", "plain words", "~", "", "|\n  lit\n  eral",
                          "[1, {a: b}]",
                          "\n  sub: 1\n  list:\n  - x", ">-\n  folded\n\n  more"])  # fmt: skip
tag_forms = st.sampled_from(
    ["[a, b]", "a, b", "\n- a\n- b", "\n  - 'a'   # one\n  # two\n  - b", "[ 'a' , \"b\" ]", "[a,\n  b]", ""]
)
unknown_keys = st.lists(st.sampled_from(["zeta", "title", "aliases", "x-y", "日本", "Rating"]), unique=True, max_size=4)


@st.composite
def hand_made_files(draw: st.DrawFn) -> bytes:
    lines: list[str] = []
    keys = [*draw(unknown_keys), "id", *draw(st.lists(st.sampled_from(KEYS[1:]), unique=True, max_size=5))]
    for key in draw(st.permutations(keys)):
        if draw(st.booleans()):
            lines.append(draw(st.sampled_from(["", "# comment", "   # indented comment"])))
        value = "abc" if key == "id" else draw(tag_forms if key in ("tags", "relatedTo") else scalar)
        if "\n" in value:
            lines.append(f"{key}: {value}" if value[0] != "\n" else f"{key}:{value}")
        else:
            lines.append(f"{key}: {value}{draw(comment)}")
    body = draw(st.text(st.sampled_from("ab#- \n\r\u00e4日"), max_size=60))
    text = "---\n" + "\n".join(lines) + draw(st.sampled_from(["\n---\n", "\n---  \n", "\n...\n"])) + body
    if draw(st.booleans()):
        text = text.replace("\r", "").replace("\n", "\r\n")
    return (draw(st.sampled_from(["", "\ufeff"])) + text).encode()


values = st.fixed_dictionaries(
    {},
    optional={
        "updated": st.just(WHEN),
        "category": st.sampled_from(["task", "yes", "日本: x", "# no"]),
        "tags": st.lists(st.sampled_from(["a", "b", "c", "007", "x, y"]), unique=True),
        "relatedTo": st.lists(st.sampled_from(["a", "b", "id-9"]), unique=True),
        "priority": st.sampled_from(["high", None]),
        "expiresAt": st.sampled_from([WHEN, None]),
        "title": st.sampled_from(["New: title", None]),
    },
)


@settings(max_examples=150)
@given(hand_made_files(), values, st.none() | st.text(st.sampled_from("ab\n#ä"), max_size=20))
def test_any_change_to_any_hand_made_file_does_what_it_says_and_nothing_else(
    data: bytes, change: dict[str, Any], body: str | None
) -> None:
    before = read(data)
    assume(before.problem is None)
    assert before.id == "abc"
    after_data = rewrite(data, set=change, body=body)
    after = read(after_data)
    assert after.body == (before.body if body is None else body)
    assert sources(after_data).keys() == (sources(data).keys() | change.keys()) - {
        key for key, value in change.items() if value is None or (key == "relatedTo" and not value)
    }
    for key, text in sources(data).items():
        if key not in change:
            assert sources(after_data)[key] == text
    kept_comments = [line for line in data.decode().splitlines() if line.lstrip().startswith("# comment")]
    assert [line for line in after_data.decode().splitlines() if line.lstrip().startswith("# comment")] == kept_comments
    assert after_data.startswith("\ufeff".encode()) == data.startswith("\ufeff".encode())
    if not change and body is None:
        assert after_data == data
    assert rewrite(after_data, set=change, body=body) == after_data
