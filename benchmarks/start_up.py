"""How long Claude waits for the first answer: `python -m benchmarks.start_up`.

Whole processes, taken in turn in one run: an empty Python, the relay with a daemon running, the server without
a daemon, and a server of the MCP SDK that does nothing. Wall time from spawn to the answer to `initialize`, and the
processor's time until then: on a machine that does other work, trust that one.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.devices import COMMAND, Device, cpu_milliseconds_so_far, report

RUNS = 15
_HELLO = json.dumps({
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
})  # fmt: skip
_MINIMAL = "from mcp.server import MCPServer; MCPServer('minimal', version='1').run()"


def first_answer(command: list[str], environment: dict[str, str] | None) -> tuple[float, float]:
    """Milliseconds from spawn to the first line of output: on the clock, and of the processor."""
    started = time.perf_counter()
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(_HELLO.encode() + b"\n")
        process.stdin.flush()
        line = process.stdout.readline()
        took = (time.perf_counter() - started) * 1000
        spent = cpu_milliseconds_so_far(process.pid)
        process.stdin.close()
        process.stdout.read()
    assert b'"result"' in line, line
    return took, spent


def empty_python() -> float:
    """Milliseconds that a Python takes to start and end."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)
    return (time.perf_counter() - started) * 1000


def main() -> None:
    """Measure and report."""
    names = ("empty", "relay", "no_daemon", "minimal_sdk")
    taken: dict[str, list[float]] = {name: [] for name in names}
    spent: dict[str, list[float]] = {name: [] for name in names[2:]}
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary)
        (base / "shared").mkdir()
        served = Device.over_folder(base, "served", base / "shared")
        alone = Device.over_folder(base, "alone", base / "shared")
        relay = [str(Path(sys.executable).with_name("claude-memory")), "mcp"]
        first_answer([*COMMAND, "mcp"], alone.environment)  # makes the cache
        with served.daemon():
            for _ in range(RUNS):
                taken["empty"].append(empty_python())
                taken["relay"].append(first_answer(relay, served.environment)[0])
        for _ in range(RUNS):
            for name, command, environment in (
                ("no_daemon", [*COMMAND, "mcp"], alone.environment),
                ("minimal_sdk", [sys.executable, "-c", _MINIMAL], None),
            ):
                wall, cpu = first_answer(command, environment)
                taken[name].append(wall)
                spent[name].append(cpu)
    medians = {name: statistics.median(values) for name, values in taken.items()}
    rows = [(name, f"median {medians[name]:7.1f} ms   min {min(values):7.1f} ms") for name, values in taken.items()]
    rows += [
        ("relay / empty python", f"{medians['relay'] / medians['empty']:.2f}   (aim: 4 at most)"),
        ("no daemon / minimal SDK server", f"{_ratio(taken):.2f}   CPU {_ratio(spent):.2f}   (aim: 1.2 at most)"),
    ]
    report("start_up", rows, {"runs": RUNS, "milliseconds": taken, "cpu_milliseconds": spent, "medians": medians})


def _ratio(taken: dict[str, list[float]]) -> float:
    """Median of the pairs: both of a pair ran at nearly the same time."""
    return statistics.median(a / b for a, b in zip(taken["no_daemon"], taken["minimal_sdk"], strict=True))


if __name__ == "__main__":
    main()
