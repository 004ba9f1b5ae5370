"""One process per home; a lock outlives nothing."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from daemon.lock import AlreadyLocked, hold, read_holder

ROOT = Path(__file__).parents[2]
HOLD = """
import sys, pathlib
from daemon.lock import hold
with hold(pathlib.Path(sys.argv[1]), "daemon"):
    print("held", flush=True)
    sys.stdin.read()
"""


def holding(path: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    with holding(path) as process:
        with pytest.raises(AlreadyLocked, match=f"process {process.pid} \\(daemon") as raised, hold(path, "sync"):
            pass
        assert raised.value.holder is not None
        assert raised.value.holder.pid == process.pid
        process.communicate()
    with hold(path, "sync"):
        holder = read_holder(path)
        assert holder is not None
        assert holder.purpose == "sync"


def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    with holding(path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    with hold(path, "daemon"):
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_child_that_lives_on_does_not_keep_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "daemon.lock"
    with hold(path, "daemon"):
        child = subprocess.Popen(["sleep", "60"])
    try:
        with hold(path, "daemon"):
            pass
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("text", ["", "x", "1 2", "no number daemon", "\xff\xfe"])
def test_an_unreadable_note_hides_nobody(tmp_path: Path, text: str) -> None:
    path = tmp_path / "daemon.lock"
    path.write_text(text, "latin-1")
    assert read_holder(path) is None
    with hold(path, "daemon"):
        assert read_holder(path) is not None
