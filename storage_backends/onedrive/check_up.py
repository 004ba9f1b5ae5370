"""What is wrong with a OneDrive set-up, in plain words with what to do: for `doctor` and after `login`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from storage_backends.errors import StorageError, Throttled
from storage_backends.onedrive.login import login_state
from storage_backends.onedrive.settings import OneDriveSettings, endpoint_of

# Seconds. A login is refused at about five minutes; conflicts are shown with wrong times much earlier.
_SKEW_WARNING, _SKEW_ERROR = 15.0, 120.0
_NEARLY_FULL = 50 * 1024 * 1024  # bytes left


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. `hint`: what to do; empty when nothing is to be done."""

    level: Literal["ok", "warning", "error"]
    title: str
    message: str
    hint: str = ""


async def check_up(settings: OneDriveSettings, login_dir: Path, environ: Mapping[str, str]) -> list[Finding]:
    """Look at login, folder, room and clock, with a few requests. Never raises a storage error."""
    from storage_backends.onedrive import open_onedrive

    findings: list[Finding] = []
    try:
        endpoint_of(environ)
    except StorageError as error:
        return [_failed("Address", error)]
    state = login_state(settings, login_dir, environ)
    if state.state != "ok":
        return [Finding("error", "Login", state.message, state.hint)]
    who = state.username or "token from CLAUDE_MEMORY_GRAPH_TOKEN"
    if state.encrypted is False:
        findings.append(
            Finding("warning", "Login", f"{who}; the login lies unencrypted in a file that only you can read.")
        )
    else:
        findings.append(Finding("ok", "Login", who))
    async with open_onedrive(settings, login_dir, environ) as storage:
        try:
            left = await storage.look_over()
            findings.append(Finding("ok", "Folder", storage.location))
            findings += _room(left)
        except StorageError as error:
            findings.append(_failed("Folder", error))
        findings += _clock(storage.skew)
    return findings


def _failed(title: str, error: StorageError) -> Finding:
    message = error.message
    if isinstance(error, Throttled) and error.retry_after:
        message = f"OneDrive asks for a pause of {error.retry_after:.0f} seconds."
    return Finding("error", title, message, error.hint)


def _clock(skew: float | None) -> list[Finding]:
    if skew is None:
        return []
    if abs(skew) <= _SKEW_WARNING:
        return [Finding("ok", "Clock", "Agrees with OneDrive's.")]
    side = "ahead of" if skew > 0 else "behind"
    level: Literal["warning", "error"] = "error" if abs(skew) > _SKEW_ERROR else "warning"
    message = f"This machine's clock is {abs(skew):.0f} seconds {side} OneDrive's."
    return [Finding(level, "Clock", message, "Let the system set its clock by the network.")]


def _room(left: int | None) -> list[Finding]:
    if left is None:
        return []
    if left <= 0:
        return [Finding("error", "Room", "OneDrive is full: nothing can be uploaded.", "Free some space.")]
    if left < _NEARLY_FULL:
        return [Finding("warning", "Room", f"Only {left // 1024} KiB are left in OneDrive.", "Free some space.")]
    return [Finding("ok", "Room", f"{left // 2**20:,} MiB are free.")]
