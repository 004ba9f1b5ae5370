"""What is shipped beside the wheel holds all of the program, and the container's entry point keeps its promise."""

import os
import signal
import socket
import subprocess
import sys
import tomllib
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from tests.daemon.processes import PATIENCE, eventually

ROOT = Path(__file__).parents[2]
ROOMS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]


def test_image_and_bundle_hold_every_room() -> None:
    image = (ROOT / "deploy" / "docker" / "Dockerfile").read_text().splitlines()
    assert [room for room in ROOMS if f"COPY {room} {room}" not in image] == []
    copied = next(line for line in (ROOT / "deploy/desktop-bundle/pack.sh").read_text().splitlines() if "cp -r" in line)
    assert set(ROOMS) <= set(copied.split())


@pytest.mark.skipif(os.name == "nt", reason="a shell script of a Linux container")
def test_the_container_serves_and_ends_as_a_whole(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (tmp_path / "memories").mkdir()
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}/usr/bin{os.pathsep}/bin", "HOME": str(tmp_path),
        "CLAUDE_MEMORY_HOME": str(tmp_path / "data"), "CLAUDE_MEMORY_STORAGE_PATH": str(tmp_path / "memories"),
        "CLAUDE_MEMORY_HTTP_PORT": str(port),
    }  # fmt: skip
    with (tmp_path / "log").open("wb") as log:
        command = ["/bin/sh", str(ROOT / "deploy" / "docker" / "serve.sh")]
        box = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:

        def healthy() -> bool:
            assert box.poll() is None, (tmp_path / "log").read_text()
            with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                return bool(answer.status == 200)
            return False

        eventually(healthy)
        eventually(lambda: (tmp_path / "data" / "daemon.sock").exists() or (tmp_path / "data" / "daemon.lock").exists())
        box.terminate()
        box.wait(PATIENCE)

        def gone() -> bool:
            with suppress(ProcessLookupError):
                os.killpg(box.pid, 0)
                return False
            return True

        eventually(gone, "every process of the container ends")
    finally:
        with suppress(ProcessLookupError):
            os.killpg(box.pid, signal.SIGKILL)
