"""The interface below the pages: what is found, what is changed, and that nobody's change is lost."""

from pathlib import Path
from urllib.parse import quote

import anyio
import pytest

from dashboard.collections_api import most_linked
from memory_cache import conflicts, documents, files, patterns
from memory_cache.clock import utc_now
from memory_cache.conflicts import ConflictRecord
from memory_cache.document_file import DocumentFile
from memory_cache.models import Change, Memory, Project, SyncHealth
from tests.dashboard.pages import Pages, served

WIDGET = Project(id="github.com/acme/widget", key="github.com/acme/widget", name="widget")
HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script> & \"'"


async def test_a_word_is_found_while_it_is_typed(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        await pages.remember("# Staging database\n\nIt listens on port 3001.")
        await pages.remember("# Breakfast\n\nPorridge.")
        for typed in ("stag", "Staging", "datab", "por 3001", "listens on por"):
            found = await pages.get(f"/api/memories?q={typed}")
            assert found["memories"][0]["title"] == "Staging database", typed
        assert (await pages.get("/api/memories?q=100%25"))["memories"] == []
        assert (await pages.get("/api/memories?q=zebra"))["memories"] == []


async def test_what_recall_ranks_first_stays_first(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        await pages.remember("# Deploy\n\nHow we deploy: deploy with the deploy script.")
        for number in range(5):
            await pages.remember(
                f"# Note {number}\n\nA long text about many things, one of which is how people deploy. " + "Word " * 50
            )
        found = await pages.get("/api/memories?q=deploy")
        assert found["memories"][0]["title"] == "Deploy"
        assert len(found["memories"]) == 6


async def test_an_excerpt_shows_the_place_that_was_found(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        await pages.remember("# Long\n\n" + "word " * 200 + "needlework " + "word " * 200)
        (found,) = (await pages.get("/api/memories?q=needlew"))["memories"]
        assert "needlework" in found["excerpt"]
        assert len(found["excerpt"]) <= 240


async def test_pages_go_through_all_memories_once(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        for number in range(7):
            await pages.remember(f"Fact {number}")
        first = await pages.get("/api/memories?limit=4")
        rest = await pages.get(f"/api/memories?limit=4&cursor={first['cursor']}")
        assert (len(first["memories"]), first["more"]) == (4, 3)
        assert (len(rest["memories"]), rest["more"], rest["cursor"]) == (3, 0, None)
        assert len({each["id"] for each in first["memories"] + rest["memories"]}) == 7
        assert "content" not in first["memories"][0]


async def test_filters_hold_for_lists_and_searches(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        await pages.remember("Blue paint", "decision", tags=("colour",), project=WIDGET)
        await pages.remember("Blue sky")
        for query in ("", "&q=blue", "&q=blu"):
            assert await titles(pages, f"project={WIDGET.key}{query}") == ["Blue paint"]
            assert await titles(pages, f"project={query}") == ["Blue sky"]
            assert await titles(pages, f"category=decision{query}") == ["Blue paint"]
            assert await titles(pages, f"tag=Colour{query}") == ["Blue paint"]
            assert await titles(pages, f"tag=none{query}") == []
        filed = await pages.get("/api/filed")
        assert filed["projects"] == [{"key": WIDGET.key, "name": "widget"}]
        assert set(filed["categories"]) == {"decision", "learning"}
        assert filed["tags"] == ["colour"]


async def titles(pages: Pages, query: str) -> list[str]:
    return sorted(each["title"] for each in (await pages.get(f"/api/memories?{query}"))["memories"])


async def test_a_wrong_question_is_told_in_words(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        for query in ["limit=0", "limit=201", "limit=x", "limit=²", "cursor=nonsense"]:
            error = (await pages.get(f"/api/memories?{query}", 400))["error"]
            assert set(error) == {"title", "message", "hint"}


async def test_a_memory_is_read_whole_and_changed(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        memory = await pages.remember("# Port\n\n3000", tags=("net",))
        read = await pages.get(f"/api/memories/{memory.id}")
        assert (read["content"], read["revisions"], read["expired"]) == ("# Port\n\n3000", 0, False)
        body = {
            "content": "# Port\n\n3001",
            "tags": ["net", "db"],
            "category": "project",
            "priority": "high",
            "ttl": "7d",
        }
        saved = await pages.send("PATCH", f"/api/memories/{memory.id}", {"version": read["version"], **body})
        stands = await pages.cache.get(memory.id)
        assert (stands.content, stands.tags, stands.category) == ("# Port\n\n3001", ("net", "db"), "project")
        assert (stands.priority, stands.expires_at is not None) == ("high", True)
        assert saved["version"] != read["version"]
        assert saved["revisions"] == 1


async def test_an_edit_in_between_is_told_and_nothing_is_lost(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        memory, other = await pages.remember("First"), await pages.remember("Other")
        old = (await pages.get(f"/api/memories/{memory.id}"))["version"]
        await pages.cache.update(memory.id, Change(content="By somebody else"))
        path = f"/api/memories/{memory.id}"
        for method, where, body in (
            ("PATCH", path, {"version": old, "content": "Mine"}),
            ("DELETE", path, {"version": old}),
            ("POST", f"{path}/restore", {"version": old, "revision": 1}),
            ("POST", f"{path}/link", {"version": old, "other": other.id}),
        ):
            error = (await pages.send(method, where, body, 409))["error"]
            assert "nothing was written" in error["message"]
        assert (await pages.cache.get(memory.id)).content == "By somebody else"
        assert (await pages.cache.get(memory.id)).related_to == ()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"version": 1},
        {"version": "x", "path": "/etc"},
        {"version": "x", "priority": "urgent"},
        {"version": "x", "tags": "a"},
    ],
)
async def test_a_wrong_change_is_refused(tmp_path: Path, body: dict[str, object]) -> None:
    async with served(tmp_path) as pages:
        memory = await pages.remember("Fact")
        await pages.send("PATCH", f"/api/memories/{memory.id}", body, 400)
        answer = await pages.web.request(
            "PATCH", f"/api/memories/{memory.id}", content=b"[" * 100_000, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 400
        assert (await pages.cache.get(memory.id)).content == "Fact"


async def test_trash_restore_and_history(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        memory = await pages.remember("One")
        await pages.cache.update(memory.id, Change(content="Two"))
        path = f"/api/memories/{memory.id}"
        (earlier,) = (await pages.get(f"{path}/history"))["revisions"]
        assert earlier["content"] == "One"
        version = (await pages.get(path))["version"]
        back = await pages.send("POST", f"{path}/restore", {"version": version, "revision": earlier["revision"]})
        assert back["content"] == "One"
        await pages.send("DELETE", path, {"version": back["version"]})
        await pages.get(path, 404)
        (entry,) = (await pages.get("/api/trash"))["trash"]
        assert (entry["id"], entry["content"]) == (memory.id, "One")
        assert (await pages.send("POST", f"{path}/restore", {}))["content"] == "One"
        assert (await pages.get("/api/trash"))["trash"] == []


async def test_links_go_both_ways_and_make_the_graph(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        one, two = await pages.remember("One"), await pages.remember("Two")
        await pages.remember("Alone")
        path = f"/api/memories/{one.id}"
        version = (await pages.get(path))["version"]
        linked = await pages.send("POST", f"{path}/link", {"version": version, "other": two.id})
        assert [each["id"] for each in linked["related"]] == [two.id]
        graph = await pages.get("/api/graph")
        assert graph["links"] == [sorted([one.id, two.id])]
        assert {each["id"] for each in graph["memories"]} == {one.id, two.id}
        assert len((await pages.get(f"/api/graph?from={one.id}"))["memories"]) == 2
        assert graph["left"] == 0
        done = await pages.send("POST", f"{path}/link", {"version": linked["version"], "other": two.id, "unlink": True})
        assert done["related"] == []


def test_a_picture_holds_the_memories_with_the_most_links() -> None:
    pairs = [("a", "b"), ("a", "c"), ("c", "d"), ("c", "e")]
    assert most_linked(pairs, 3) == ["c", "a", "b"]


async def conflicting(pages: Pages) -> Memory:
    """A memory that another device changed on the same line."""
    memory = await pages.remember("# Port\n\n3001")
    record = await pages.cache.database.read(lambda c: files.by_path(c, memory.path))
    assert record is not None
    assert record.content is not None
    base, theirs = record.content.replace(b"3001", b"3000"), record.content.replace(b"3001", b"3010")
    lost = ConflictRecord(memory.id, memory.path, "laptop", utc_now(), base, theirs)
    await pages.cache.database.write(lambda c: files.add(c, conflicts.path_of(lost), conflicts.encode(lost)))
    return memory


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"keep": "mine"}, "# Port\n\n3001"),
        ({"keep": "theirs"}, "# Port\n\n3010"),
        ({"keep": "both"}, "# Port\n\n3001\n\n## Other version (laptop)\n\n# Port\n\n3010"),
        ({"content": "# Port\n\n3005"}, "# Port\n\n3005"),
    ],
)
async def test_a_conflict_is_shown_three_ways_and_settled(tmp_path: Path, how: dict[str, str], text: str) -> None:
    async with served(tmp_path) as pages:
        memory = await conflicting(pages)
        (found,) = (await pages.get("/api/conflicts"))["conflicts"]
        for side, port in (("mine", "3001"), ("base", "3000"), ("theirs", "3010")):
            assert found[side].rstrip().endswith(port)
        assert (await pages.get(f"/api/memories/{memory.id}"))["conflicts"] == [found["id"]]
        await pages.send("POST", f"/api/conflicts/{found['id']}", {"version": found["version"], **how})
        assert (await pages.cache.get(memory.id)).content == text
        assert (await pages.get("/api/conflicts"))["conflicts"] == []
        await pages.send("POST", f"/api/conflicts/{found['id']}", {"version": found["version"], **how}, 400)


async def test_a_conflict_is_not_settled_against_a_text_that_nobody_saw(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        memory = await conflicting(pages)
        (found,) = (await pages.get("/api/conflicts"))["conflicts"]
        await pages.cache.update(memory.id, Change(content="# Port\n\n3099"))
        body = {"version": found["version"], "keep": "theirs"}
        await pages.send("POST", f"/api/conflicts/{found['id']}", body, 409)
        assert (await pages.cache.get(memory.id)).content == "# Port\n\n3099"
        assert len((await pages.get("/api/conflicts"))["conflicts"]) == 1


async def test_documents_patterns_and_growth(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        await pages.remember("Fact", "decision")
        now = utc_now()
        fetched = DocumentFile(
            "Streams", "# Streams\n\nRead them.", "library-docs", "https://example.org", "webfetch", now, now
        )
        await pages.cache.database.write(
            lambda c: documents.store(c, fetched, synced=True, caps=documents.Caps(), now=now)
        )
        await pages.cache.database.write(
            lambda c: patterns.store(
                c, description="Run the checks before a commit", category="git", project=None, example=None,
                device="desk", now=now,
            )
        )  # fmt: skip
        for query in ("", "?q=streams"):
            (found,) = (await pages.get(f"/api/documents{query}"))["documents"]
            assert found["title"] == "Streams"
        assert (await pages.get(f"/api/documents/{found['id']}"))["content"] == "# Streams\n\nRead them."
        (pattern,) = (await pages.get("/api/patterns"))["patterns"]
        assert (pattern["count"], pattern["mature"]) == (1, False)
        growth = await pages.get("/api/growth")
        assert growth["days"] == [{"day": f"{now:%Y-%m-%d}", "made": {"decision": 1}}]
        assert growth["counts"]["memories"] == 1


async def test_any_text_is_a_safe_question(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        await pages.remember("A fact")
        for text in [
            "\0",
            "%",
            "_",
            "\\",
            "'",
            '"',
            "*",
            "a" * 5000,
            "x " * 2000,
            "\u202e",
            "😀",
            "(",
            "NEAR(",
            "-",
            "é" * 50,
            "%ff",
        ]:
            for name in ("q", "category", "tag", "project"):
                answer = await pages.web.get("/api/memories", params={name: text})
                assert answer.status_code == 200
                assert answer.json()["memories"] == []
            assert (await pages.web.get("/api/documents", params={"q": text})).status_code == 200
            for method, path in (("GET", ""), ("GET", "/history"), ("POST", "/restore"), ("DELETE", "")):
                body = {"version": "x"} if method == "DELETE" else {} if method == "POST" else None
                answer = await pages.web.request(method, f"/api/memories/{quote(text, safe='')}{path}", json=body)
                assert answer.status_code in (400, 404, 405)


async def test_a_hostile_text_is_data_everywhere(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        memory = await pages.remember(f"# {HOSTILE}\n\n{HOSTILE}", tags=("<b>tag</b>",))
        for path in ("/api/memories", f"/api/memories/{memory.id}", "/api/memories?q=img", "/api/filed"):
            answer = await pages.web.get(path)
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["x-content-type-options"] == "nosniff"
        assert (await pages.get(f"/api/memories/{memory.id}"))["content"] == f"# {HOSTILE}\n\n{HOSTILE}"


async def test_changes_and_the_state_of_the_sync_are_told_as_they_happen(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        found: list[tuple[str, dict[str, object]]] = []
        async with anyio.create_task_group() as group:

            async def follow() -> None:
                found.extend(await pages.events(4))

            group.start_soon(follow)
            await anyio.sleep(0.3)
            await pages.remember("Fact")
            await anyio.sleep(1.2)
            pages.daemon.health = SyncHealth(state="unreachable", message="The folder is away.")
        assert [name for name, _ in found] == ["state", "state", "changed", "state"]
        assert (found[0][1]["memories"], found[1][1]["memories"]) == (0, 1)
        assert (found[3][1]["state"], found[3][1]["message"]) == ("unreachable", "The folder is away.")


async def test_a_round_can_be_asked_for(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        await pages.send("POST", "/api/sync", {})
        assert pages.daemon.rounds == 1


async def test_an_open_stream_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with anyio.fail_after(20):
        async with served(tmp_path) as pages:
            stream = pages.web.stream("GET", "/api/events")
            await stream.__aenter__()
            pages.dashboard.port = None  # the block ends with the stream open
