"""A conversation outlives its server: nothing lost, nothing done twice, nothing said that nobody asked for."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.conversation import REPEATED, Conversation


def line(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **fields}).encode() + b"\n"


def call(number: int | str, tool: str, **arguments: Any) -> bytes:
    return line(id=number, method="tools/call", params={"name": tool, "arguments": arguments})


INITIALIZE = line(id=0, method="initialize", params={"protocolVersion": "2025-11-25"})
INITIALIZED = line(method="notifications/initialized")
TOOLS = line(
    id=1,
    result={
        "tools": [
            {"name": "recall", "annotations": {"readOnlyHint": True}},
            {"name": "update", "annotations": {"readOnlyHint": False, "idempotentHint": True}},
            {"name": "pattern_store", "annotations": {"readOnlyHint": False}},
            {"name": "bare"},
            {"name": "once", "annotations": {}, "_meta": {"claude-onedrive-memory/repeatable": True}},
            "no tool at all",
        ]
    },
)


def opened() -> Conversation:
    conversation = Conversation()
    for sent, answer in (
        (INITIALIZE, line(id=0, result={"serverInfo": {}})),
        (INITIALIZED, None),
        (line(id=1, method="tools/list"), TOOLS),
    ):
        assert conversation.to_server(sent) == sent
        conversation.sent(sent)
        if answer:
            assert conversation.to_client(answer) == answer
    assert not conversation.waiting
    return conversation


def test_a_new_server_gets_the_handshake_and_the_client_does_not_see_its_answer() -> None:
    conversation = opened()

    to_server, to_client = conversation.resume()

    assert to_server == [INITIALIZE, INITIALIZED]
    assert to_client == []
    assert conversation.to_client(line(id=0, result={"serverInfo": {}})) is None
    ping = line(id=2, method="ping")
    assert conversation.to_server(ping) == ping
    conversation.sent(ping)
    assert conversation.to_client(line(id=2, result={})) == line(id=2, result={})


def test_a_handshake_that_was_never_answered_is_answered_by_the_new_server() -> None:
    conversation = Conversation()
    conversation.sent(INITIALIZE)

    assert conversation.resume() == ([INITIALIZE], [])
    answer = line(id=0, result={"serverInfo": {}})
    assert conversation.to_client(answer) == answer


def test_a_refused_handshake_is_not_repeated() -> None:
    conversation = Conversation()
    conversation.sent(INITIALIZE)
    conversation.to_client(line(id=0, error={"code": -32022, "message": "no"}))

    assert conversation.resume() == ([], [])


@pytest.mark.parametrize("tool", ["recall", "update", "once"])
def test_a_call_that_may_be_repeated_is_sent_again(tool: str) -> None:
    conversation = opened()
    conversation.sent(call(5, tool))

    to_server, to_client = conversation.resume()

    marked = json.loads(call(5, tool))
    marked["params"]["_meta"] = {REPEATED: True}
    assert [json.loads(sent) for sent in to_server[2:]] == [marked]
    assert to_client == []
    assert conversation.waiting
    assert [json.loads(sent) for sent in conversation.resume()[0][2:]] == [marked], "as often as it takes"


@pytest.mark.parametrize("tool", ["pattern_store", "bare", "unheard-of"])
def test_a_call_that_must_not_be_done_twice_is_answered_with_its_unknown_outcome(tool: str) -> None:
    conversation = opened()
    conversation.sent(call("a", tool))

    to_server, to_client = conversation.resume()

    assert to_server[2:] == []
    answer = json.loads(to_client[0])
    assert answer["id"] == "a"
    assert answer["result"]["isError"] is True
    assert tool in answer["result"]["content"][0]["text"]
    assert not conversation.waiting


def test_of_servers_that_repeat_every_call_is_sent_again_though_nobody_asked_for_the_tools() -> None:
    conversation = Conversation()
    conversation.sent(call(5, "bare"))

    to_server, to_client = conversation.resume(repeats=True)

    assert [json.loads(sent)["params"]["_meta"] for sent in to_server] == [{REPEATED: True}]
    assert to_client == []


def test_the_answer_has_the_form_of_the_newer_protocol_where_the_call_had() -> None:
    conversation = Conversation()
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    conversation.sent(line(id=1, method="tools/call", params={"name": "x", "_meta": meta}))

    assert json.loads(conversation.resume()[1][0])["result"]["resultType"] == "complete"


def test_a_standing_subscription_is_taken_up_again_and_holds_nobody_back() -> None:
    conversation = Conversation()
    listen = line(id="l", method="subscriptions/listen", params={})
    conversation.sent(listen)
    assert not conversation.waiting

    assert conversation.resume() == ([listen], [])


def test_a_cancelled_request_is_not_sent_again() -> None:
    conversation = opened()
    conversation.sent(call(7, "recall"))
    conversation.sent(line(method="notifications/cancelled", params={"requestId": 7}))

    assert conversation.resume()[0] == [INITIALIZE, INITIALIZED]


def test_answers_reach_only_the_server_that_asked() -> None:
    conversation = opened()
    question = line(id=0, method="roots/list")
    assert conversation.to_client(question) == question
    conversation.resume()

    assert conversation.to_server(line(id=0, result={"roots": []})) is None

    asked = json.loads(conversation.to_client(question) or b"")
    assert asked["method"] == "roots/list"
    assert asked["id"] != 0
    answered = conversation.to_server(line(id=asked["id"], result={"roots": []}))
    assert json.loads(answered or b"") == {"jsonrpc": "2.0", "id": 0, "result": {"roots": []}}
    conversation.resume()
    assert conversation.to_server(line(id=asked["id"], result={"roots": []})) is None


def test_a_question_taken_back_is_the_one_that_was_asked() -> None:
    conversation = opened()
    conversation.resume()
    asked = json.loads(conversation.to_client(line(id=3, method="roots/list")) or b"")
    taken_back = conversation.to_client(line(method="notifications/cancelled", params={"requestId": 3}))

    assert json.loads(taken_back or b"")["params"]["requestId"] == asked["id"]


def test_without_any_server_everything_open_is_answered() -> None:
    conversation = opened()
    conversation.sent(call(8, "recall"))
    conversation.sent(call(9, "remember"))

    answers = [json.loads(answer) for answer in conversation.refuse("no server")]

    assert [(answer["id"], answer["error"]["message"]) for answer in answers] == [(8, "no server"), (9, "no server")]
    assert not conversation.waiting


@given(st.lists(st.binary(max_size=60), max_size=5), st.integers(0, 2))
def test_lines_that_are_no_messages_pass_as_they_are(lines: list[bytes], generations: int) -> None:
    conversation = Conversation()
    for _ in range(generations):
        conversation.resume()
    for text in [*lines, b"[1,2]", b"[" * 100_000, b"null", b"\xff", b'"x"', b"{}"]:
        raw = text.replace(b"\n", b" ") + b"\n"
        assert conversation.to_server(raw) == raw
        conversation.sent(raw)
        assert conversation.to_client(raw) == raw


@given(
    st.lists(st.sampled_from(["recall", "update", "remember", "pattern_store"]), max_size=12),
    st.data(),
)
def test_every_call_is_answered_exactly_once_whenever_servers_die(tools: list[str], data: st.DataObject) -> None:
    conversation = opened()
    answered: list[int] = []
    at_server: list[int] = []

    def arrive(lines: list[bytes]) -> None:
        at_server.extend(m["id"] for m in map(json.loads, lines) if m.get("method") == "tools/call")

    def see(raw: bytes | None) -> None:
        if raw is not None:
            answered.append(json.loads(raw)["id"])

    for number, tool in enumerate(tools, start=100):
        conversation.sent(call(number, tool))
        arrive([call(number, tool)])
        if data.draw(st.booleans()):
            at_server.clear()
            to_server, to_client = conversation.resume()
            arrive(to_server)
            for raw in to_client:
                see(raw)
        elif at_server and data.draw(st.booleans()):
            see(conversation.to_client(line(id=at_server.pop(0), result={})))
    for number in at_server:
        see(conversation.to_client(line(id=number, result={})))

    assert sorted(answered) == list(range(100, 100 + len(tools)))
    assert not conversation.waiting
