"""Counts, exports, conflicts, storage and status as the model sees them."""

import json
import os
import stat
from pathlib import Path

import pytest

from memory_cache import conflicts, files, health
from memory_cache.conflicts import ConflictRecord
from memory_cache.models import Draft, Project, SyncHealth
from memory_cache.settings import Settings, StorageSettings, load
from tests.mcp_server.world import START, Claude, World

OTHER = Project(id="github.com/acme/gadget", key="github.com/acme/gadget", name="gadget")


async def test_statistics_count_everything(claude: Claude, world: World) -> None:
    await claude.remember("one", category="task", tags=["a", "b"], priority="high")
    await claude.remember("two", category="task", tags=["a"], global_=True)
    await claude.remember("three", category="decision", ttl="1d")
    await world.cache.remember(Draft(content="four", category="learning", project=OTHER))
    world.clock.pass_days(2)
    answer = await claude.say("get_statistics")
    for text in (
        "# 3 memories", "by category: task 2, learning 1", "gadget 1", "global 1", "widget 1",
        "by priority: normal 2, high 1",
        "by tag: a 2, b 1", "expired 1", "links: 0", "0 documents",
    ):  # fmt: skip
        assert text in answer


async def test_statistics_of_an_empty_store(claude: Claude) -> None:
    answer = await claude.say("get_statistics")
    assert "# 0 memories" in answer
    assert "by category: none" in answer


async def test_project_status_of_one_and_of_all(claude: Claude, world: World) -> None:
    assert "No project has memories yet" in await claude.say("project_status")
    await claude.remember("# Ship it\n\nby Friday", category="task")
    await claude.remember("# Context\n\nA widget factory.", category="project")
    await world.cache.remember(Draft(content="# Elsewhere", category="task", project=OTHER))
    every = await claude.say("project_status")
    assert "2 projects" in every
    assert "gadget (github.com/acme/gadget): 1 memory, last change 2026-11-30" in every
    one = await claude.say("project_status", project="widget")
    for text in (
        "2 memories: project 1, task 1",
        "## Open tasks",
        "Ship it",
        "## Latest context",
        "A widget factory.",
        "Last updated",
    ):
        assert text in one
    assert "Elsewhere" not in one
    assert "Elsewhere" in await claude.say("project_status", project="git@github.com:Acme/Gadget.git")
    assert "No memories belong to this project yet" in await claude.say("project_status", project="unheard-of")
    assert "project" in await claude.fails("project_status", project="")


async def test_a_small_export_is_the_answer_itself(claude: Claude) -> None:
    memory_id = await claude.remember("# Use WAL\n\nReaders never block.", category="decision", tags=["db"])
    await claude.remember("# Task\n\nx", category="task")
    exported = json.loads(await claude.say("export_memories", category="decision"))
    assert [memory["id"] for memory in exported] == [memory_id]
    assert exported[0]["content"] == "# Use WAL\n\nReaders never block."
    text = await claude.say("export_memories", format="markdown")
    assert "Readers never block." in text
    assert f"- id: {memory_id}" in text
    assert "No memories found to export in category x" in await claude.say("export_memories", category="x")
    assert "'json' or 'markdown'" in await claude.fails("export_memories", format="xml")


@pytest.mark.parametrize(("form", "suffix"), [("json", ".json"), ("markdown", ".md")])
async def test_a_large_export_goes_to_a_private_file_that_the_answer_names(
    claude: Claude, world: World, form: str, suffix: str
) -> None:
    for number in range(40):
        await claude.remember(f"# Note {number}\n\n" + "text " * 100)
    answer = await claude.say("export_memories", format=form)
    path = Path(answer.split("exported to ")[1].split(" (")[0])
    assert path.is_absolute()
    assert path.suffix == suffix
    assert path.is_relative_to(world.home.root)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text("utf-8")
    assert "Note 39" in text
    if form == "json":
        assert len(json.loads(text)) == 40


async def conflict(world: World, memory_id: str, theirs: str, device: str = "desktop") -> str:
    """An open conflict as the daemon leaves it; its id."""

    def write(connection: object) -> str:
        row = connection.execute(
            "SELECT f.path, f.content FROM memories m JOIN files f USING (file_id) WHERE m.id = ?", (memory_id,)
        ).fetchone()
        other = bytes(row["content"]).replace(b"mine", theirs.encode())
        record = ConflictRecord(memory_id, row["path"], device, START, None, other)
        files.add(connection, conflicts.path_of(record), conflicts.encode(record))
        return conflicts.path_of(record).rsplit("/", 1)[1].removesuffix(".json")

    return await world.cache.database.write(write)


async def test_conflicts_show_both_versions_and_are_settled(claude: Claude, world: World) -> None:
    assert await claude.say("list_conflicts") == "No open conflicts."
    memory_id = await claude.remember("# Port\n\nmine is 3001")
    open_id = await conflict(world, memory_id, "theirs")
    shown = await claude.say("list_conflicts")
    for text in (
        "1 open conflict",
        f"ID: {open_id}",
        "-mine is 3001",
        "+theirs is 3001",
        "from device desktop",
        "resolve_conflict",
    ):
        assert text in shown
    assert "1 open conflict: list_conflicts" in await claude.say("status")
    whole = await claude.say("list_conflicts", id=open_id)
    assert "mine is 3001" in whole
    assert "theirs is 3001" in whole
    answer = await claude.say("resolve_conflict", id=open_id, content="# Port\n\nagreed on 3003")
    assert "Settled (with the merged text): Port" in answer
    assert (await world.cache.get(memory_id)).content == "# Port\n\nagreed on 3003"
    assert await claude.say("list_conflicts") == "No open conflicts."
    history = await claude.say("history", id=memory_id)
    assert "mine is 3001" in history
    assert "theirs is 3001" in history


@pytest.mark.parametrize(("keep", "stands"), [("mine", ["mine"]), ("theirs", ["theirs"]), ("both", ["mine", "theirs"])])
async def test_conflicts_keep_one_side_or_both(claude: Claude, world: World, keep: str, stands: list[str]) -> None:
    memory_id = await claude.remember("# Port\n\nmine is 3001")
    open_id = await conflict(world, memory_id, "theirs")
    await claude.say("resolve_conflict", id=open_id, keep=keep)
    content = (await world.cache.get(memory_id)).content
    assert [side for side in ("mine", "theirs") if f"{side} is 3001" in content] == stands


async def test_conflict_errors(claude: Claude, world: World) -> None:
    memory_id = await claude.remember("# Port\n\nmine is 3001")
    open_id = await conflict(world, memory_id, "theirs")
    assert "either keep" in await claude.fails("resolve_conflict", id=open_id)
    assert "either keep" in await claude.fails("resolve_conflict", id=open_id, keep="mine", content="x")
    assert "no open conflict" in await claude.fails("resolve_conflict", id="ffffffff-00000000", keep="mine")
    assert "'mine', 'theirs' or 'both'" in await claude.fails("resolve_conflict", id=open_id, keep="ours")
    assert open_id in await claude.fails("list_conflicts", id="ffff")
    assert len(await world.cache.conflicts()) == 1


async def test_status_tells_of_sync_storage_project_and_versions(claude: Claude, world: World) -> None:
    await claude.remember("text")
    answer = await claude.say("status")
    for text in (
        "1 memory, 0 expired",
        "not set up",
        "no daemon has run",
        "1 waiting to be uploaded",
        "project: widget",
        "version:",
    ):
        assert text in answer
    report = SyncHealth(
        state="held", message="12 deletes are held.", hint="Look first.", last_round=START, held_deletes=12,
        backend="folder", location="/data/ClaudeMemory",
    )  # fmt: skip
    await world.cache.database.write(lambda c: health.report(c, report))
    answer = await claude.say("status")
    for text in (
        "folder, /data/ClaudeMemory",
        "held",
        "last sync 2026-11-30 12:00 UTC",
        "--confirm-deletes",
        "12 deletes are held. Look first.",
    ):
        assert text in answer


@pytest.mark.parametrize(
    ("state", "says"),
    [("needs-login", "claude-memory login"), ("unreachable", "not reachable"), ("emptied", "nothing is written")],
)
async def test_status_says_what_to_do_when_sync_does_not_work(
    claude: Claude, world: World, state: str, says: str
) -> None:
    world.cache.settings = Settings(storage=StorageSettings(backend="onedrive"))
    await world.cache.database.write(lambda c: health.report(c, SyncHealth(state=state, last_round=START)))
    assert says in await claude.say("status")


async def test_status_shows_the_other_devices_and_which_one_lags(claude: Claude, world: World) -> None:
    notes = {
        "b": b'{"id": "b", "name": "desktop", "last_round": "2026-11-25T12:00:00.000Z", "pending": 3, "conflicts": 1}',
        "c": b"{broken",
        "d": b'["a list"]',
        "e": b'{"name": "old laptop", "last_round": "yesterday", "pending": "many"}',
    }
    for name, note in notes.items():
        path = f"devices/{name}.json"
        await world.cache.database.write(lambda c, path=path, note=note: files.add(c, path, note))
    answer = await claude.say("status")
    assert "other device desktop: last sync 5 days ago, 3 waiting, 1 conflict" in answer
    assert "other device old laptop: last sync 56 years ago, 0 waiting" in answer


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home directory with two OneDrive folders."""
    user = tmp_path / "Jürgen Müller"
    (user / "OneDrive - Acme Ltd").mkdir(parents=True)
    (user / "OneDrive").mkdir()
    for name in [name for name in os.environ if name.startswith(("OneDrive", "CLAUDE_MEMORY_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(user))
    return user


async def test_storage_lists_selects_and_saves(claude: Claude, world: World, machine: Path) -> None:
    listed = await claude.say("configure_storage", action="list")
    assert f"1. {machine / 'OneDrive' / 'Apps' / 'ClaudeMemory'}" in listed
    answer = await claude.say("configure_storage", action="select", index=2)
    folder = machine / "OneDrive - Acme Ltd" / "Apps" / "ClaudeMemory"
    assert f"Storage folder: {folder}" in answer
    assert folder.is_dir()
    assert load(world.home, {}).storage.path == str(folder)


async def test_storage_takes_tilde_spaces_other_scripts_and_a_trailing_slash(
    claude: Claude, world: World, machine: Path
) -> None:
    answer = await claude.say("configure_storage", action="custom", path="~/メモ und Notizen/")
    folder = machine / "メモ und Notizen"
    assert f"Storage folder: {folder}" in answer
    assert folder.is_dir()
    assert load(world.home, {}).storage.folder() == folder


async def test_storage_reset_goes_back_to_the_default(claude: Claude, world: World, machine: Path) -> None:
    await claude.say("configure_storage", action="custom", path="~/elsewhere")
    assert f"Storage folder: {machine / 'ClaudeMemory'}" in await claude.say("configure_storage", action="reset")
    (machine / "OneDrive - Acme Ltd").rmdir()
    answer = await claude.say("configure_storage", action="reset")
    assert f"Storage folder: {machine / 'OneDrive' / 'Apps' / 'ClaudeMemory'}" in answer


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"action": "select"}, "Give an index of: 1."),
        ({"action": "select", "index": 0}, "no folder number 0"),
        ({"action": "select", "index": 9}, "no folder number 9"),
        ({"action": "custom"}, "needs a path"),
        ({"action": "custom", "path": "relative/x"}, "not an absolute path"),
        ({"action": "custom", "path": "/no/such/parent/x"}, "does not exist"),
        ({"action": "custom", "path": "~"}, "too wide"),
        ({"action": "custom", "path": "/"}, "too wide"),
        ({"action": "move"}, "action"),
        ({}, "action is required"),
    ],
)
async def test_storage_errors_change_nothing(
    claude: Claude, world: World, machine: Path, arguments: dict[str, object], says: str
) -> None:
    assert says in await claude.fails("configure_storage", **arguments)
    assert not world.home.config_file.exists()


async def test_storage_is_never_the_devices_own_home_or_a_file(claude: Claude, world: World, machine: Path) -> None:
    assert "holds this device's cache" in await claude.fails(
        "configure_storage", action="custom", path=str(world.home.root / "x")
    )
    (machine / "file").write_text("x")
    assert "is a file" in await claude.fails("configure_storage", action="custom", path=str(machine / "file"))


async def test_storage_that_a_variable_overrides_is_said(
    claude: Claude, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_MEMORY_STORAGE_PATH", "/elsewhere")
    assert "overrides" in await claude.fails("configure_storage", action="custom", path="~/mine")
