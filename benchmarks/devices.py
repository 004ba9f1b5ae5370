"""Real devices for the benchmarks: a home, a daemon process, an MCP client over stdio."""

import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
COMMAND = (sys.executable, "-m", "command_line")
RESULTS = ROOT / "benchmarks" / "results"


@dataclass(frozen=True, slots=True)
class Device:
    """One machine: its home and the environment of everything that runs on it."""

    home: Path
    environment: dict[str, str]

    @classmethod
    def over_folder(cls, base: Path, name: str, folder: Path, **more: str) -> "Device":
        """A device in `base` whose storage is `folder`."""
        home = base / name
        environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("CLAUDE_")},
            "CLAUDE_MEMORY_HOME": str(home),
            "CLAUDE_MEMORY_STORAGE_BACKEND": "folder",
            "CLAUDE_MEMORY_STORAGE_PATH": str(folder),
            "CLAUDE_MEMORY_DAEMON_AUTOSTART": "false",
            "PYTHONPATH": str(ROOT),
            **more,
        }
        return cls(home, environment)

    def run(self, *arguments: str, text: str = "") -> dict[str, Any]:
        """Run a command with --json; its answer. Raises RuntimeError when it fails."""
        done = subprocess.run(
            [*COMMAND, *arguments, "--json"],
            env=self.environment,
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{arguments} ended with {done.returncode}: {done.stderr or done.stdout}")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    @contextmanager
    def daemon(self) -> Iterator[subprocess.Popen[bytes]]:
        """The device's daemon, ready; ended with the block."""
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "benchmark.log").open("wb") as log:
            process = subprocess.Popen([*COMMAND, "daemon", "run"], env=self.environment, stdout=log, stderr=log)
            try:
                deadline = time.monotonic() + 60
                while not self._running():
                    if process.poll() is not None or time.monotonic() > deadline:
                        raise RuntimeError((self.home / "benchmark.log").read_text("utf-8", "replace")[-2000:])
                    time.sleep(0.05)
                yield process
            finally:
                process.terminate()
                process.wait(timeout=20)

    def _running(self) -> bool:
        try:
            return bool(self.run("daemon", "status").get("running"))
        except RuntimeError:
            return False

    @asynccontextmanager
    async def claude(self) -> AsyncIterator[Any]:
        """An MCP client on this device, over stdio as Claude uses it."""
        from mcp import Client, StdioServerParameters

        async with Client(
            StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], "mcp"], env=self.environment)
        ) as client:
            yield client


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_milliseconds_so_far(pid: int) -> float:
    """As `cpu_seconds`, of the threads that live, and finer than a clock tick (Linux)."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text("ascii").split()[0]) for thread in threads) / 1e6


def resident_megabytes(pid: int | str = "self") -> float:
    """Resident memory of a process, of this one unless said otherwise (Linux)."""
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


def report(name: str, rows: list[tuple[str, str]], figures: dict[str, Any]) -> None:
    """Print the table and write `benchmarks/results/<name>.json`."""
    width = max(len(label) for label, _ in rows)
    print(f"\n{name}")
    for label, value in rows:
        print(f"  {label:<{width}}  {value}")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(figures, indent=2) + "\n", "utf-8")
