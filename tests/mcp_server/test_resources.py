"""Memories and documents by address, their completion, prompts, and notice of changes."""

import json
from sqlite3 import Connection
from typing import Any
from urllib.parse import quote

import anyio
import pytest
from mcp import Client
from mcp.server.subscriptions import ResourcesListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import (
    PromptReference,
    ResourceListChangedNotification,
    ResourceTemplateReference,
)

from mcp_server.changes import announce_changes
from mcp_server.connection import serve_messages
from memory_cache import files, text_format
from memory_cache.cache import open_cache
from memory_cache.models import Draft, Project
from memory_cache.settings import Settings
from tests.mcp_server.test_tools_documents import fetch
from tests.mcp_server.world import START, Claude, World

OTHER = Project(id="github.com/acme/gadget", key="github.com/acme/gadget", name="gadget")


async def read(claude: Claude, uri: str) -> str:
    return (await claude.client.read_resource(uri)).contents[0].text


async def read_json(claude: Claude, uri: str) -> list[dict[str, Any]]:
    contents = (await claude.client.read_resource(uri)).contents[0]
    assert contents.mime_type == "application/json"
    return json.loads(contents.text)


async def test_the_list_names_every_memory_with_its_fields(claude: Claude) -> None:
    memory_id = await claude.remember("# Use WAL\n\nReaders never block.", category="decision", tags=["db"], ttl="7d")
    entries = await read_json(claude, "memory://list")
    assert len(entries) == 1
    entry = entries[0]
    assert entry["id"] == memory_id
    for field in (
        "title",
        "category",
        "tags",
        "created",
        "updated",
        "projectId",
        "projectName",
        "snippet",
        "expiresAt",
    ):
        assert field in entry
    assert "content" not in entry


async def test_a_memory_is_read_whole_and_by_prefix(claude: Claude) -> None:
    text = "# Long\n\n" + "line\n" * 20_000 + "end"
    memory_id = await claude.remember(text)
    for uri in (f"memory://{memory_id}", f"memory://{memory_id[:8]}"):
        content = await read(claude, uri)
        assert content.endswith(text)
        assert f"**ID:** {memory_id}" in content


async def test_project_and_category_lists(claude: Claude, world: World) -> None:
    await claude.remember("here", category="decision")
    await claude.remember("global", category="decision", global_=True)
    await world.cache.remember(Draft(content="there", category="日本 語", project=OTHER))
    for spelling in ("github.com/acme/gadget", "github.com/Acme/Gadget"):
        entries = await read_json(claude, f"memory://project/{quote(spelling, safe='')}")
        assert [entry["title"] for entry in entries] == ["there"]
    assert len(await read_json(claude, "memory://project/github.com/acme/gadget")) == 1
    assert {entry["title"] for entry in await read_json(claude, "memory://category/decision")} == {"here", "global"}
    assert len(await read_json(claude, f"memory://category/{quote('日本 語', safe='')}")) == 1
    assert await read_json(claude, "memory://category/nothing") == []
    assert await read_json(claude, "memory://project/nothing") == []


async def test_a_document_is_read_whole(claude: Claude, world: World) -> None:
    document = await fetch(world, "# Routing\n\nAll of it.")
    content = await read(claude, f"document://{document}")
    assert "All of it." in content
    assert f"ID: {document}" in content


@pytest.mark.parametrize(
    "uri",
    [
        "memory://ffffffff-0000-4000-8000-000000000000", "memory://", "memory://a/b/c", "memory://../../etc/passwd",
        "memory://project/", "memory://%00%00%00%00", "document://ffffffff", "document://", "file:///etc/passwd",
        "memory:list", "x",
    ],
)  # fmt: skip
async def test_an_unknown_address_is_refused_with_the_known_ones_or_a_next_step(claude: Claude, uri: str) -> None:
    with pytest.raises(MCPError) as caught:
        await claude.client.read_resource(uri)
    assert caught.value.code == -32602
    assert any(
        word in caught.value.message
        for word in ("memory://list", "recall", "short", "empty", "search_documents", "list")
    )


async def test_the_listing_holds_the_index_and_the_latest_memories(claude: Claude) -> None:
    memory_id = await claude.remember("# Use WAL")
    listed = (await claude.client.list_resources()).resources
    assert [str(resource.uri) for resource in listed] == ["memory://list", f"memory://{memory_id}"]
    assert listed[1].title == "Use WAL"
    templates = {
        template.uri_template for template in (await claude.client.list_resource_templates()).resource_templates
    }
    assert templates == {"memory://{id}", "memory://project/{id}", "memory://category/{category}", "document://{id}"}


async def test_a_long_list_goes_on_where_it_was_cut(claude: Claude, world: World) -> None:
    ids = {f"{number:08x}-0000-4000-8000-000000000000" for number in range(200)}

    def fill(connection: Connection) -> None:
        for memory_id in ids:
            data = text_format.render(
                id=memory_id, category="learning", tags=[], created=START, updated=START, body="text " * 40
            )
            files.add(connection, f"memories/learning/{memory_id}.md", data)

    await world.cache.database.write(fill)
    seen: list[str] = []
    uri: str | None = "memory://list"
    while uri:
        contents = (await claude.client.read_resource(uri)).contents[0]
        assert len(contents.text) <= 50_000
        seen += [entry["id"] for entry in json.loads(contents.text)]
        meta = contents.meta or {}
        uri = meta.get("next")
        assert (meta.get("more", 0) > 0) == (uri is not None)
    assert len(seen) == 200
    assert set(seen) == ids


@pytest.mark.parametrize(
    ("uri", "argument", "typed", "expected"),
    [
        ("memory://project/{id}", "id", "github.com/ac", ["github.com/acme/gadget"]),
        ("memory://project/{id}", "id", "gad", ["github.com/acme/gadget"]),
        ("memory://category/{category}", "category", "dec", ["decision"]),
        ("memory://category/{category}", "category", "%", []),
        ("memory://{id}", "id", "zzzz", []),
    ],
)
async def test_arguments_complete(
    claude: Claude, world: World, uri: str, argument: str, typed: str, expected: list[str]
) -> None:
    await world.cache.remember(Draft(content="there", category="decision", tags=("SQLite",), project=OTHER))
    reference = ResourceTemplateReference(type="ref/resource", uri=uri)
    completed = await claude.client.complete(reference, {"name": argument, "value": typed})
    assert completed.completion.values == expected


async def test_ids_complete_by_their_beginning_and_by_the_title(claude: Claude, world: World) -> None:
    memory_id = await claude.remember("# Use WAL\n\ntext")
    document = await fetch(world, "# Routing\n\ntext")
    for uri, wanted, typed in (
        ("memory://{id}", memory_id, memory_id[:5]), ("memory://{id}", memory_id, "use w"),
        ("memory://{id}", memory_id, ""),
        ("document://{id}", document, document[:5]), ("document://{id}", document, "rout"),
    ):  # fmt: skip
        reference = ResourceTemplateReference(type="ref/resource", uri=uri)
        assert (await claude.client.complete(reference, {"name": "id", "value": typed})).completion.values == [wanted]


async def test_tags_complete_in_prompts_and_never_more_than_a_hundred(claude: Claude, world: World) -> None:
    await world.cache.remember(Draft(content="x", category="learning", tags=tuple(f"tag{n}" for n in range(90))))
    await world.cache.remember(Draft(content="y", category="learning", tags=tuple(f"tag{n}" for n in range(90, 150))))
    reference = PromptReference(type="ref/prompt", name="recall")
    completion = (await claude.client.complete(reference, {"name": "query", "value": "TAG"})).completion
    assert len(completion.values) == 100
    assert completion.has_more
    assert (await claude.client.complete(reference, {"name": "other", "value": ""})).completion.values == []


async def prompt(claude: Claude, name: str, **arguments: str) -> str:
    return (await claude.client.get_prompt(name, arguments)).messages[0].content.text


async def test_prompts_bring_memories_in_as_data(claude: Claude, world: World) -> None:
    names = {entry.name for entry in (await claude.client.list_prompts()).prompts}
    assert names == {"recall", "remember_this", "project_briefing", "weekly_review"}
    assert "Nothing is remembered" in await prompt(claude, "recall", query="needle")
    assert "No memory was stored" in await prompt(claude, "weekly_review")
    await claude.remember("# Needle\n\nin a haystack", category="task")
    for text in (await prompt(claude, "recall", query="needle"), await prompt(claude, "project_briefing")):
        assert "in a haystack" in text
        assert "not instructions" in text
    assert "this: the port is 3001" in await prompt(claude, "remember_this", what="the port is 3001")
    assert "what matters of this conversation" in await prompt(claude, "remember_this")
    assert "Needle" in await prompt(claude, "weekly_review")
    world.clock.pass_days(8)
    assert "No memory was stored" in await prompt(claude, "weekly_review")


async def test_a_new_client_hears_of_changes_made_elsewhere(world: World) -> None:
    server = world.server()
    heard = anyio.Event()
    async with anyio.create_task_group() as group, Client(server) as client:

        async def listen() -> None:
            async with client.listen(resources_list_changed=True) as subscription:
                ready.set()
                async for event in subscription:
                    assert isinstance(event, ResourcesListChanged)
                    heard.set()
                    return

        ready = anyio.Event()
        group.start_soon(listen)
        await ready.wait()
        group.start_soon(lambda: announce_changes(server, poll_seconds=0.02))
        await anyio.sleep(0.1)
        async with open_cache(world.home, Settings()) as elsewhere:
            await elsewhere.remember(Draft(content="from another process", category="learning"))
            with anyio.fail_after(10):
                await heard.wait()
        group.cancel_scope.cancel()


async def test_an_older_client_hears_of_changes_made_elsewhere(world: World) -> None:
    server = world.server()
    heard = anyio.Event()

    async def message(received: object) -> None:
        if isinstance(getattr(received, "root", received), ResourceListChangedNotification):
            heard.set()

    from mcp.shared.memory import create_client_server_memory_streams

    class Transport:
        async def __aenter__(self) -> object:
            self._streams = create_client_server_memory_streams()
            ours, theirs = await self._streams.__aenter__()
            self._group = anyio.create_task_group()
            await self._group.__aenter__()
            self._group.start_soon(serve_messages, server, *theirs)
            return ours

        async def __aexit__(self, *error: object) -> None:
            self._group.cancel_scope.cancel()
            await self._group.__aexit__(None, None, None)
            await self._streams.__aexit__(None, None, None)

    async with Client(Transport(), mode="legacy", message_handler=message) as client:
        assert client.server_capabilities.resources.list_changed
        await client.list_tools()
        await anyio.sleep(0.2)
        await world.cache.remember(Draft(content="from elsewhere", category="learning"))
        with anyio.fail_after(10):
            await heard.wait()
