"""A near-duplicate is pointed out, never refused and never united."""

from tests.mcp_server.world import Claude, id_of


async def test_a_near_duplicate_is_pointed_out_and_stored_all_the_same(claude: Claude) -> None:
    first = await claude.remember("The API server listens on port 3001 in development and production")
    answer = await claude.say(
        "remember", category="learning", content="The API server listens on port 3002 in development and production"
    )
    assert id_of(answer) != first
    assert f"`{first[:8]}`" in answer
    assert "Similar" in answer
