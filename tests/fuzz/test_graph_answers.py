"""Whatever Graph, or something that pretends to be it, answers: an error of the storage, or a sound result."""

import json
import math
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import anyio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemon.outcome import after_error
from memory_cache.clock import utc_now
from memory_cache.models import SyncHealth
from storage_backends.errors import StorageError
from storage_backends.names import validate_safe_path
from storage_backends.onedrive import faults
from storage_backends.onedrive.backend import OneDriveStorage
from storage_backends.onedrive.settings import Endpoint, OneDriveSettings
from storage_backends.onedrive.transport import Answer, Transport
from tests.fuzz.junk import JSON, NUMBER, TEXT, bent, examples

BASE = "https://graph.example/v1.0"

_ITEM = bent(
    {
        "id": st.sampled_from(["root", "a", "b", "c"]),
        "name": st.sampled_from(["x.md", "memories", "..", "CON"]),
        "eTag": '"1"',
        "size": 3,
        "file": bent({"hashes": bent({"quickXorHash": "AAAA", "sha256Hash": "00"})}),
        "parentReference": bent({"id": st.sampled_from(["root", "a", "b"]), "driveId": "d"}),
        "fileSystemInfo": bent({"lastModifiedDateTime": st.sampled_from(["2026-01-01T00:00:00Z", "0001-01-01"])}),
    },
    also=("folder", "root", "deleted", "remoteItem", "package", "lastModifiedDateTime", "webUrl", "quota"),
)
_LINK = st.sampled_from([f"{BASE}/next?token=1", f"{BASE}/next?token=2", "https://evil.example/x"]) | JSON
_PAGE = bent({"value": st.lists(_ITEM | JSON, max_size=4)}) | st.fixed_dictionaries(
    {"value": st.lists(_ITEM, max_size=4)}, optional={"@odata.nextLink": _LINK, "@odata.deltaLink": _LINK}
)
_ERROR = bent({"error": bent({"code": "itemNotFound", "innerError": bent({"code": "resyncRequired"})})})
_BODY = st.one_of(
    _ITEM.map(json.dumps), _PAGE.map(json.dumps), _ERROR.map(json.dumps), JSON.map(json.dumps),
    st.just("[" * 5_000), st.just("<html>log in</html>"), st.just(""), TEXT,
).map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=20)  # fmt: skip
_HEADERS = st.fixed_dictionaries(
    {}, optional={"retry-after": NUMBER.map(str) | TEXT, "date": TEXT, "location": TEXT, "content-length": TEXT}
)
_STATUS = st.sampled_from([200, 200, 200, 200, 201, 204, 301, 400, 401, 403, 404, 409, 410, 412, 429, 501, 503, 507])
_ANSWER = st.builds(Answer, status=_STATUS, headers=_HEADERS, body=_BODY)


class Pretender(Transport):
    """Answers what it was given, over and over."""

    def __init__(self, answers: list[Answer]) -> None:
        super().__init__(Endpoint(BASE, "https://login.example", ""), cast("Any", None))
        self.answers = answers

    async def send(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Answer:
        answer = self.answers[self.requests % len(self.answers)]
        self.requests += 1
        self.skew = faults.clock_skew_of(answer.headers, 0.0)
        return answer

    async def fetch(self, url: str) -> Answer:
        return await self.send("GET", url)


async def _use(storage: OneDriveStorage) -> None:
    changes = None
    for _ in range(3):
        try:
            changes = await storage.changes(changes.cursor if changes else None)
        except StorageError as error:
            _tell(error)
            break
        for item in changes.items:
            validate_safe_path(item.path)
            item.item_id.encode()
            assert item.item_id
            assert item.modified is None or math.isfinite(item.modified)
        changes.cursor.encode()
    calls: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: storage.stat("a"), lambda: storage.find("x.md"), lambda: storage.read("a"),
        lambda: storage.create("memories/x.md", b"abc"), lambda: storage.update("a", b"abc", '"1"'),
        lambda: storage.delete("a", '"1"'), storage.look_over, storage.scope,
    )  # fmt: skip
    for call in calls:
        try:
            await call()
        except StorageError as error:
            _tell(error)


def _tell(error: StorageError) -> None:
    after_error(SyncHealth(), error, utc_now(), pending=0)
    str(error).encode()


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_ANSWER, min_size=1, max_size=6), st.booleans())
def test_no_answer_of_graph_ends_in_anything_but_an_error_of_the_storage(answers: list[Answer], known: bool) -> None:
    if known:
        root = {
            "id": "root",
            "folder": {},
            "parentReference": {"driveId": "d"},
            "@odata.deltaLink": f"{BASE}/d?token=1",
        }
        answers = [Answer(200, {}, json.dumps(root).encode()), Answer(200, {}, json.dumps(root).encode()), *answers]
    with TemporaryDirectory() as place:
        memory = Path(place) / "root.json"
        storage = OneDriveStorage(Pretender(answers), OneDriveSettings(folder="Notes"), memory)
        anyio.run(_use, storage)
        assert set(Path(place).rglob("*")) <= {memory}


@given(JSON.map(json.dumps) | TEXT)
def test_no_cursor_ends_in_anything_but_an_error_of_the_storage(cursor: str) -> None:
    with TemporaryDirectory() as place:
        (Path(place) / "root.json").write_text(cursor, encoding="utf-8", errors="replace")
        answers = [Answer(200, {}, b'{"id": "root", "folder": {}, "parentReference": {"driveId": "d"}, "value": []}')]
        storage = OneDriveStorage(Pretender(answers), OneDriveSettings(folder="Notes"), Path(place) / "root.json")

        async def ask() -> None:
            try:
                await storage.changes(cursor)
            except StorageError as error:
                _tell(error)

        anyio.run(ask)
