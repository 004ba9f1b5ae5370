"""The daemon as real processes: started, stopped, killed, started twice, watched over."""

import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from memory_cache.home import Home
from memory_cache.models import Change
from tests.daemon.processes import COMMAND, PATIENCE, Device, Session, alive, eventually


@pytest.fixture
def device(tmp_path: Path) -> Iterator[Device]:
    made = Device(tmp_path)
    yield made
    made.end()


def test_started_asked_and_stopped(device: Device) -> None:
    assert device.run("daemon", "status")["running"] is False
    started = device.run("daemon", "start")
    pid = started["pid"]
    assert started["running"] is True
    assert device.run("daemon", "start")["pid"] == pid
    status = device.run("daemon", "status")
    assert (status["running"], status["pid"], status["auto_started"]) == (True, pid, False)
    assert os.getsid(pid) == pid, "in a session of its own"
    for number in range(3):
        target = Path(f"/proc/{pid}/fd/{number}").readlink()
        assert target in {Path("/dev/null"), device.home / "daemon.log"}

    assert device.run("daemon", "stop") == {"running": False, "stopped": pid}
    assert not alive(pid)
    assert not Home(device.home).socket_path.exists()
    assert device.run("daemon", "stop") == {"running": False}


def test_everything_in_the_home_is_private(device: Device) -> None:
    os.umask(0)
    try:
        with device.daemon("--background"):
            device.run("sync")
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [device.home, *device.home.iterdir()]}
    finally:
        os.umask(0o022)
    assert modes.pop(device.home.name) == 0o700
    assert {"daemon.sock", "daemon.lock", "daemon.log", "cache.sqlite3"} <= set(modes)
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o077} == {}


def test_a_second_daemon_of_one_home_says_which_runs_and_changes_nothing(device: Device) -> None:
    with device.daemon() as first:
        second = subprocess.run(
            [*COMMAND, "daemon", "run"], env=device.environment, capture_output=True, text=True, timeout=PATIENCE
        )
        assert second.returncode == 1
        assert f"process {first.pid}" in second.stderr
        assert device.pid() == first.pid


def test_a_killed_daemon_is_replaced_and_nothing_is_lost(device: Device) -> None:
    with device.daemon() as first, Session(device) as session:
        session.open()
        session.remember("Before the kill")
        first.kill()
        first.wait()
        assert Home(device.home).socket_path.exists(), "a dead daemon leaves its socket"
        with device.daemon():
            assert device.titles() == ["Before the kill"]
            session.remember("After it")
            eventually(lambda: len(list(device.folder.glob("memories/**/*.md"))) == 2)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_cleanly(device: Device, number: signal.Signals) -> None:
    with device.daemon() as process:
        process.send_signal(number)
        assert process.wait(PATIENCE) == 0
        assert not Home(device.home).socket_path.exists()
        assert Home(device.home).lock_file.read_text() == ""


def test_a_signal_during_a_round_ends_it_within_seconds_and_loses_nothing(device: Device) -> None:
    for number in range(400):
        path = device.folder / "memories" / "bulk" / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Hand-written {number}\n")
    with device.daemon() as process:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    device.run("sync", code=None)
    eventually(lambda: len(device.titles()) == 400 or device.run("sync", code=None) is None)
    assert device.run("sync")["pending"] == 0
    assert {path.read_text().splitlines()[-1] for path in device.folder.glob("memories/bulk/*.md")} == {
        f"# Hand-written {number}" for number in range(400)
    }


def test_a_home_with_a_long_path_works_whole(tmp_path: Path) -> None:
    base = tmp_path / ("long-" * 40)
    base.mkdir()
    device = Device(base)
    assert len(str(device.home)) > 200
    with device.daemon() as process, Session(device) as session:
        session.open()
        assert "Remembered" in session.remember("Deep down")
        assert device.pid() == process.pid
        process.terminate()
        assert process.wait(PATIENCE) == 0
        assert not Home(device.home).socket_path.exists()


def test_a_service_manager_is_told_and_the_watchdog_fed(device: Device) -> None:
    path = device.base / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(path))
        manager.settimeout(PATIENCE)
        with device.daemon(NOTIFY_SOCKET=str(path), WATCHDOG_USEC="300000") as process:
            heard = [manager.recv(4096).decode() for _ in range(4)]
            assert any(message.startswith("READY=1") for message in heard)
            assert "WATCHDOG=1" in heard
            # A process that stands still feeds nothing.
            process.send_signal(signal.SIGSTOP)
            manager.settimeout(1.0)
            with contextlib.suppress(TimeoutError):
                for _ in range(100):
                    manager.recv(4096)
                pytest.fail("a process that stands still fed the watchdog")
            process.send_signal(signal.SIGCONT)
            manager.settimeout(PATIENCE)
            while manager.recv(4096) != b"WATCHDOG=1":
                pass
            process.terminate()
            while not manager.recv(4096).startswith(b"STOPPING=1"):
                pass


def test_a_removed_socket_is_made_anew_and_sessions_stay(device: Device) -> None:
    with device.daemon() as process, Session(device) as session:
        session.open()
        Home(device.home).socket_path.unlink()
        eventually(lambda: device.pid() == process.pid, "a new socket")
        assert "Remembered" in session.remember("Still the same server")
        assert device.status()["sessions"] == 1


def test_a_daemon_whose_home_was_removed_ends(device: Device) -> None:
    with device.daemon() as process:
        for path in sorted(device.home.rglob("*"), reverse=True):
            path.unlink()
        device.home.rmdir()
        process.wait(PATIENCE)


def test_without_clients_an_auto_started_daemon_ends_itself(device: Device) -> None:
    with device.daemon("--auto-started", CLAUDE_MEMORY_DAEMON_IDLE_EXIT_MINUTES="0.02") as process:
        with Session(device) as session:
            session.open()
            time.sleep(2.0)
            assert process.poll() is None, "it has a client"
            session.close()
        assert process.wait(PATIENCE) == 0


def test_a_daemon_that_was_wanted_replaces_one_that_a_session_started(device: Device) -> None:
    with device.daemon("--auto-started") as auto, device.daemon() as wanted:
        assert auto.wait(PATIENCE) == 0
        again = subprocess.run(
            [*COMMAND, "daemon", "run", "--auto-started"], env=device.environment, timeout=PATIENCE, capture_output=True
        )
        assert again.returncode == 0, "a session's daemon finds everything in order"
        assert device.pid() == wanted.pid


def test_sync_waits_for_a_daemon_that_is_starting(device: Device) -> None:
    from daemon.lock import hold

    Home(device.home).ensure()
    with hold(Home(device.home).lock_file, "daemon"):
        sync = subprocess.Popen([*COMMAND, "sync", "--json"], env=device.environment, stdout=subprocess.PIPE)
        with pytest.raises(subprocess.TimeoutExpired):
            sync.wait(1.0)
    out, _ = sync.communicate(timeout=PATIENCE)
    assert sync.returncode == 0
    assert b'"uploaded"' in out


def test_a_local_change_goes_out_and_a_remote_one_comes_in_by_themselves(device: Device) -> None:
    other = Device(device.base, "b", device.folder)
    with device.daemon(), other.daemon():
        memory_id = device.remember("Port 3001 is ours")
        eventually(lambda: other.titles() == ["Port 3001 is ours"])
        other.cache(lambda cache: cache.update(memory_id, Change(content="Port 3002 is ours")))
        eventually(lambda: device.titles() == ["Port 3002 is ours"])


def test_a_folder_that_goes_away_is_told_and_taken_up_again(device: Device) -> None:
    away = device.base / "away"
    with device.daemon(CLAUDE_MEMORY_SYNC_POLL_SECONDS="1") as process:
        device.remember("First")
        eventually(lambda: list(device.folder.glob("memories/**/*.md")))
        device.folder.rename(away)
        device.run("sync", code=4)
        assert device.run("status")["storage"]["state"] == "unreachable"
        device.remember("Second")
        away.rename(device.folder)
        eventually(lambda: len(list(device.folder.glob("memories/**/*.md"))) == 2, "the second goes out by itself")
        assert process.poll() is None


def test_a_storage_that_is_chosen_later_is_taken_up_by_the_running_daemon(device: Device) -> None:
    del device.environment["CLAUDE_MEMORY_STORAGE_PATH"]
    with device.daemon() as process, Session(device) as session:
        session.open()
        session.remember("Before there was a storage")
        eventually(lambda: device.status()["sync"]["state"] == "failed")
        assert "claude-memory up" in device.status()["sync"]["hint"]
        Home(device.home).config_file.write_text(f'[storage]\npath = "{device.folder}"\n')
        eventually(lambda: list(device.folder.glob("memories/**/*.md")))
        assert device.pid() == process.pid


def test_a_setting_that_is_wrong_is_named(device: Device) -> None:
    Home(device.home).ensure()
    Home(device.home).config_file.write_text("[daemon]\nautostrat = true\n")
    refused = subprocess.run(
        [*COMMAND, "daemon", "run"], env=device.environment, capture_output=True, text=True, timeout=PATIENCE
    )
    assert refused.returncode == 2
    assert "autostart" in refused.stderr


def open_files(pid: int) -> set[Path]:
    """What a process has open; it goes on opening and closing meanwhile."""
    targets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            targets.add(descriptor.readlink())
    return targets


def test_in_a_detached_start_nothing_of_the_session_is_inherited(device: Device) -> None:
    environ = {**device.environment, "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "x", "NOTIFY_SOCKET": "/nowhere"}
    script = (
        "import os, sys\nfrom command_line.launch import start_detached\n"
        "p = start_detached(os.environ['CLAUDE_MEMORY_HOME'], os.environ, auto_started=True)\nprint(p.pid)"
    )
    inherited = os.open(device.base, os.O_RDONLY)
    os.set_inheritable(inherited, True)
    done = subprocess.run(
        [sys.executable, "-c", script], env=environ, capture_output=True, text=True, pass_fds=[inherited]
    )
    os.close(inherited)
    pid = int(done.stdout)
    eventually(lambda: device.pid() == pid)
    process_environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    names = {entry.partition(b"=")[0] for entry in process_environment}
    assert not names & {b"CLAUDECODE", b"CLAUDE_CODE_SESSION_ID", b"CLAUDE_PROJECT_DIR", b"NOTIFY_SOCKET"}
    assert f"CLAUDE_MEMORY_HOME={device.home}".encode() in process_environment
    assert f"HOME={device.base}".encode() in process_environment
    assert device.base not in open_files(pid)
