"""What `doctor` makes of what it found: pure judgement over plain facts, one function per question.

Each message begins in a way that docs/troubleshooting.md explains.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

OK, WARNING, ERROR = "ok", "warning", "error"
LAGS_AFTER = timedelta(days=7)
PENDING_TOO_LONG = timedelta(hours=1)
LITTLE_ROOM = 200_000_000
SKEW_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Check:
    """One question and its answer. `hint` says what to do; empty when nothing is to be done."""

    name: str
    state: str
    message: str
    hint: str = ""


@dataclass(slots=True)
class Facts:
    """What `examination` gathered; None where something could not be told."""

    now: datetime
    version: str
    home: str
    settings_error: str = ""
    cache_error: tuple[str, str] | None = None
    daemon: Mapping[str, Any] | None = None
    lock_held_by: str = ""
    stale_socket: bool = False
    backend: str = "folder"
    location: str = ""
    storage_problem: tuple[str, str] | None = None
    storage_writable: bool | None = None
    clock_skew: float | None = None
    home_free: int | None = None
    storage_free: int | None = None
    open_to_others: Sequence[str] = ()
    problems: Sequence[tuple[str, str, str]] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    conflicts: int = 0
    health_state: str = "never"
    last_round: datetime | None = None
    pending: int = 0
    held: int = 0
    devices: Sequence[Mapping[str, Any]] = ()
    device_id: str = ""
    spooled: int = 0
    mirrored_folder: str = ""
    registrations: Sequence[tuple[str, str, bool]] = ()
    findings: Sequence[tuple[str, str, str, str]] = field(default_factory=tuple)


def settings(facts: Facts) -> Check:
    """Can the settings be read?"""
    if facts.settings_error:
        return Check(
            "settings", ERROR, f"The settings are wrong: {facts.settings_error}", "Mend config.toml or the variable."
        )
    return Check("settings", OK, f"{facts.home}/config.toml")


def daemon(facts: Facts) -> Check:
    """Does one daemon run, of this version?"""
    if facts.daemon is None:
        if facts.lock_held_by:
            return Check(
                "daemon", ERROR, f"A daemon holds the lock and does not answer ({facts.lock_held_by}).",
                "End that process; a new daemon starts with the next session.",
            )  # fmt: skip
        if facts.stale_socket:
            return Check(
                "daemon", WARNING, "No daemon runs, and a dead one has left its socket.",
                "`claude-memory daemon start`, or `claude-memory doctor --repair`.",
            )  # fmt: skip
        return Check(
            "daemon", WARNING, "No daemon runs; memories are not brought in step by themselves.",
            "`claude-memory daemon start`; `claude-memory daemon install` starts it with every login.",
        )  # fmt: skip
    if facts.daemon.get("version") != facts.version:
        return Check(
            "daemon", WARNING,
            f"The daemon is of version {facts.daemon.get('version')}, this command of {facts.version}.",
            "`claude-memory daemon stop`, then start it again.",
        )  # fmt: skip
    return Check("daemon", OK, f"running, process {facts.daemon.get('pid')}")


def cache(facts: Facts) -> Check:
    """Is the cache whole and in a place where it stays so?"""
    if facts.cache_error:
        return Check("cache", ERROR, facts.cache_error[0], facts.cache_error[1])
    return Check("cache", OK, f"{facts.home}/cache.sqlite3 is whole")


def storage(facts: Facts) -> Check:
    """Is the storage there, and may we write?"""
    if facts.storage_problem:
        return Check("storage", ERROR, facts.storage_problem[0], facts.storage_problem[1])
    if facts.storage_writable is False:
        return Check("storage", ERROR, f"The storage {facts.location} cannot be written.", "Look at its permissions.")
    return Check("storage", OK, facts.location or facts.backend)


def onedrive(facts: Facts) -> list[Check]:
    """What the OneDrive check-up found."""
    return [Check(f"onedrive {title.lower()}", state, message, hint) for state, title, message, hint in facts.findings]


def two_syncers(facts: Facts) -> list[Check]:
    """Do Graph and a OneDrive client both sync one store?"""
    if not facts.mirrored_folder:
        return []
    return [Check(
        "two sync programs", WARNING,
        f"A OneDrive client on this machine syncs the same memories to {facts.mirrored_folder}.",
        "Use that folder as storage (`claude-memory setup --backend folder`), or leave it out of the client's sync.",
    )]  # fmt: skip


def files(facts: Facts) -> list[Check]:
    """Which files could not be taken in whole?"""
    broken = [problem for problem in facts.problems if problem[1] != "no-id"]
    if not broken:
        return [Check("files", OK, "every file can be read")]
    return [
        Check(
            "duplicate id" if code == "duplicate-id" else "file", WARNING, f"{path}: {message}",
            "`claude-memory doctor --repair` gives it an id of its own." if code == "duplicate-id"
            else "Mend the file by hand; it is never rewritten or deleted as it is.",
        )
        for path, code, message in broken
    ]  # fmt: skip


def left_out(facts: Facts) -> list[Check]:
    """Which entries of the storage folder can be no memories, whatever is in them?"""
    return [
        Check("file", WARNING, f"{path} is left out: {reason}", "Give it another name, or put the file itself there.")
        for path, reason in facts.left_out.items()
    ]


def conflicts(facts: Facts) -> Check:
    """Are there open conflicts?"""
    if facts.conflicts:
        are = "conflict is" if facts.conflicts == 1 else "conflicts are"
        return Check("conflicts", WARNING, f"{facts.conflicts} {are} open.", "`claude-memory conflicts list`")
    return Check("conflicts", OK, "none")


def in_step(facts: Facts) -> Check:
    """Do changes go out?"""
    if facts.held:
        return Check(
            "sync", WARNING, f"{facts.held} deletes are held: so many at once may be a mistake.",
            "`claude-memory sync --confirm-deletes` carries them out.",
        )  # fmt: skip
    if facts.pending and (facts.last_round is None or facts.now - facts.last_round > PENDING_TOO_LONG):
        since = "never" if facts.last_round is None else f"{facts.last_round:%Y-%m-%d %H:%M} UTC"
        return Check("sync", ERROR, f"{_waiting(facts)}; the last round was {since}.", "`claude-memory sync`")
    return Check("sync", OK, _waiting(facts))


def _waiting(facts: Facts) -> str:
    return "1 change waits" if facts.pending == 1 else f"{facts.pending} changes wait"


def clock(facts: Facts) -> Check:
    """Does the clock agree with the storage's?"""
    if facts.clock_skew is not None and abs(facts.clock_skew) > SKEW_SECONDS:
        way = "ahead" if facts.clock_skew > 0 else "behind"
        return Check(
            "clock", WARNING, f"The clock is {abs(facts.clock_skew):.0f} seconds {way}.",
            "Set it by the network. Nothing is lost by it, but times are shown wrong and logins may fail.",
        )  # fmt: skip
    return Check("clock", OK, "agrees with the storage" if facts.clock_skew is not None else "not compared")


def room(facts: Facts) -> list[Check]:
    """Is there room on the disks?"""
    found = [
        Check("disk space", WARNING, f"Only {free // 1_000_000} MB are free for {place}.", "Make room.")
        for place, free in ((facts.home, facts.home_free), (facts.location, facts.storage_free))
        if free is not None and free < LITTLE_ROOM
    ]
    return found or [Check("disk space", OK, "enough")]


def permissions(facts: Facts) -> list[Check]:
    """Can other users read what is private?"""
    if not facts.open_to_others:
        return [Check("permissions", OK, "only this user can read this device's files")]
    return [
        Check("permissions", WARNING, f"Other users may read {path}.", "`claude-memory doctor --repair` closes it.")
        for path in facts.open_to_others
    ]


def devices(facts: Facts) -> list[Check]:
    """Does another machine lag?"""
    found = []
    for device in facts.devices:
        last = device.get("last_round")
        if device.get("id") == facts.device_id or not isinstance(last, str):
            continue
        try:
            seen = datetime.fromisoformat(last)
        except ValueError:
            continue
        if seen.tzinfo and facts.now - seen > LAGS_AFTER:
            name = device.get("name") or "another machine"
            found.append(
                Check("devices", WARNING, f"{name} was last in step on {seen:%Y-%m-%d}.", "Start it, or leave it.")
            )
    return found or [Check("devices", OK, f"{len(facts.devices)} known, none lags")]


def captured(facts: Facts) -> list[Check]:
    """Does somebody take in what hooks leave?"""
    if facts.spooled < 20:
        return []
    return [
        Check("hooks", WARNING, f"{facts.spooled} captured events wait for a daemon.", "`claude-memory daemon start`")
    ]


def clients(facts: Facts) -> list[Check]:
    """Do clients start a program that exists?"""
    again = "Run `claude-memory setup` again."
    return [
        Check(client, OK, f"starts {program}") if exists
        else Check(client, ERROR, f"{client} starts {program}, which does not exist.", again)
        for client, program, exists in facts.registrations
    ]  # fmt: skip


def judge(facts: Facts) -> list[Check]:
    """All answers, in the order in which they are shown."""
    return [
        settings(facts), daemon(facts), cache(facts), storage(facts), *onedrive(facts), *two_syncers(facts),
        in_step(facts), *files(facts), *left_out(facts), conflicts(facts), clock(facts), *room(facts),
        *permissions(facts), *devices(facts), *captured(facts), *clients(facts),
    ]  # fmt: skip
