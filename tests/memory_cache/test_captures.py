"""What a tool answered becomes a document, whatever shape the answer has."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_cache import captures

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SHAPES: list[Any] = [
    "# Hooks\nuseEffect runs after paint",
    [{"type": "text", "text": "# Hooks\nuseEffect runs after paint"}],
    {"content": [{"type": "text", "text": "# Hooks\nuseEffect runs after paint"}]},
    {"result": "# Hooks\nuseEffect runs after paint", "url": "https://react.dev", "bytes": 12, "code": 200},
    [{"type": "resource", "resource": {"uri": "x:y", "text": "# Hooks\nuseEffect runs after paint"}}],
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("shape", SHAPES, ids=["string", "blocks", "content", "webfetch", "resource"])
def test_every_shape_of_an_answer_is_understood(shape: Any) -> None:
    document = captures.document_of({"tool_name": "WebFetch", "tool_response": shape}, "github.com/a/b", NOW)
    assert document is not None
    assert document.content == "# Hooks\nuseEffect runs after paint"
    assert (document.title, document.projects) == ("Hooks", ("github.com/a/b",))


def test_webfetch_keeps_the_url_and_the_question_it_answers() -> None:
    event = {
        "tool_name": "WebFetch",
        "tool_input": {"url": "https://react.dev/hooks", "prompt": "When does useEffect run?"},
        "tool_response": {"result": "After paint.", "code": 200},
        "session_id": "s1",
    }
    document = captures.document_of(event, None, NOW)
    assert document is not None
    assert (document.source, document.source_tool, document.type) == (
        "https://react.dev/hooks", "webfetch", "web-content",
    )  # fmt: skip
    assert document.metadata == {"prompt": "When does useEffect run?"}
    assert document.memory_session_id == "s1"


@pytest.mark.parametrize(
    ("tool", "key", "kind"),
    [
        ("mcp__context7__query-docs", "libraryId", "library-docs"),
        ("mcp__context7__get-library-docs", "context7CompatibleLibraryID", "library-docs"),
        ("mcp__context7__resolve-library-id", "libraryName", "custom"),
        ("mcp__plugin_context7_context7__query-docs", "libraryId", "library-docs"),
    ],
)
def test_context7_is_known_under_all_its_names(tool: str, key: str, kind: str) -> None:
    event = {"tool_name": tool, "tool_input": {key: "/vercel/next.js", "topic": "routing"}, "tool_response": "text"}
    document = captures.document_of(event, None, NOW)
    assert document is not None
    assert (document.source_tool, document.source, document.type) == ("context7", "/vercel/next.js", kind)


@pytest.mark.parametrize(
    "answer", [{"result": "Not found", "code": 404}, {"content": "x", "isError": True}, "", None, "  "]
)
def test_a_failed_or_empty_answer_is_no_document(answer: Any) -> None:
    assert captures.document_of({"tool_name": "WebFetch", "tool_response": answer}, None, NOW) is None


@given(
    st.dictionaries(st.sampled_from(["tool_name", "tool_input", "tool_response", "session_id", "summary"]), json_values)
)
def test_no_event_breaks_the_intake(event: dict[str, Any]) -> None:
    captures.document_of(event, None, NOW)
    captures.summary_of(event, "widget", NOW)
