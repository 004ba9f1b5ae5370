"""What the end of a round means for everybody who asks."""

from datetime import UTC, datetime, timedelta

import pytest

from daemon import outcome
from daemon.errors import StorageEmptied
from daemon.round_report import ItemError, RoundReport
from memory_cache.errors import SettingsError
from memory_cache.models import SyncHealth
from storage_backends.errors import (
    AccessDenied,
    LoginRequired,
    PermanentError,
    StorageFull,
    Throttled,
    TransientError,
    Unreachable,
)

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
BEFORE = SyncHealth(state="unreachable", message="old", backend="folder", location="/x", throttled_until=NOW)


@pytest.mark.parametrize(
    ("result", "state", "code"),
    [
        (RoundReport(), "ok", 0),
        (RoundReport(held=11, pending=11), "held", 5),
        (RoundReport(errors=[ItemError("a.md", "File is busy", "It is open.")]), "ok", 1),
        (RoundReport(errors=[ItemError("a.md", StorageFull.title, "Full.")]), "full", 1),
        (Unreachable("gone"), "unreachable", 4),
        (TransientError("x"), "unreachable", 4),
        (Throttled("slow down", retry_after=30), "throttled", 4),
        (LoginRequired("log in"), "needs-login", 3),
        (StorageEmptied("empty"), "emptied", 4),
        (StorageFull("full"), "full", 1),
        (AccessDenied("no"), "unreachable", 1),
        (PermanentError("no"), "unreachable", 1),
        (SettingsError("wrong"), "failed", 1),
        (ValueError("memory text"), "failed", 1),
    ],
)
def test_every_end_has_a_state_and_an_exit_code(result: RoundReport | Exception, state: str, code: int) -> None:
    if isinstance(result, RoundReport):
        health = outcome.after_report(BEFORE, result, NOW)
    else:
        health = outcome.after_error(BEFORE, result, NOW, pending=3)
        assert health.pending == 3
    assert health.state == state
    assert outcome.exit_code(result) == code
    assert (health.backend, health.location) == ("folder", "/x")


def test_a_pause_is_remembered_with_its_end_and_forgotten_after_a_good_round() -> None:
    health = outcome.after_error(SyncHealth(), Throttled("x", retry_after=90), NOW, pending=0)
    assert health.throttled_until == NOW + timedelta(seconds=90)
    without = outcome.after_error(SyncHealth(), Throttled("x"), NOW, pending=0)
    assert without.throttled_until == NOW + timedelta(seconds=outcome.DEFAULT_PAUSE_SECONDS)
    assert outcome.after_report(health, RoundReport(), NOW).throttled_until is None


def test_held_deletes_name_the_way_to_confirm_them() -> None:
    health = outcome.after_report(SyncHealth(), RoundReport(held=12), NOW)
    assert health.held_deletes == 12
    assert "--confirm-deletes" in health.hint


def test_the_text_of_a_foreign_error_is_shown_to_nobody() -> None:
    shown = outcome.error_json(ValueError("the memory's text"))
    assert "the memory's text" not in str(shown)
    assert "ValueError" in shown["message"]
