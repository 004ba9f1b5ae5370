"""Far-reaching tools ask the user first, where the client can ask; what is declined does not happen."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp_types import ElicitRequestParams, ElicitResult

from memory_cache.settings import load
from tests.mcp_server.world import Claude, World

Asking = Callable[..., Any]


@pytest.fixture(params=["modern", "legacy"])
def asking(request: pytest.FixtureRequest, world: World) -> Asking:
    """A client whose user answers every question the same way, and the questions it was asked."""

    @asynccontextmanager
    async def connect(answer: ElicitResult) -> AsyncIterator[tuple[Claude, list[str]]]:
        questions: list[str] = []

        async def callback(context: object, params: ElicitRequestParams) -> ElicitResult:
            questions.append(params.message)
            return answer

        mode = "legacy" if request.param == "legacy" else "auto"
        async with Client(world.server(), mode=mode, elicitation_callback=callback) as client:
            yield Claude(client), questions

    return connect


YES = ElicitResult(action="accept", content={"confirm": True})
NOT_CONFIRMED = ElicitResult(action="accept", content={"confirm": False})
DECLINE = ElicitResult(action="decline")
CANCEL = ElicitResult(action="cancel")


async def titles(world: World) -> set[str]:
    return {memory.title for memory in (await world.cache.list(world.everything())).memories}


async def test_deleting_many_asks_with_number_and_titles(asking: Asking, world: World) -> None:
    async with asking(YES) as (claude, questions):
        await claude.remember("first draft")
        await claude.remember("second draft")
        await claude.remember("kept")
        await claude.say("batch_delete", query="draft")
        assert questions == []
        answer = await claude.say("batch_delete", query="draft", dryRun=False)
        assert "2 memories moved to the trash" in answer
        assert len(questions) == 1
        for text in ("Move 2 memories to the trash", "first draft", "second draft", "Restore"):
            assert text in questions[0]
        assert await titles(world) == {"kept"}


@pytest.mark.parametrize("answer", [DECLINE, CANCEL, NOT_CONFIRMED], ids=["declined", "cancelled", "not confirmed"])
async def test_without_consent_nothing_happens(
    asking: Asking, world: World, tmp_path: Path, answer: ElicitResult
) -> None:
    async with asking(answer) as (claude, questions):
        one = await claude.remember("draft one")
        other = await claude.remember("draft two", ttl="1d")
        for tool, arguments in (
            ("batch_delete", {"query": "draft", "dryRun": False}),
            ("merge_memories", {"ids": [one, other]}),
            ("configure_storage", {"action": "custom", "path": str(tmp_path / "other")}),
        ):
            assert await claude.say(tool, **arguments) == "Nothing was changed: the user did not agree."
        world.clock.pass_days(3)
        assert await claude.say("cleanup") == "Nothing was changed: the user did not agree."
        assert len(questions) == 4
        assert await titles(world) == {"draft one", "draft two"}
        assert load(world.home, {}).storage.path == ""
        assert not (tmp_path / "other").exists()


async def test_a_merge_names_what_goes_where(asking: Asking) -> None:
    async with asking(YES) as (claude, questions):
        one, other = await claude.remember("# Port"), await claude.remember("# Port in dev")
        await claude.say("merge_memories", ids=[one, other])
        assert questions == [
            'Merge into "Port", and move these to the trash: Port in dev. Restore brings them back. Go on?'
        ]


async def test_bad_input_is_an_error_before_anybody_is_asked(asking: Asking) -> None:
    async with asking(YES) as (claude, questions):
        one = await claude.remember("# Port")
        assert "at least one" in await claude.fails("batch_delete", dryRun=False)
        assert "two" in await claude.fails("merge_memories", ids=[one])
        assert "No memory has the id" in await claude.fails("merge_memories", ids=[one, "ffffffff"])
        assert "not an absolute path" in await claude.fails("configure_storage", action="custom", path="x")
        assert "No memory meets" in await claude.say("batch_delete", query="nothing", dryRun=False)
        assert questions == []


async def test_a_single_forget_is_not_asked_for(asking: Asking) -> None:
    async with asking(DECLINE) as (claude, questions):
        await claude.say("forget", id=await claude.remember("x"))
        assert questions == []
