"""Each fault of the service means one thing, and a write whose answer is lost is never guessed at."""

import time
from email.utils import formatdate

import pytest

from storage_backends.errors import (
    AccessDenied,
    AlreadyExists,
    CursorExpired,
    InvalidName,
    ItemBusy,
    LoginRequired,
    NotFound,
    PermanentError,
    StorageError,
    StorageFull,
    Throttled,
    TransientError,
    Unreachable,
    VersionMismatch,
)
from storage_backends.onedrive.faults import clock_skew_of, codes_of, error_of, retry_after_of
from tests.graph_emulator import Account, Chaos, Emulator, lost
from tests.storage_backends.contract import View

from .conftest import NewStorage

FOLDER = "Apps/ClaudeMemory"


def graph_error(*codes: str, spelling: str = "innerError") -> bytes:
    import json

    node: dict[str, object] = {}
    for code in reversed(codes):
        node = {"code": code, "message": "for people", **({spelling: node} if node else {})}
    return json.dumps({"error": node}).encode()


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, graph_error("invalidRequest"), InvalidName),
        (401, graph_error("InvalidAuthenticationToken"), LoginRequired),
        (403, graph_error("accessDenied"), AccessDenied),
        (403, graph_error("serviceReadOnly"), AccessDenied),
        (403, graph_error("accessDenied", "quotaLimitReached"), StorageFull),
        (403, graph_error("accessDenied", "resourceLocked", spelling="innererror"), ItemBusy),
        (404, graph_error("itemNotFound"), NotFound),
        (408, b"", Unreachable),
        (409, graph_error("nameAlreadyExists"), AlreadyExists),
        (409, graph_error("resourceModified"), ItemBusy),
        (409, graph_error("resourceModified", "nameAlreadyExists"), AlreadyExists),
        (410, graph_error("resyncRequired"), CursorExpired),
        (410, b"<html>", CursorExpired),
        (400, graph_error("resyncChangesApplyDifferences"), CursorExpired),
        (400, graph_error("invalidRequest", "resyncUploadDifferences"), CursorExpired),
        (412, graph_error("notAllowed", "eTagMismatch"), VersionMismatch),
        (412, graph_error("resourceModified"), VersionMismatch),
        (413, b"", PermanentError),
        (423, graph_error("resourceLocked"), ItemBusy),
        (423, graph_error("accessDenied"), ItemBusy),
        (429, graph_error("activityLimitReached"), Throttled),
        (500, graph_error("generalException"), Unreachable),
        (500, graph_error("cannotSnapshotTree"), Unreachable),
        (501, graph_error("notSupported"), PermanentError),
        (502, b"<html>", Unreachable),
        (503, b"", Unreachable),
        (504, b"<html>", Unreachable),
        (507, graph_error("quotaLimitReached"), StorageFull),
        (509, b"", Throttled),
    ],
)
def test_status_and_deepest_code_decide(status: int, body: bytes, expected: type[StorageError]) -> None:
    assert type(error_of(status, {}, body)) is expected


def test_messages_of_the_service_do_not_reach_people() -> None:
    assert "for people" not in error_of(403, {}, graph_error("accessDenied")).message


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b'{"error": null}', b'{"error": {"code": 5}}', b"\xff", b"<html>"]
)
def test_bodies_that_are_no_error_have_no_codes(body: bytes) -> None:
    assert codes_of(body) == []


def test_retry_after_is_read_as_seconds_and_as_a_date_by_the_services_clock() -> None:
    now = 1_700_000_000.0
    assert retry_after_of({"retry-after": "17"}, now) == 17
    assert retry_after_of({"retry-after": "315.5"}, now) == 315.5
    assert retry_after_of({"retry-after": "-3"}, now) == 0
    assert retry_after_of({"retry-after": "soon"}, now) is None
    assert retry_after_of({}, now) is None
    date = formatdate(now + 600, usegmt=True)
    assert retry_after_of({"retry-after": date}, now) == 600
    ahead = {"retry-after": date, "date": formatdate(now + 500, usegmt=True)}
    assert retry_after_of(ahead, now) == 100


def test_the_skew_of_the_clock_is_told_with_its_side() -> None:
    now = 1_700_000_000.0
    assert clock_skew_of({"date": formatdate(now - 90, usegmt=True)}, now) == 90
    assert clock_skew_of({"date": "never"}, now) is None


@pytest.mark.parametrize("account", [Account.PERSONAL], indirect=True)
class TestOnTheWire:
    async def test_a_pause_is_passed_on_with_its_length(self, emulator: Emulator, new_storage: NewStorage) -> None:
        async with new_storage() as storage:
            await storage.scope()
            for seconds, as_date in ((7, False), (400, False), (400, True)):
                emulator.faults.throttle(seconds, as_date=as_date)
                with pytest.raises(Throttled) as caught:
                    await storage.create("a.md", b"x")
                assert caught.value.retry_after == pytest.approx(seconds, abs=2)
                emulator.faults.clear()
            emulator.faults.throttle(20, status=503)
            with pytest.raises(Throttled):
                await storage.changes(None)

    @pytest.mark.parametrize(
        "fault",
        [
            {"wire": "lose", "after": True},
            {"status": 500, "after": True},
            {"status": 504, "html": True, "after": True},
            {"wire": "reset", "after": True},
            {"wire": "truncate", "after": True},
            {"status": 200, "html": True, "after": True},
        ],
        ids=["lost", "500", "504", "reset", "truncated", "page"],
    )
    async def test_a_write_whose_answer_is_lost_is_an_unknown_outcome_and_can_be_looked_up(
        self, emulator: Emulator, new_storage: NewStorage, fault: dict[str, object]
    ) -> None:
        async with new_storage() as storage:
            await storage.scope()
            emulator.fault(operations=("create",), **fault)
            with pytest.raises(TransientError):
                await storage.create("memories/a.md", b"one")
            item = await storage.find("memories/a.md")
            assert (await storage.read(item.item_id)).data == b"one"
            emulator.fault(operations=("update",), **fault)
            with pytest.raises(TransientError):
                await storage.update(item.item_id, b"two", item.version)
            with pytest.raises(VersionMismatch):
                await storage.update(item.item_id, b"two", item.version)
            assert (await storage.read(item.item_id)).data == b"two"
            again = await storage.stat(item.item_id)
            emulator.fault(operations=("delete",), **fault)
            try:
                await storage.delete(again.item_id, again.version)
            except TransientError:
                await storage.delete(again.item_id, again.version)
            assert emulator.drive.tree(FOLDER) == {}

    async def test_nothing_is_sent_twice_by_a_library_underneath(
        self, emulator: Emulator, new_storage: NewStorage
    ) -> None:
        async with new_storage() as storage:
            await storage.scope()
            for status in (429, 500, 502, 503, 504):
                for operation in ("create", "find", "children"):
                    emulator.fault(operations=(operation,), status=status, headers={"Retry-After": "0"})
            with emulator.counting() as log:
                for _ in range(5):
                    with pytest.raises(TransientError):
                        await storage.create("a.md", b"x")
                    with pytest.raises(TransientError):
                        await storage.find("a.md")
            assert dict(log.counts) == {"create": 5, "find": 5}

    async def test_a_refused_token_is_renewed_once_and_then_a_person_is_needed(
        self, emulator: Emulator, new_storage: NewStorage
    ) -> None:
        async with new_storage() as storage:
            await storage.scope()
            emulator.fault(operations=("create",), status=401, code="InvalidAuthenticationToken")
            await storage.create("a.md", b"x")
            emulator.fault(operations=("create",), status=401, code="InvalidAuthenticationToken", times=2)
            with pytest.raises(LoginRequired):
                await storage.create("b.md", b"x")

    async def test_a_full_drive_takes_nothing_and_still_gives(
        self, emulator: Emulator, new_storage: NewStorage
    ) -> None:
        async with new_storage() as storage:
            item = await storage.create("a.md", b"12345")
            emulator.switches.quota = 10
            with pytest.raises(StorageFull):
                await storage.create("b.md", b"x" * 20)
            with pytest.raises(StorageFull):
                await storage.update(item.item_id, b"x" * 20, item.version)
            assert (await storage.read(item.item_id)).data == b"12345"

    async def test_a_locked_file_is_busy_and_unchanged(self, emulator: Emulator, new_storage: NewStorage) -> None:
        async with new_storage() as storage:
            item = await storage.create("a.md", b"one")
            emulator.switches.locked_items.add(item.item_id)
            with pytest.raises(ItemBusy):
                await storage.update(item.item_id, b"two", item.version)
            with pytest.raises(ItemBusy):
                await storage.delete(item.item_id, item.version)
            assert (await storage.read(item.item_id)).data == b"one"

    async def test_what_was_just_written_and_is_not_visible_yet_is_busy_and_not_gone(
        self, emulator: Emulator, new_storage: NewStorage
    ) -> None:
        async with new_storage() as storage:
            item = await storage.create("a.md", b"one")
            for operation, call in (
                ("stat", lambda: storage.stat(item.item_id)),
                ("download", lambda: storage.read(item.item_id)),
                ("update", lambda: storage.update(item.item_id, b"two", item.version)),
            ):
                emulator.fault(operations=(operation,), status=404, code="itemNotFound")
                with pytest.raises(ItemBusy):
                    await call()
            with pytest.raises(NotFound):
                await storage.stat(f"{item.item_id}9")

    async def test_a_service_that_makes_no_folders_by_itself_gets_them_made(
        self, emulator: Emulator, new_storage: NewStorage
    ) -> None:
        emulator.switches.implicit_folders = False
        async with new_storage() as storage:
            await storage.create("memories/task/deep/a.md", b"x")
            await storage.create("memories/task/deep/b.md", b"x")
            assert set(emulator.drive.tree(FOLDER)) == {"memories/task/deep/a.md", "memories/task/deep/b.md"}

    async def test_an_etag_that_moves_by_itself_costs_a_look_and_no_conflict(
        self, emulator: Emulator, new_storage: NewStorage
    ) -> None:
        emulator.switches.etag_moves_after_upload = True
        async with new_storage() as storage:
            item = await storage.create("a.md", b"one")
            view = await View().follow(storage)
            now = view.items[item.item_id]
            assert now.version != item.version
            assert (await storage.read(item.item_id)).data == b"one"
            await storage.update(item.item_id, b"two", now.version)

    async def test_no_network_is_told_as_such(self, emulator: Emulator, new_storage: NewStorage) -> None:
        storage = new_storage()
        emulator.__exit__(None, None, None)
        try:
            async with storage:
                with pytest.raises(Unreachable, match="cannot be reached"):
                    await storage.scope()
        finally:
            emulator.__enter__()

    async def test_chaos_raises_nothing_but_storage_errors_and_loses_nothing(
        self, emulator: Emulator, new_storage: NewStorage
    ) -> None:
        async with new_storage() as storage:
            await storage.scope()
            for seed in range(3):
                emulator.faults.chaos = Chaos(seed, 0.4)
                for number in range(15):
                    path, data = f"{seed}/{number}.md", b"%d" % number
                    while True:
                        try:
                            await storage.create(path, data)
                            break
                        except AlreadyExists:
                            break  # an earlier try whose answer was lost
                        except (TransientError, LoginRequired):
                            pass
                emulator.faults.clear()
            expected = {f"{s}/{n}.md": b"%d" % n for s in range(3) for n in range(15)}
            assert emulator.drive.tree(FOLDER) == expected


def test_the_same_seed_gives_the_same_faults() -> None:
    def run() -> list[object]:
        chaos = Chaos(7, 0.3)
        return [chaos.draw("create", f"/x/{n % 5}") for n in range(60)]

    first = run()
    assert first == run()
    assert any(first)
    assert not all(first)


# Contents


@pytest.mark.parametrize("account", [Account.PERSONAL], indirect=True)
class TestReading:
    async def test_bytes_come_by_redirect_or_directly_and_the_token_goes_to_graph_alone(
        self, emulator: Emulator, new_storage: NewStorage
    ) -> None:
        emulator.drive.write(f"{FOLDER}/a.md", b"bytes")
        async with new_storage() as storage:
            item = await storage.find("a.md")
            for redirects in (True, False):
                emulator.switches.content_redirects = redirects
                with emulator.counting() as log:
                    assert (await storage.read(item.item_id)).data == b"bytes"
                elsewhere = [entry for entry in log.entries if entry.operation == "bytes"]
                assert len(elsewhere) == redirects
                assert not any(entry.authorized for entry in elsewhere)

    async def test_a_login_page_is_never_taken_for_a_memory(self, emulator: Emulator, new_storage: NewStorage) -> None:
        emulator.drive.write(f"{FOLDER}/a.md", b"bytes")
        emulator.switches.captive_downloads = True
        async with new_storage() as storage:
            item = await storage.find("a.md")
            with pytest.raises(ItemBusy):
                await storage.read(item.item_id)

    @pytest.mark.parametrize("wire", ["truncate", "reset"])
    async def test_half_a_file_is_never_delivered(self, emulator: Emulator, new_storage: NewStorage, wire: str) -> None:
        emulator.drive.write(f"{FOLDER}/a.md", b"bytes" * 1000)
        async with new_storage() as storage:
            item = await storage.find("a.md")
            emulator.fault(operations=("bytes",), wire=wire, after=True)
            with pytest.raises(ItemBusy):
                await storage.read(item.item_id)
            assert len((await storage.read(item.item_id)).data) == 5000

    @pytest.mark.parametrize("names", [("quickXorHash",), ("sha1Hash",), ("sha256Hash",)])
    async def test_bytes_of_an_older_version_are_refused_even_at_equal_length(
        self, emulator: Emulator, new_storage: NewStorage, names: tuple[str, ...]
    ) -> None:
        emulator.switches.hashes = names
        emulator.drive.write(f"{FOLDER}/a.md", b"old")
        emulator.drive.write(f"{FOLDER}/a.md", b"new")
        emulator.switches.stale_downloads = True
        async with new_storage() as storage:
            view = await View().follow(storage)
            (item,) = view.items.values()
            with pytest.raises(ItemBusy):
                await storage.read(item.item_id)
            emulator.switches.stale_downloads = False
            assert (await storage.read(item.item_id)).data == b"new"

    async def test_a_file_without_any_hash_is_read(self, emulator: Emulator, new_storage: NewStorage) -> None:
        emulator.switches.hashes = ()
        emulator.drive.write(f"{FOLDER}/a.md", b"bytes")
        async with new_storage() as storage:
            assert (await storage.read((await storage.find("a.md")).item_id)).data == b"bytes"

    async def test_a_file_changed_since_the_page_was_read_comes_with_its_own_version(
        self, emulator: Emulator, new_storage: NewStorage
    ) -> None:
        emulator.drive.write(f"{FOLDER}/a.md", b"one")
        async with new_storage() as storage:
            (item,) = (await View().follow(storage)).items.values()
            emulator.drive.write(f"{FOLDER}/a.md", b"two")
            content = await storage.read(item.item_id)
            assert content.data == b"two"
            assert content.item == await storage.stat(item.item_id)
            assert content.item.version != item.version

    @pytest.mark.parametrize("status", [401, 403, 404, 410, 429, 503])
    async def test_a_refusal_by_the_content_host_says_nothing_about_login_or_file(
        self, emulator: Emulator, new_storage: NewStorage, status: int
    ) -> None:
        emulator.drive.write(f"{FOLDER}/a.md", b"bytes")
        async with new_storage() as storage:
            item = await storage.find("a.md")
            emulator.fault(operations=("bytes",), status=status)
            with pytest.raises(TransientError):
                await storage.read(item.item_id)

    async def test_files_that_differ_only_in_what_quick_xor_cannot_see_are_two_versions(
        self, emulator: Emulator, new_storage: NewStorage
    ) -> None:
        one, two = b"A" * 159 + b"\n", b"B" * 159 + b"\n"
        emulator.drive.write(f"{FOLDER}/a.md", one + two)
        async with new_storage() as storage:
            (item,) = (await View().follow(storage)).items.values()
            emulator.drive.write(f"{FOLDER}/a.md", two + one)
            assert (await storage.stat(item.item_id)).version != item.version
            assert (await storage.read(item.item_id)).data == two + one


async def test_lost_answers_in_a_row_leave_one_file(emulator: Emulator, new_storage: NewStorage) -> None:
    async with new_storage() as storage:
        await storage.scope()
        emulator.faults.add(lost(("create",), times=1))
        begun = time.monotonic()
        with pytest.raises(Unreachable):
            await storage.create("a.md", b"x")
        with pytest.raises(AlreadyExists):
            await storage.create("a.md", b"x")
        assert time.monotonic() - begun < 30
        assert len(emulator.drive.tree(FOLDER)) == 1
