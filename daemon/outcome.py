"""What the end of a round means: for the health that every process reads, for the caller, for the schedule."""

from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from daemon.errors import DaemonError, StorageEmptied
from daemon.round_report import RoundReport
from memory_cache.errors import MemoryCacheError
from memory_cache.models import SyncHealth
from storage_backends.errors import LoginRequired, StorageError, StorageFull, Throttled, TransientError

DEFAULT_PAUSE_SECONDS = 30.0
"""How long a service is left alone that asks for a pause without saying how long."""

CONFIRM_HINT = "Look with `claude-memory status`; `claude-memory sync --confirm-deletes` carries them out."


def after_report(health: SyncHealth, report: RoundReport, now: datetime) -> SyncHealth:
    """The health after a round that reached its end."""
    state, message, hint = "ok", "", ""
    full = next((error for error in report.errors if error.title == StorageFull.title), None)
    if report.held:
        state, message, hint = "held", f"{report.held} deletes wait for your word.", CONFIRM_HINT
    elif full is not None:
        state, message, hint = "full", full.message, full.hint
    elif report.errors:
        first = report.errors[0]
        more = f" ({len(report.errors) - 1} more files have problems.)" if len(report.errors) > 1 else ""
        message, hint = f"{first.path}: {first.message}{more}", first.hint
    return health.model_copy(
        update={
            "state": state, "message": message, "hint": hint, "last_round": now,
            "throttled_until": None, "held_deletes": report.held, "pending": report.pending,
        }
    )  # fmt: skip


def after_error(health: SyncHealth, error: Exception, now: datetime, *, pending: int) -> SyncHealth:
    """The health after a round that an error ended."""
    until = now + timedelta(seconds=pause_of(error)) if isinstance(error, Throttled) else None
    _, message, hint = explained(error)
    return health.model_copy(
        update={
            "state": _state(error), "message": message, "hint": hint, "throttled_until": until, "pending": pending,
        }
    )  # fmt: skip


def pause_of(error: Throttled) -> float:
    """Seconds until something may be sent again."""
    return DEFAULT_PAUSE_SECONDS if error.retry_after is None else max(0.0, error.retry_after)


def explained(error: Exception) -> tuple[str, str, str]:
    """Title, message and hint for people. The text of an error that is not ours may hold anything and is left out."""
    if isinstance(error, StorageError | DaemonError | MemoryCacheError):
        return error.title, error.message, error.hint
    return (
        "Internal error",
        f"The sync stopped for an unexpected reason ({type(error).__name__}).",
        "`claude-memory doctor` may say more; the log has the place.",
    )


def is_transient(error: Exception) -> bool:
    """Whether the same round may succeed soon without anybody doing anything."""
    return isinstance(error, TransientError)


def exit_code(outcome: RoundReport | Exception) -> int:
    """0 done, 1 failed, 3 needs login, 4 storage unreachable, 5 held for confirmation."""
    if isinstance(outcome, RoundReport):
        return 5 if outcome.held else 1 if outcome.errors else 0
    if isinstance(outcome, LoginRequired):
        return 3
    return 4 if isinstance(outcome, TransientError | StorageEmptied) else 1


def report_json(report: RoundReport) -> dict[str, Any]:
    """A report as `claude-memory sync --json` prints it."""
    names = ("uploaded", "downloaded", "merged", "conflicts", "deleted", "held", "requests", "pending")
    return {**{name: getattr(report, name) for name in names}, "errors": [asdict(error) for error in report.errors]}


def error_json(error: Exception) -> dict[str, str]:
    """An error as every command prints it in JSON, under `error`."""
    title, message, hint = explained(error)
    return {"title": title, "message": message, "hint": hint}


def _state(error: Exception) -> str:
    if isinstance(error, Throttled):
        return "throttled"
    if isinstance(error, LoginRequired):
        return "needs-login"
    if isinstance(error, StorageFull):
        return "full"
    if isinstance(error, StorageEmptied):
        return "emptied"
    return "unreachable" if isinstance(error, StorageError) else "failed"
