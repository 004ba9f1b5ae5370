"""Files that somebody put into the shared folder: taken in, or kept as they are, and never a failure of the round."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemon.engine import SyncEngine
from daemon.round_context import Device
from memory_cache import paths
from memory_cache.cache import open_cache
from memory_cache.home import Home
from memory_cache.models import Filter, Scope
from memory_cache.settings import Settings
from storage_backends.folder import FolderStorage
from tests.fuzz.junk import JSON, TEXT, bent, examples
from tests.fuzz.watching import nothing_outside

_VALUE = TEXT | st.sampled_from(
    ["2026-01-01", "[a, b]", "{a: 1}", "!!python/object:os.system x", "&a [*a]", "'", '"', "|", "> x", "null", "0x10",
     "9999-99-99T99:99:99Z", "-0001-01-01", "1e999", "- x", "[" * 200, "*a", "? x", "%TAG"]
)  # fmt: skip
_KEY = st.sampled_from(
    ["id", "category", "tags", "created", "updated", "priority", "ttl", "expiresAt", "relatedTo", "projectId", "title",
     "type", "source", "x", "<<", "projectName"]
)  # fmt: skip
_MARKDOWN = st.builds(
    lambda entries, end, body: "---\n" + "".join(f"{key}: {value}\n" for key, value in entries) + end + body,
    st.lists(st.tuples(_KEY, _VALUE), max_size=5),
    st.sampled_from(["---\n", "---", "...\n", "", "---js\n"]),
    TEXT,
)
_CONFLICT = bent(
    {"id": "x", "path": "memories/task/a.md", "theirs": "text", "base": "text", "device": "d", "at": "2026-01-01"}
).map(json.dumps)
_NAME = st.sampled_from(
    ["memories/task/a.md", "memories/task/A.md", "memories/x (1).md", "memories/task/a-DESKTOP-ABC12.md",
     "documents/a.md", "patterns/a.md", "conflicts/a.json", "devices/a.json", "index.json", "memories/.md",
     "memories/task/deep/er/a.md", "other.txt", "memories/task/con.md"]
)  # fmt: skip
_DEEP = st.sampled_from(["[" * 5_000, '{"a":' * 5_000, "---\nid: " + "[" * 5_000, "---\nid: " + "{a: " * 5_000])
_CONTENT = (_MARKDOWN | _CONFLICT | JSON.map(json.dumps) | TEXT | _DEEP).map(
    lambda text: text.encode("utf-8", "surrogatepass")
) | st.binary(max_size=60)


async def _rounds(home: Home, folder: Path) -> None:
    async with open_cache(home, Settings()) as cache, FolderStorage(folder) as storage:
        engine = SyncEngine(cache.database, storage, Device("dev", "dev", "1"))
        await engine.round(full=True)
        await engine.round()
        for memory in (await cache.list(Filter(scope=Scope.all()), limit=50)).memories:
            await cache.get(memory.id)
        await cache.recall("a text", filter=Filter(scope=Scope.all()))
        await cache.conflicts()
        await cache.problems()
        await cache.status()


@settings(
    deadline=None, max_examples=examples(20), suppress_health_check=[HealthCheck.too_slow]
)  # fmt: skip
@given(st.dictionaries(_NAME, _CONTENT, min_size=1, max_size=4))
def test_no_file_in_the_shared_folder_breaks_a_round_or_is_lost(files: dict[str, bytes]) -> None:
    with TemporaryDirectory() as place:
        folder = Path(place) / "shared"
        for name, data in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        with nothing_outside(Path(place)):
            anyio.run(_rounds, Home(Path(place) / "home"), folder)
        there = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
        for name, data in files.items():
            kept = data in there or any(data.strip() and _tail(data) in found for found in there)
            assert kept or name == "index.json" or not data.strip(), f"{name} is gone"


def _tail(data: bytes) -> bytes:
    """What has to be there still when a file got an id: its last line."""
    return data.rstrip().rpartition(b"\n")[2]


@given(TEXT, TEXT)
def test_a_path_made_from_anything_lies_below_the_root(title: str, category: str) -> None:
    made = paths.slug(title)
    assert made.encode()
    assert "/" not in made
    assert "\\" not in made
    assert paths.in_scope(f"memories/{made}.md")
    for path in (f"memories/{category}/{made}.md", category):
        if paths.in_scope(path):
            assert ".." not in path.split("/")
            assert not path.startswith("/")
