"""Kill processes of one device again and again, and hold what is left against what was acknowledged."""

import json
import os
import random
import sqlite3
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from storage_backends.folder_temporary import parse
from tests.crashes.workers import COMMAND, ROOT, Commands, Server, Worker, Writer


@dataclass(slots=True)
class Outcome:
    """What a series of kills showed; `lost` names acknowledged memories that are nowhere."""

    kills: dict[str, int] = field(default_factory=dict)
    acknowledged: dict[str, int] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


class Device:
    """One home over one folder, all that writes there, and its daemon."""

    def __init__(self, base: Path, seed: int) -> None:
        self.base = base
        self.home = base / "home"
        self.folder = base / "shared"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.chosen = random.Random(seed)
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("CLAUDE_")},
            "PYTHONPATH": str(ROOT),
            "CLAUDE_MEMORY_HOME": str(self.home),
            "CLAUDE_MEMORY_STORAGE_BACKEND": "folder",
            "CLAUDE_MEMORY_STORAGE_PATH": str(self.folder),
            "CLAUDE_MEMORY_DAEMON_AUTOSTART": "false",
            "CLAUDE_MEMORY_RECALL_EMBEDDER": "none",
        }
        self.last: dict[str, str] = {}
        self.outcome = Outcome()
        self._writers = 0

    def note(self, memory_id: str, marker: str, who: str) -> None:
        """This text of this memory was acknowledged (nothing: it was forgotten)."""
        self.last[memory_id] = marker
        self.outcome.acknowledged[who] = self.outcome.acknowledged.get(who, 0) + 1

    def fault(self, what: str) -> None:
        """Something that failed although nobody killed it."""
        self.outcome.refused.append(what)

    def _new(self, kind: type[Worker]) -> Worker:
        self._writers += 1
        return kind(self._writers, self.environment, self)

    def daemon(self) -> "subprocess.Popen[bytes]":
        """The daemon, writing files while the others write the cache."""
        log = (self.base / "daemon.log").open("ab")
        with log:
            return subprocess.Popen([*COMMAND, "daemon", "run"], env=self.environment, cwd=ROOT, stdout=log, stderr=log)

    def kill_all(self) -> None:
        """Everything at work; one is killed at a random moment, then the next, until nothing lives."""
        daemon = self.daemon()
        workers = {
            "library": self._new(Writer),
            "server": self._new(Server),
            "command": self._new(Commands),
        }
        deadline = time.monotonic() + 30
        while not all(worker.acknowledged for worker in workers.values()) and time.monotonic() < deadline:
            time.sleep(0.02)
        victims = ["daemon", *workers]
        self.chosen.shuffle(victims)
        for name in victims:
            time.sleep(self.chosen.uniform(0, 0.5))
            if name == "daemon":
                ended = daemon.poll()
                daemon.kill()
                daemon.wait()
            else:
                ended = workers[name].kill()
            if ended is not None:
                self.outcome.refused.append(f"{name} ended by itself with {ended}")
            self.outcome.kills[name] = self.outcome.kills.get(name, 0) + 1

    def check(self) -> None:
        """The cache opens and is whole; every acknowledged text is live, and every file is a whole file."""
        connection = sqlite3.connect(self.home / "cache.sqlite3")
        try:
            verdict = connection.execute("PRAGMA quick_check").fetchone()[0]
            if verdict != "ok":
                self.outcome.damaged.append(str(verdict))
            live = dict(connection.execute("SELECT id, title FROM memories").fetchall())
            trash = {row[0] for row in connection.execute("SELECT memory_id FROM trash")}
        finally:
            connection.close()
        self.outcome.lost += [
            f"{memory_id} {marker or 'forgotten'}"
            for memory_id, marker in self.last.items()
            if not (_number(live.get(memory_id, "")) >= _number(marker) if marker and memory_id in live
                    else memory_id in trash and memory_id not in live)
        ]  # fmt: skip
        self._whole_files()

    def check_folder(self) -> None:
        """What lives in the cache is in the folder after one round, and nothing else."""
        command = [*COMMAND, "sync", "--json"]
        done = subprocess.run(command, env=self.environment, cwd=ROOT, capture_output=True, text=True)
        if done.returncode != 0 and not self._waits_for_the_dead(done.stdout):
            self.outcome.damaged.append(f"the last round failed: {done.stdout}{done.stderr}")
        self.check()
        connection = sqlite3.connect(self.home / "cache.sqlite3")
        try:
            live = dict(connection.execute("SELECT path, content FROM files WHERE content IS NOT NULL").fetchall())
        finally:
            connection.close()
        there = {
            str(path.relative_to(self.folder)): path.read_bytes() for path in self.folder.rglob("memories/**/*.md")
        }
        memories = {path: data for path, data in live.items() if path.startswith("memories/")}
        self.outcome.lost += [f"not in the folder: {path}" for path in memories if there.get(path) != memories[path]]
        self.outcome.damaged += [f"only in the folder: {path}" for path in there.keys() - memories.keys()]

    def _waits_for_the_dead(self, report: str) -> bool:
        """Whether nothing but files is left that a process was replacing or deleting when it was killed: they are
        busy until it is certain, after ten minutes, that it is dead."""
        hidden = {left.original for path in self.folder.rglob("*.tmp") if (left := parse(path.name)) and left.hides}
        errors = json.loads(report)["errors"] if report.startswith("{") else []
        return bool(errors) and all(error["path"].rpartition("/")[2] in hidden for error in errors)

    def _whole_files(self) -> None:
        for path in self.folder.rglob("*.md"):
            if not path.read_bytes().endswith(b"\n"):
                self.outcome.damaged.append(f"half a file: {path}")


def _number(marker: str) -> int:
    # A session numbers its writes. The last one may be done although its acknowledgement died with the session.
    return int(marker.rpartition("-")[2] or 0)


def run(base: Path, kills: int, seed: int) -> Outcome:
    """At least `kills` kills on one device, checked each time when all are dead; in the end everything syncs."""
    device = Device(base, seed)
    while sum(device.outcome.kills.values()) < kills:
        device.kill_all()
        device.check()
    device.check_folder()
    return device.outcome
