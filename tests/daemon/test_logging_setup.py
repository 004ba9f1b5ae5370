"""The log is for machines and people, and holds neither memories nor credentials."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.logging_setup import JsonLines, logged_name, set_up
from storage_backends.errors import Unreachable


@pytest.fixture(autouse=True)
def root_logger() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers = []
    yield
    for handler in root.handlers:
        handler.close()
    root.handlers, root.level = handlers, level


def fail(error: Exception) -> None:
    raise error


def entries(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_each_record_is_one_line_of_json(tmp_path: Path) -> None:
    path = tmp_path / "daemon.log"
    set_up(path)
    logging.getLogger("daemon.loops").info("round done\nwith %d files", 3, extra={"uploaded": 2})

    (entry,) = entries(path)
    assert entry["message"] == "round done\nwith 3 files"
    assert entry["uploaded"] == 2
    assert entry["level"] == "info"
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_text_of_a_foreign_exception_stays_out_of_the_log(tmp_path: Path) -> None:
    path = tmp_path / "daemon.log"
    set_up(path)
    for error in (ValueError("the secret memory text"), Unreachable("The folder /x is missing.")):
        try:
            fail(error)
        except Exception:
            logging.getLogger("daemon").exception("loop failed")

    foreign, ours = entries(path)
    assert "secret" not in json.dumps(foreign)
    assert foreign["error"] == "ValueError"
    assert ours["error"] == "Storage unreachable: The folder /x is missing."
    assert any("test_logging_setup.py" in str(place) for place in ours["at"])  # type: ignore[attr-defined]


def test_the_log_does_not_grow_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daemon.logging_setup._MAX_BYTES", 2000)
    set_up(tmp_path / "daemon.log")
    for number in range(200):
        logging.getLogger("daemon").info("line %d", number)

    files = sorted(tmp_path.iterdir())
    assert len(files) == 4
    assert all(file.stat().st_size <= 2000 and file.stat().st_mode & 0o777 == 0o600 for file in files)


def test_libraries_do_not_narrate_requests(tmp_path: Path) -> None:
    path = tmp_path / "daemon.log"
    set_up(path, verbose=True)
    for name in ("httpx", "azure.identity", "mcp.server", "aiosqlite"):
        logging.getLogger(name).info("Authorization: Bearer abc")
    assert path.read_text() == ""


def test_what_json_does_not_know_is_still_written() -> None:
    record = logging.makeLogRecord({"msg": "x", "path": Path("/a"), "levelno": 20, "levelname": "INFO", "name": "n"})
    assert json.loads(JsonLines().format(record))["path"] == "/a"


def test_a_file_is_named_without_the_words_of_its_title() -> None:
    assert logged_name("memories/task/2026-01-01-buy-a-ring-0123abcd.md") == "memories/task/*-0123abcd.md"
    by_hand = logged_name("memories/buy a ring.md")
    assert "ring" not in by_hand
    assert by_hand == logged_name("memories/buy a ring.md") != logged_name("memories/buy a car.md")
