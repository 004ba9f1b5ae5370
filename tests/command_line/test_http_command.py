"""`claude-memory mcp --http` as its user starts it: a daemon comes along, by the same setting as for sessions."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.daemon.processes import COMMAND, PATIENCE, Device, alive, eventually


@contextmanager
def serving(device: Device) -> Iterator[None]:
    """The server, ready; interrupted at the end."""
    process = subprocess.Popen(
        [*COMMAND, "mcp", "--http", "--port", "0"], env=device.environment, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("serving MCP at http://127.0.0.1:")
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
        process.stderr.close()


def test_a_daemon_comes_along_and_knows_that_somebody_is_there(tmp_path: Path) -> None:
    device = Device(tmp_path, CLAUDE_MEMORY_DAEMON_AUTOSTART="true")
    try:
        with serving(device):
            pid = eventually(device.pid, "a daemon")
            assert device.status()["auto_started"] is True
            eventually(lambda: device.status().get("sessions") == 1, "the server counts as a client")
        eventually(lambda: device.status().get("sessions") == 0, "the server has gone")
        assert alive(pid)
    finally:
        device.end()


def test_a_daemon_that_runs_is_joined_and_none_is_started_where_that_is_turned_off(tmp_path: Path) -> None:
    device = Device(tmp_path)
    with device.daemon() as daemon, serving(device):
        eventually(lambda: device.status().get("sessions") == 1)
        assert device.pid() == daemon.pid
    with serving(device):
        assert device.pid() is None
