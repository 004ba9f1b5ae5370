"""Eight sessions that use all tools at once on one cache: nothing acknowledged is lost, no call fails."""

import random

import anyio
from mcp import Client

from tests.mcp_server.world import Claude, World, id_of

SESSIONS = 8
CALLS = 40


class Session:
    """What one session did and may expect."""

    def __init__(self, claude: Claude, number: int, hub: str) -> None:
        self.claude = claude
        self.name = f"session{number}"
        self.hub = hub
        self.random = random.Random(number)
        self.expected: dict[str, str] = {}
        self.forgotten: set[str] = set()
        self.count = 0

    async def work(self) -> None:
        actions = [
            self.remember,
            self.remember,
            self.update,
            self.update,
            self.forget,
            self.link,
            self.look,
            self.tag,
            self.pattern,
        ]
        for _ in range(CALLS):
            await self.random.choice(actions)()

    async def remember(self) -> None:
        self.count += 1
        content = f"# {self.name} note {self.count}"
        self.expected[id_of(await self.claude.say("remember", category="learning", content=content))] = content

    async def update(self) -> None:
        if self.expected:
            memory_id = self.random.choice(list(self.expected))
            self.count += 1
            content = f"# {self.name} changed {self.count}"
            await self.claude.say("update", id=memory_id, content=content)
            self.expected[memory_id] = content

    async def forget(self) -> None:
        if len(self.expected) > 3:
            memory_id = self.random.choice(list(self.expected))
            await self.claude.say("forget", id=memory_id)
            del self.expected[memory_id]
            self.forgotten.add(memory_id)

    async def link(self) -> None:
        if self.expected:
            await self.claude.say("link_memories", id1=self.hub, id2=self.random.choice(list(self.expected)))

    async def look(self) -> None:
        tool, arguments = self.random.choice(
            [
                ("recall", {"query": "note changed"}), ("recall", {}), ("list", {}), ("get_context", {}),
                ("status", {}),
                ("get_statistics", {}), ("visualize_graph", {}), ("export_memories", {}), ("project_status", {}),
                ("get_related", {"id": self.hub}), ("cleanup", {"dryRun": True}), ("pattern_mature", {}),
                ("batch_delete", {"query": "note"}), ("search_documents", {"query": "x"}),
            ]
        )  # fmt: skip
        await self.claude.say(tool, **arguments)

    async def tag(self) -> None:
        await self.claude.say("batch_tag", tag=self.name, query=self.name)

    async def pattern(self) -> None:
        await self.claude.say("pattern_store", description="Everybody notes this pattern again and again", category="x")


async def test_sessions_side_by_side_lose_nothing(world: World) -> None:
    async with Client(world.server()) as first:
        hub = await Claude(first).remember("# Hub")
    sessions: list[Session] = []

    async def run(number: int) -> None:
        async with Client(world.server(), mode="legacy" if number % 2 else "auto") as client:
            session = Session(Claude(client), number, hub)
            sessions.append(session)
            await session.work()

    async with anyio.create_task_group() as group:
        for number in range(SESSIONS):
            group.start_soon(run, number)
    found = {memory.id: memory for memory in (await world.cache.list(world.everything(), limit=2000)).memories}
    for session in sessions:
        for memory_id, content in session.expected.items():
            assert found[memory_id].content == content
        assert not session.forgotten & set(found)
    assert len(found) == 1 + sum(len(session.expected) for session in sessions)
    linked = {memory.id for memory, _ in await world.cache.related(hub)}
    assert linked <= set(found)
    integrity = await world.cache.database.read(lambda c: c.execute("PRAGMA integrity_check").fetchone()[0])
    assert integrity == "ok"
    sightings = await world.cache.database.read(
        lambda c: c.execute("SELECT count(*) FROM pattern_occurrences").fetchone()[0]
    )
    files = await world.cache.database.read(lambda c: c.execute("SELECT count(*) FROM patterns").fetchone()[0])
    assert files == 1
    assert sightings >= SESSIONS
