"""Which project a call is about, and that every answer says so."""

from pathlib import Path

import pytest
from mcp import Client
from mcp_types import ListRootsResult, Root

from mcp_server.session import SessionContext
from tests.mcp_server.world import Claude, World, make_repository, text_of


async def project_of(server: object, **more: object) -> str:
    async with Client(server, **more) as client:
        answer = text_of(await client.call_tool("remember", {"category": "learning", "content": "x"}))
    return next(line for line in answer.splitlines() if line.startswith("Project: "))


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    found = {}
    for name in ("environment", "root", "working"):
        found[name] = tmp_path / name
        found[name].mkdir()
        make_repository(found[name], f"git@github.com:acme/{name}.git")
    return found


async def test_the_environment_comes_before_the_working_directory(world: World, places: dict[str, Path]) -> None:
    context = SessionContext(cwd=str(places["working"]), project_dir=str(places["environment"]))
    assert await project_of(world.server(context)) == (
        "Project: environment (github.com/acme/environment, from CLAUDE_PROJECT_DIR)"
    )
    assert "working (github.com/acme/working, from working directory)" in await project_of(
        world.server(SessionContext(cwd=str(places["working"])))
    )


async def test_a_sub_folder_belongs_to_its_repository(world: World, places: dict[str, Path]) -> None:
    below = places["environment"] / "src" / "deep"
    below.mkdir(parents=True)
    assert "acme/environment" in await project_of(world.server(SessionContext(project_dir=str(below))))


async def roots_of(places: dict[str, Path]) -> object:
    async def answer(context: object) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=places["root"].as_uri())])

    return answer


async def test_roots_of_an_older_client_come_before_the_working_directory(
    world: World, places: dict[str, Path]
) -> None:
    callback = await roots_of(places)
    context = SessionContext(cwd=str(places["working"]))
    answer = await project_of(world.server(context), mode="legacy", list_roots_callback=callback)
    assert "acme/root" in answer
    assert "client root" in answer
    context = SessionContext(cwd=str(places["working"]), project_dir=str(places["environment"]))
    answer = await project_of(world.server(context), mode="legacy", list_roots_callback=callback)
    assert "acme/environment" in answer


async def test_roots_are_asked_for_once(world: World, places: dict[str, Path]) -> None:
    asked = 0

    async def answer(context: object) -> ListRootsResult:
        nonlocal asked
        asked += 1
        return ListRootsResult(roots=[Root(uri=places["root"].as_uri())])

    async with Client(world.server(SessionContext()), mode="legacy", list_roots_callback=answer) as client:
        for _ in range(3):
            assert "acme/root" in text_of(await client.call_tool("status", {}))
    assert asked == 1


async def test_a_new_client_with_roots_is_not_asked_and_works(world: World, places: dict[str, Path]) -> None:
    callback = await roots_of(places)
    answer = await project_of(world.server(SessionContext(cwd=str(places["working"]))), list_roots_callback=callback)
    assert "acme/working" in answer


async def test_an_argument_comes_first(claude: Claude, places: dict[str, Path]) -> None:
    for argument, expected in (
        (str(places["root"]), "github.com/acme/root"),
        ("https://gitlab.com/Group/Thing.git", "gitlab.com/group/thing"),
    ):
        answer = await claude.say("remember", category="learning", content=f"for {argument}", project=argument)
        assert f"({expected}, from argument)" in answer


async def test_a_project_is_known_by_its_name_once_it_has_memories(claude: Claude) -> None:
    await claude.say("remember", category="learning", content="x", project="https://github.com/acme/gadget")
    assert "github.com/acme/gadget" in await claude.say("remember", category="learning", content="y", project="Gadget")
    await claude.say("remember", category="learning", content="x", project="https://gitlab.com/other/gadget")
    ambiguous = await claude.fails("remember", category="learning", content="y", project="gadget")
    assert "github.com/acme/gadget" in ambiguous
    assert "gitlab.com/other/gadget" in ambiguous


async def test_without_any_directory_memories_are_global_and_the_answer_says_so(world: World) -> None:
    answer = await project_of(world.server(SessionContext()))
    assert answer == "Project: global (this session has no project; pass project to name one)"
    async with Client(world.server(SessionContext())) as client:
        assert "this session has no project" in text_of(await client.call_tool("recall", {"query": "nothing"}))
        result = await client.call_tool("list", {"projectOnly": True})
        assert result.is_error
        assert "no project" in text_of(result)


async def test_a_directory_that_is_gone_is_no_project(world: World, tmp_path: Path) -> None:
    context = SessionContext(cwd=str(tmp_path / "gone"), project_dir=str(tmp_path / "gone too"))
    assert "global" in await project_of(world.server(context))


def test_a_preamble_is_taken_as_far_as_it_can_be_used() -> None:
    context = SessionContext.from_preamble(
        {"kind": "mcp", "cwd": "/work", "project_dir": "", "session_id": 5, "roots": ["/a", 7], "more": None}
    )
    assert context == SessionContext(cwd="/work", roots=("/a",))
    assert SessionContext.from_preamble({"roots": "no list"}) == SessionContext()
