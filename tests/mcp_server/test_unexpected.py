"""What happens when something breaks: the model gets a sentence, and no text of a memory gets into a log."""

import logging
import sqlite3

import pytest

from tests.mcp_server.world import Claude, World


async def test_a_crash_is_told_without_its_text_and_logged_without_it(
    claude: Claude, world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    text = " ".join(("the text", "of a memory"))  # put together, so that no source line holds it

    async def broken(*arguments: object, **named: object) -> None:
        raise RuntimeError(text)

    monkeypatch.setattr(type(world.cache), "recall", broken)
    with caplog.at_level(logging.DEBUG):
        answer = await claude.fails("recall", query="private words")
    assert "RuntimeError" in answer
    assert "claude-memory doctor" in answer
    assert text not in answer
    logged = "\n".join([caplog.text, *(str(record.exc_info) for record in caplog.records)])
    assert "recall failed: RuntimeError" in logged
    assert text not in logged
    assert "private words" not in logged
    assert await claude.say("status")


async def test_a_failing_database_does_not_end_the_session(
    claude: Claude, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*arguments: object, **named: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(type(world.cache), "remember", broken)
        assert "OperationalError" in await claude.fails("remember", category="learning", content="x")
    assert "Remembered" in await claude.say("remember", category="learning", content="x")


async def test_refused_calls_leave_no_text_in_the_log(claude: Claude, caplog: pytest.LogCaptureFixture) -> None:
    memory_id = await claude.remember("# A title nobody should log")
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("mcp").setLevel(logging.WARNING)  # as the factory does; caplog changed the root only
        await claude.fails("forget", id=memory_id[:2])
        await claude.fails("remember", category="learning", content="<private>hunter2</private>")
        await claude.say("recall", query="title nobody")
    for text in ("nobody should log", "hunter2", "title nobody"):
        assert text not in caplog.text
