"""`claude-memory up`: nothing asked, everything told."""

import json
import os
import pty
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.daemon.processes import COMMAND, PATIENCE, Device, Session, eventually


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Device]:
    made = Device(tmp_path)
    del made.environment["CLAUDE_MEMORY_STORAGE_BACKEND"], made.environment["CLAUDE_MEMORY_STORAGE_PATH"]
    yield made
    made.end()


@contextmanager
def up(device: Device) -> Iterator["subprocess.Popen[bytes]"]:
    log = device.base / "up.out"
    with log.open("wb") as out:
        process = subprocess.Popen([*COMMAND, "up"], env=device.environment, stdout=out, stderr=subprocess.STDOUT)
    try:
        eventually(lambda: device.pid() == process.pid or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        yield process
    finally:
        process.kill()
        process.wait()


def test_without_any_onedrive_a_folder_of_its_own_is_made(device: Device) -> None:
    with up(device) as process:
        assert (device.base / "ClaudeMemory").is_dir()
        out = device.base / "up.out"
        eventually(lambda: "ok" in out.read_text() and "Connect" in out.read_text())
        line = next(line for line in out.read_text().splitlines() if line.strip().startswith("claude mcp add"))
        words = shlex.split(line)
        entry = json.loads(words[-1])
        assert Path(entry["command"]).is_absolute()
        assert entry["args"][-1] == "mcp"
        assert entry["alwaysLoad"] is True, "its tools are there in the first turn"
        assert entry["env"] == {"CLAUDE_MEMORY_HOME": str(device.home)}
        with Session(device) as session:
            session.open()
            session.remember("Up and running")
        eventually(lambda: list((device.base / "ClaudeMemory").glob("memories/**/*up-and-running*.md")))
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        text = out.read_text()
        assert "The daemon has ended." in text
        assert "Traceback" not in text
        assert "\x1b" not in text, "plain in a pipe"
    assert device.status() == {}


def test_exactly_one_onedrive_is_taken_and_two_are_not(device: Device) -> None:
    from command_line.up import prepared
    from memory_cache.home import Home

    environ = {"HOME": str(device.base), "CLAUDE_MEMORY_HOME": str(device.home)}
    (device.base / "OneDrive").mkdir()
    settings = prepared(Home(device.home), environ)
    assert settings.storage.path == str(device.base / "OneDrive" / "Apps" / "ClaudeMemory")
    (device.base / "OneDrive - Acme").mkdir()
    assert prepared(Home(device.home), environ) == settings, "what was chosen once stays"
    other = Home(device.base / "other")
    assert prepared(other, {**environ, "CLAUDE_MEMORY_HOME": str(other.root)}).storage.path == str(
        device.base / "ClaudeMemory"
    )


def test_a_running_daemon_is_shown_and_left_alone(device: Device) -> None:
    device.environment["CLAUDE_MEMORY_STORAGE_PATH"] = str(device.folder)
    with device.daemon() as process:
        shown = subprocess.run(
            [*COMMAND, "up"], env=device.environment, capture_output=True, text=True, timeout=PATIENCE
        )
        assert shown.returncode == 0
        assert f"process {process.pid}" in shown.stdout
        assert "claude mcp add" in shown.stdout
        assert device.pid() == process.pid


def test_on_a_terminal_the_state_is_live_and_ctrl_c_ends_it(device: Device) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(COMMAND[0], [*COMMAND, "up"], {**device.environment, "TERM": "xterm", "COLUMNS": "200"})  # noqa: S606
    shown = bytearray()
    os.set_blocking(terminal, False)

    def sees(text: bytes) -> bool:
        with suppress(OSError):
            shown.extend(os.read(terminal, 65536))
        return text in shown

    eventually(lambda: sees(b"claude mcp add") and sees(b"sessions"))
    eventually(lambda: device.pid() == pid)
    os.write(terminal, b"\x03")
    deadline = time.monotonic() + PATIENCE
    while (ended := os.waitpid(pid, os.WNOHANG)) == (0, 0):
        sees(b"")
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert os.waitstatus_to_exitcode(ended[1]) == 0
    sees(b"")
    os.close(terminal)
    assert b"Traceback" not in shown


def test_a_reader_of_up_that_goes_away_ends_it_quietly(device: Device) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{' '.join(COMMAND)} up | head -1"],
        env=device.environment, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert "Connect Claude Code" in done.stdout
    assert "Traceback" not in done.stderr
    eventually(lambda: device.pid() is None)
