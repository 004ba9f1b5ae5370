"""Sessions and daemons killed in the middle of their work."""

from pathlib import Path

from tests.crashes.killing import run


def test_nothing_acknowledged_is_lost_when_processes_are_killed(tmp_path: Path) -> None:
    outcome = run(tmp_path, kills=8, seed=20)
    assert sum(outcome.acknowledged.values()) > 20
    assert outcome.damaged == []
    assert outcome.lost == []
    assert outcome.refused == []
