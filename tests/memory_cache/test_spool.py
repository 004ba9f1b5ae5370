"""Events of hooks wait whole or not at all, and never without a bound."""

import threading
from pathlib import Path

import pytest

from memory_cache import spool


def test_events_come_out_in_order_and_once(tmp_path: Path) -> None:
    for number in range(5):
        assert spool.put(str(tmp_path), {"number": number, "text": "Grüße 記憶 \ud800"})
    taken = []
    for path, event in spool.events(spool.waiting(str(tmp_path))):
        assert event is not None
        taken.append(event["number"])
        spool.done(path)
    assert taken == [0, 1, 2, 3, 4]
    assert spool.waiting(str(tmp_path)) == []


def test_what_is_no_event_is_named_so_that_it_can_go(tmp_path: Path) -> None:
    spool.put(str(tmp_path), {"number": 1})
    (Path(spool.directory(str(tmp_path))) / "0-0.json").write_text("{ half")
    assert [event for _, event in spool.events(spool.waiting(str(tmp_path)))] == [None, {"number": 1}]


def test_a_spool_that_nobody_empties_stops_growing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "MOST_FILES", 3)
    assert [spool.put(str(tmp_path), {"n": n}) for n in range(5)] == [True, True, True, False, False]
    assert not spool.put(str(tmp_path), {"large": "x" * spool.MOST_BYTES})


def test_events_are_private_to_the_user(tmp_path: Path) -> None:
    spool.put(str(tmp_path), {"secret": 1})
    (path,) = spool.waiting(str(tmp_path))
    assert Path(path).stat().st_mode & 0o777 == 0o600
    assert Path(path).parent.stat().st_mode & 0o777 == 0o700


def test_many_hooks_at_once_lose_nothing(tmp_path: Path) -> None:
    threads = [threading.Thread(target=spool.put, args=(str(tmp_path), {"n": n})) for n in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = {event["n"] for _, event in spool.events(spool.waiting(str(tmp_path))) if event}
    assert found == set(range(40))
