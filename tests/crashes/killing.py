"""Kill processes of one device again and again, and hold what is left against what was acknowledged."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(slots=True)
class Outcome:
    """What a series of kills showed; `lost` names acknowledged memories that are nowhere."""

    kills: dict[str, int] = field(default_factory=dict)
    acknowledged: int = 0
    damaged: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


class Device:
    """One home over one folder, its writers and its daemon."""

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
            "CLAUDE_MEMORY_STORAGE_PATH": str(self.folder),
            "CLAUDE_MEMORY_RECALL_EMBEDDER": "none",
        }
        self.last: dict[str, str] = {}
        self.outcome = Outcome()
        self._writers = 0
        self._readers: list[threading.Thread] = []

    def writer(self) -> "subprocess.Popen[str]":
        """A session that writes until it is killed; its acknowledgements are noted as they come."""
        self._writers += 1
        command = [sys.executable, "-m", "tests.crashes.writer", str(self._writers)]
        process = subprocess.Popen(
            command, env=self.environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._readers.append(threading.Thread(target=self._note, args=(process,), daemon=True))
        self._readers[-1].start()
        return process

    def _note(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                if line.endswith("\n"):
                    done = json.loads(line)
                    self.last[done["id"]] = done["marker"]
                    self.outcome.acknowledged += 1

    def daemon(self) -> "subprocess.Popen[bytes]":
        """The daemon, writing files while the others write the cache."""
        log = (self.base / "daemon.log").open("ab")
        with log:
            command = [sys.executable, "-m", "command_line", "daemon", "run"]
            return subprocess.Popen(command, env=self.environment, cwd=ROOT, stdout=log, stderr=log)

    def kill_one(self) -> None:
        """Two sessions and a daemon at work; one of them is killed at a random moment, then the rest ends too."""
        processes: dict[str, subprocess.Popen[str] | subprocess.Popen[bytes]] = {
            "session": self.writer(), "other session": self.writer(), "daemon": self.daemon(),
        }  # fmt: skip
        before = self.outcome.acknowledged
        deadline = time.monotonic() + 30
        while self.outcome.acknowledged == before and time.monotonic() < deadline:
            time.sleep(0.02)
        victims = list(processes)
        self.chosen.shuffle(victims)
        for name in victims:
            time.sleep(self.chosen.uniform(0, 0.5))
            if processes[name].poll() is not None:
                self.outcome.refused.append(f"{name} ended by itself with {processes[name].returncode}")
            processes[name].send_signal(signal.SIGKILL)
            processes[name].wait()
            self.outcome.kills[name] = self.outcome.kills.get(name, 0) + 1
        for thread in self._readers:
            thread.join()
        self._readers.clear()

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
        for path in self.folder.rglob("*.md"):
            if not path.read_bytes().endswith(b"\n"):
                self.outcome.damaged.append(f"half a file: {path}")


def _number(marker: str) -> int:
    # A session numbers its writes. The last one may be done although its acknowledgement died with the session.
    return int(marker.rpartition("-")[2] or 0)


def run(base: Path, kills: int, seed: int) -> Outcome:
    """At least `kills` kills on one device, checked after each round of three."""
    device = Device(base, seed)
    while sum(device.outcome.kills.values()) < kills:
        device.kill_one()
        device.check()
    return device.outcome
