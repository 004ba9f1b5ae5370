"""The file format: what is written reads back, in every YAML reader; what people write is understood."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from memory_cache.text_format import ParsedFile, adopt, parse_timestamp, read, render, timestamp, title_of

ID = "5f0c9f0e-6a43-4a55-9a57-0d6f3a1b7c21"
WHEN = datetime(2026, 3, 1, 10, 11, 12, 345000, tzinfo=UTC)

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
word = any_text.map(str.strip).filter(bool)
whens = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1)).map(
    lambda when: when.replace(tzinfo=UTC, microsecond=when.microsecond // 1000 * 1000)
)
awkward = st.sampled_from(
    ["007", "yes", "No", "null", "~", "1e3", "0x1f", "2024-01-05", "12:30", "a: b", "- x", "#x", "a #b", "[x]", "{a}",
     "*a", "&a", "!!python/object:os.system", "'", '"', "%", "@", "`", "---", "...", "?", ":", ",", "a,b", "\\n",
     "<<", "=", "y", "on", ".inf", "1_000", "\x85x", "\u2028x", "x\u00a0y", "日本語", "\ufeffx", "🎉", "a\nb", "\x00x"]
)  # fmt: skip


def written(body: str, tags: list[str] | None = None, name: str | None = None) -> bytes:
    return render(id=ID, category="task", tags=tags or [], created=WHEN, updated=WHEN, body=body, project_name=name)


@given(any_text)
def test_any_body_in_any_language_reads_back_as_it_was_written(body: str) -> None:
    parsed = read(written(body))
    assert parsed.body == body
    assert (parsed.id, parsed.problem, parsed.unknown) == (ID, None, {})


@pytest.mark.parametrize(
    "body",
    ["", "\n", "\n\n", "\r\n", "\r", "x\r\ny", "---", "---\nid: evil\n---\nx", "...", "\ufeff", "\ufeff\n", "\n\ufeffx",
     "x\n\n", "---js\nprocess.exit()\n---\n"],
)  # fmt: skip
def test_bodies_at_the_edge_read_back_as_they_were_written(body: str) -> None:
    parsed = read(written(body))
    assert parsed.body == body
    assert parsed.id == ID


@given(
    tags=st.lists(word | awkward.map(str.strip), max_size=5, unique=True),
    category=word | awkward.map(str.strip),
    project=st.none() | word | awkward.map(str.strip),
    created=whens,
    expires=st.none() | whens,
    priority=st.sampled_from([None, "high", "normal", "low"]),
    related=st.lists(st.uuids().map(str), max_size=3, unique=True),
)
def test_every_field_reads_back_here_and_in_pyyaml(
    tags: list[str], category: str, project: str | None, created: datetime, expires: datetime | None,
    priority: str | None, related: list[str],
) -> None:  # fmt: skip
    data = render(
        id=ID, category=category, tags=tags, created=created, updated=created, body="b", project_id=project,
        project_name=project, priority=priority, expires_at=expires, related_to=related,
    )  # fmt: skip
    parsed = read(data)
    assert parsed.problem is None
    assert (parsed.category, parsed.tags, parsed.created) == (category, tuple(tags), created)
    assert (parsed.project_id, parsed.project_name, parsed.expires_at) == (project, project, expires)
    assert (parsed.priority, parsed.related_to) == (None if priority == "normal" else priority, tuple(related))

    block = data.decode().split("---\n")[1] if "---\n" not in category else data.decode()[4:].split("\n---\n")[0]
    seen: dict[str, Any] = yaml.safe_load(block)
    assert seen["tags"] == tags
    assert seen["category"] == category
    assert seen.get("projectId") == project
    assert seen["created"] == timestamp(created)
    assert list(seen)[:5] == ["id", "category", "tags", "created", "updated"]


def test_the_written_form_is_exactly_the_documented_one() -> None:
    data = render(
        id=ID, category="task", tags=["a b", "007"], created=WHEN, updated=WHEN, body="# Título\n\nText",
        project_id="github.com/acme/widget", project_name="widget", priority="high",
        expires_at=WHEN + timedelta(days=7), related_to=[ID],
    )  # fmt: skip
    assert data.decode() == (
        f'---\nid: {ID}\ncategory: task\ntags: [a b, "007"]\ncreated: "2026-03-01T10:11:12.345Z"\n'
        f'updated: "2026-03-01T10:11:12.345Z"\nprojectId: github.com/acme/widget\nprojectName: widget\n'
        f'priority: high\nexpiresAt: "2026-03-08T10:11:12.345Z"\nrelatedTo: [{ID}]\n---\n# Título\n\nText\n'
    )


def test_a_lone_surrogate_never_breaks_a_file() -> None:
    data = written("a\ud800b", tags=["x\udfffy"], name="\ud83c\udf89")
    assert read(data).body == "a\ufffdb"
    assert read(data).tags == ("x\ufffdy",)
    assert read(data).project_name == "🎉"


def test_front_matter_inside_content_never_overrides_metadata() -> None:
    parsed = read(written("---\nid: other\ncategory: preference\n---\ntext"))
    assert (parsed.id, parsed.category) == (ID, "task")


HAND_WRITTEN = """---
id: abc-1
category: decision   # chosen in March
tags: postgres, sql
created: 2024-01-05
updated: 2024-01-05 10:00:00
title: "Foo: bar"
rating: 007
draft: yes
nested:
  - {a: 1}
---

# Use Postgres

Because.
"""


@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_hand_written_front_matter_is_understood(bom: str, newline: str) -> None:
    parsed = read((bom + HAND_WRITTEN).replace("\n", newline).encode())
    assert (parsed.id, parsed.category, parsed.tags) == ("abc-1", "decision", ("postgres", "sql"))
    assert parsed.created == datetime(2024, 1, 5, tzinfo=UTC)
    assert parsed.updated == datetime(2024, 1, 5, 10, tzinfo=UTC)
    assert parsed.unknown == {"title": "Foo: bar", "rating": "007", "draft": "yes", "nested": [{"a": "1"}]}
    assert parsed.title == "Use Postgres"
    assert parsed.body == "# Use Postgres\n\nBecause."
    assert parsed.problem is None


@pytest.mark.parametrize(
    ("line", "tags"),
    [
        ("tags: [a, b]", ("a", "b")),
        ("tags:\n  - a\n  - b", ("a", "b")),
        ("tags:\n- 'a'\n- \"b\"", ("a", "b")),
        ("tags: a", ("a",)),
        ("tags: machine learning", ("machine learning",)),
        ("tags: '#a #b'", ("a", "b")),
        ("tags:", ()),
        ("tags: ~", ()),
        ("tags: [a, , b]", None),
        ("tags: [007, yes, 2024-01-05, null]", ("007", "yes", "2024-01-05")),
        ("tags:\t[a]", ("a",)),
        ("tags: {a: 1}", ()),
        ("tags: [a, [b], a]", ("a",)),
        ("x: &t [a, b]\ntags: *t", ("a", "b")),
        ("x: &t [a, [b]]\ntags: *t", ()),
        ("x: &t a\ntags: [*t, b]", ("a", "b")),
        ("tags: |\n  a, b", ("a", "b")),
        ("tags: !!python/object/apply:os.system [a]", ("a",)),
    ],
)  # fmt: skip
def test_tags_are_understood_in_every_form(line: str, tags: tuple[str, ...] | None) -> None:
    parsed = read(f"---\nid: x\n{line}\n---\nb\n".encode())
    assert parsed.id == "x"
    if tags is not None:
        assert (parsed.tags, parsed.problem) == (tags, None)


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("2024-01-05", datetime(2024, 1, 5, tzinfo=UTC)),
        ("2024-1-5", datetime(2024, 1, 5, tzinfo=UTC)),
        ("2024-01-05T10:00:00Z", datetime(2024, 1, 5, 10, tzinfo=UTC)),
        ("2024-01-05 10:00", datetime(2024, 1, 5, 10, tzinfo=UTC)),
        ("2024-01-05T10:00:00.1234567+02:00", datetime(2024, 1, 5, 8, 0, 0, 123456, tzinfo=UTC)),
        ("2024-01-05 10:00:00 -0530", datetime(2024, 1, 5, 15, 30, tzinfo=UTC)),
        ("2024-02-30", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:59:59-14:00", None),
        ("yesterday", None),
        ("٢٠٢٤-٠١-٠٥", None),
        ("2024-01-05T10:00:00+99:00", None),
        ("", None),
    ],
)
def test_times_are_understood_in_every_usual_form(text: str, when: datetime | None) -> None:
    assert parse_timestamp(text) == when


@pytest.mark.parametrize(
    "head",
    [
        "title: Foo: bar",
        "tags: [a, b",
        "\ttags: x",
        "a: b\n c: d\n  - e",
        "x: *unknown",
        "x: \x07",
        "x: 1\nx: 2",
        "? [a]\n: b",
        "id2: 'open",
        "--- x",
    ],
)
def test_broken_front_matter_with_an_id_is_shown_and_never_rewritten(head: str) -> None:
    indent = "\t" if head.startswith("\t") else ""
    parsed = read(f"---\n{indent}id: abc\n{indent}category: 'task' # c\n{head}\n---\nthe body\n".encode())
    assert (parsed.id, parsed.category, parsed.body) == ("abc", "task", "the body")
    assert parsed.problem
    assert not parsed.adoptable
    assert not parsed.has_front_matter


def test_broken_lists_are_still_read() -> None:
    parsed = read(b"---\nid: abc\ntitle: a: b\ntags:\n- x\n- 'y'\nrelatedTo: [p, \"q\"]\n---\n")
    assert (parsed.tags, parsed.related_to) == (("x", "y"), ("p", "q"))


@pytest.mark.parametrize(
    "text",
    [
        "---js\n{ id: require('child_process').execSync('touch /tmp/x') }\n---\nbody",
        '---json\n{"id": "x"}\n---\nbody',
        "---\ntitle: a: b: [\n---\nbody",
        "---\n{id: x, tags: []}\n---\nbody\n",
    ],
)
def test_foreign_or_broken_blocks_without_an_id_count_as_body(text: str) -> None:
    parsed = read(text.encode())
    assert parsed.id is None
    assert parsed.problem
    assert parsed.adoptable
    assert parsed.body == text.removesuffix("\n")
    adopted = adopt(text.encode(), {"id": ID, "category": "task"})
    assert adopted.endswith(text.encode())
    assert (read(adopted).id, read(adopted).problem) == (ID, None)
    assert read(adopted).body == text.removesuffix("\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "just text",
        "# Title\r\n\r\nText\r\n",
        "\ufeff# Title\n",
        "\n\n# Late title",
        "---\nA rule, then prose.\n\n---\nMore.\n",
        "---\nnever closed: true\n",
        "----\nid: x\n----\n",
        " ---\nid: x\n---\n",
    ],
)
def test_text_without_front_matter_is_adopted_with_its_bytes_as_the_tail(text: str) -> None:
    parsed = read(text.encode())
    assert (parsed.id, parsed.has_front_matter, parsed.problem, parsed.adoptable) == (None, False, None, True)
    adopted = adopt(text.encode(), {"id": ID, "category": "task", "tags": ["a"], "created": WHEN, "updated": WHEN})
    assert adopted.startswith(b"---\r\n" if "\r\n" in text else b"---\n")
    assert adopted.endswith(text.encode())
    assert read(adopted).id == ID
    assert read(adopted).body == parsed.body
    assert read(adopted).title == parsed.title


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=80))
def test_adopting_any_text_keeps_its_bytes_and_its_body(text: str) -> None:
    data = text.encode()
    before = read(data)
    if before.adoptable and not before.has_front_matter:
        adopted = adopt(data, {"id": ID})
        assert adopted.endswith(data)
        assert (read(adopted).id, read(adopted).body) == (ID, before.body)


def test_readable_front_matter_without_an_id_gets_the_lines_it_lacks() -> None:
    data = "\ufeff---\r\n# mine\r\ntags: [x]\r\nrating: 007 # stars\r\n---\r\ntext".encode()
    adopted = adopt(data, {"id": ID, "category": "task", "tags": ["other"]})
    assert adopted.decode() == (
        f"\ufeff---\r\n# mine\r\nid: {ID}\r\ncategory: task\r\ntags: [x]\r\nrating: 007 # stars\r\n---\r\ntext"
    )
    assert adopt(b"---\n---\nx", {"id": "a"}) == b"---\nid: a\n---\nx"
    assert adopt(b"---\nid:\n---\nx", {"id": "a"}) == b"---\nid: a\n---\nx"


@pytest.mark.parametrize("data", [b"\xff\xfeh\x00i\x00", b"caf\xe9 au lait", b"---\nid: \xe9\n---\n"])
def test_other_encodings_are_shown_and_never_rewritten(data: bytes) -> None:
    parsed = read(data)
    assert parsed.problem
    assert not parsed.adoptable
    assert parsed.body


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("# Use Postgres\nx", "Use Postgres"),
        ("\n\n  ## Später\n", "Später"),
        ("C# and F#", "C# and F#"),
        ("---\n\nreal", "real"),
        ("🎉", "🎉"),
        ("", "Untitled"),
        ("\n" * 1000, "Untitled"),
        ("a\tb  c\r\n", "a b c"),
        ("x" * 300, "x" * 100),
    ],
)
def test_titles(body: str, title: str) -> None:
    assert title_of(body) == title


@given(st.binary(max_size=400) | st.text(max_size=200).map(lambda t: f"---\n{t}\n---\n".encode("utf-8", "replace")))
def test_no_bytes_at_all_make_reading_fail(data: bytes) -> None:
    parsed = read(data)
    assert isinstance(parsed, ParsedFile)
    parsed.body.encode()
    assert len(parsed.title) <= 100
    assert not (parsed.adoptable and parsed.id)


HOSTILE = {
    "flow nesting": "[" * 1_000_000,
    "block nesting": "\n".join(" " * depth + "a:" for depth in range(340)),
    "dashes": "- " * 500_000,
    "questions": "? " * 30_000,
    "aliases": "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40)),
    "anchors": "".join(f"k{n}: &n{n} v\n" for n in range(5_000)),
    "long line": "x" * 1_000_000,
    "many keys": "".join(f"k{n}: v\n" for n in range(6_000)),
    "open quote": "id: '" + "x\n" * 500_000,
    "tabs": "\t" * 1_000_000,
    "fences": "--- \n" * 200_000,
    "spaces": "id:" + " " * 1_000_000,
    "colons": ":" * 1_000_000,
    "hashes": "#" * 1_000_000,
    "carriage returns": "\r" * 1_000_000,
}


@pytest.mark.parametrize("block", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.timeout(10)
def test_hostile_files_are_read_in_bounded_time_and_memory(block: str) -> None:
    for text in (f"---\n{block}\n---\nbody\n", block, f"---\nid: x\n{block}"):
        parsed = read(text.encode())
        assert len(parsed.title) <= 100
        assert len(repr(parsed.unknown)) < 2_000_000


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from(["---", "...", "id: x", "tags: [a]", "", " - b", "k: &a v", "l: *a", "\t", "# c", "'", '"']),
        max_size=12,
    )
)
def test_pieces_of_front_matter_in_any_order_are_safe(lines: list[str]) -> None:
    data = "\n".join(lines).encode()
    parsed = read(data)
    if parsed.adoptable and not parsed.has_front_matter:
        assert read(adopt(data, {"id": "new"})).id == "new"


def test_a_timestamp_is_utc_with_milliseconds() -> None:
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", timestamp(datetime(999, 1, 1)))
    assert parse_timestamp(timestamp(WHEN)) == WHEN
