"""What a hook costs: `python -m benchmarks.hooks`.

Whole processes as Claude Code starts them, taken in turn with a bare Python in one run: wall time, and the CPU time of
the hook's own process. With a daemon, and (session-start) without.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.devices import Device, report

RUNS = 200
_EVENTS = {
    "session-start": {"source": "startup"},
    "user-prompt-submit": {"prompt": "which port does staging use?"},
    "post-tool-use": {
        "tool_name": "WebFetch", "tool_input": {"url": "https://example.org", "prompt": "widgets?"},
        "tool_response": {"result": "# Widgets\n" + "words of a page " * 500, "code": 200}, "session_id": "s",
    },
    "post-compact": {"compact_summary": ""},
}  # fmt: skip


def taken(command: list[str], environment: dict[str, str], payload: bytes) -> tuple[float, float]:
    """Wall and CPU milliseconds of a process from spawn to end."""
    with tempfile.TemporaryFile() as stdin:
        stdin.write(payload)
        stdin.seek(0)
        started = time.perf_counter()
        process = subprocess.Popen(command, env=environment, stdin=stdin, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = (time.perf_counter() - started) * 1000
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return wall, (usage.ru_utime + usage.ru_stime) * 1000


def main() -> None:
    """Measure and report."""
    program = str(Path(sys.executable).with_name("claude-memory"))
    found: dict[str, list[tuple[float, float]]] = {}

    def measure(name: str, command: list[str], environment: dict[str, str], event: dict[str, object]) -> None:
        found.setdefault(name, []).append(taken(command, environment, json.dumps(event).encode()))

    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary)
        (base / "shared").mkdir()
        device = Device.over_folder(base, "home", base / "shared", CLAUDE_PROJECT_DIR=str(base))
        for number in range(50):
            device.run("remember", "--category", "decision", f"Decision {number}: service {number} uses port {number}")
        with device.daemon():
            for _ in range(RUNS):
                measure("bare python", [sys.executable, "-I", "-S", "-c", "pass"], device.environment, {})
                for name, event in _EVENTS.items():
                    measure(name, [program, "hook", name], device.environment, event)
        for _ in range(RUNS):
            measure("bare python again", [sys.executable, "-I", "-S", "-c", "pass"], device.environment, {})
            measure("session-start, no daemon", [program, "hook", "session-start"], device.environment, {})
    figures = {name: _figures(runs) for name, runs in found.items()}
    rows = []
    for name, (median, p95, cpu) in figures.items():
        base_p95 = figures["bare python again" if "no daemon" in name else "bare python"][1]
        rows.append(
            (name, f"median {median:5.1f}  p95 {p95:5.1f}  CPU {cpu:5.1f} ms   p95 / bare {p95 / base_p95:.2f}")
        )
    report("hooks", rows, {"runs": RUNS, "figures": figures})


def _figures(runs: list[tuple[float, float]]) -> tuple[float, float, float]:
    walls = sorted(wall for wall, _ in runs)
    return statistics.median(walls), walls[int(len(walls) * 0.95)], statistics.median(cpu for _, cpu in runs)


if __name__ == "__main__":
    main()
