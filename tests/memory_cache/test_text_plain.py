"""Front matter that is read without a YAML parser says exactly what the parser says."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_cache import text_format, text_format_plain
from memory_cache.text_format_yaml import entries_of

_CHARACTERS = "aZ0_./+=()-:éЖ日٣ª"
_odd = st.text(st.sampled_from(_CHARACTERS + "\"[], #&*!|>%@`\\'{}?~\t\u2028\x85\ufeff"), max_size=6) | st.sampled_from(
    ["null", "~", "12", "a: b", "- x", "---", '"', "[]", "[a, b]", "<<", "? a", "a:", "http://x:80/y"]
)
_likely = st.text(st.sampled_from(_CHARACTERS), min_size=1, max_size=5) | st.sampled_from(
    ["null", "Null", "yes", "2026-01-01T10:00:00Z", '"q"', '""', '"a: b #c"', '"[x, y]"', "a:", "-", "="]
)
_keys = st.sampled_from(["id", "tags", "a", "yes", "x_1", "b", "aé", "null", "y"])
_values = st.lists(_likely, min_size=1, max_size=3).map(" ".join)
_line = st.one_of(
    st.builds("{}: {}".format, _keys, _values),
    st.builds("{}: {}".format, _keys, _odd),
    st.builds("{}:".format, _keys),
    st.builds(
        lambda key, dash, items: "\n".join([f"{key}:", *(dash + item for item in items)]),
        _keys,
        st.sampled_from(["- ", "  - ", "     - "]),
        st.lists(_values, min_size=1, max_size=3),
    ),
    st.builds(lambda key, items: f"{key}: [{', '.join(items)}]", _keys, st.lists(_values, max_size=3)),
    st.builds("{}{}".format, st.sampled_from(["- ", "  - "]), _likely),
    _odd,
)


@given(st.lists(_line, min_size=1, max_size=4).map(lambda lines: "\n".join(lines) + "\n"))
def test_what_is_read_quickly_is_what_the_parser_reads(block: str) -> None:
    quick = text_format_plain.values(block)
    if quick is not None:
        assert {entry.key: entry.node.value for entry in entries_of(block) or ()} == quick


def test_what_this_program_writes_needs_no_parser() -> None:
    moment = datetime(2026, 6, 1, tzinfo=UTC)
    data = text_format.render(
        id="00000001-0000-4000-8000-000000000000",
        category="learning",
        tags=["two words", "c#", "Ж"],
        created=moment,
        updated=moment,
        body="text",
        project_id="github.com/acme/widget",
        project_name="widget",
        expires_at=moment,
        related_to=["00000002-0000-4000-8000-000000000000"],
    )
    values = text_format_plain.values(data.decode().split("---\n")[1])
    assert values is not None
    assert values["tags"] == ["two words", "c#", "Ж"]


@pytest.mark.parametrize(
    "text",
    ["2026-01-01T10:00:00.000Z", "2026-01-01T10:00:00.00 Z", "2026-W01-1T10:00:00.000Z", "2026-01-01T10:00:61.000Z"],
)
def test_a_time_as_this_program_writes_it_is_read_as_any_other(text: str) -> None:
    assert text_format.parse_timestamp(text) == text_format.parse_timestamp(f" {text} ")
