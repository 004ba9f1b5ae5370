"""The real Claude Code client, and one device for it.

Runs where REAL_CLAUDE_CODE names a folder with `drive_claude.py` (it drives the client offline along a plan) and
CLAUDE_CODE_DIR the client's installation. The client is proprietary: it is no part of this project.
"""

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
HARNESS = Path(os.environ.get("REAL_CLAUDE_CODE", "/nonexistent")) / "drive_claude.py"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """None of these tests can run without the client."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here:
            item.add_marker(
                pytest.mark.skipif(not HARNESS.is_file(), reason="REAL_CLAUDE_CODE names no client to drive")
            )
            item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(scope="module")
def drive() -> Callable[..., Any]:
    specification = importlib.util.spec_from_file_location("drive_claude", HARNESS)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["drive_claude"] = module
    specification.loader.exec_module(module)
    run: Callable[..., Any] = module.drive
    return run


@pytest.fixture
def device(tmp_path: Path) -> dict[str, str]:
    for name in ("shared", "project", "user"):
        (tmp_path / name).mkdir()
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "CLAUDE_MEMORY_HOME": str(tmp_path / "home"),
        "CLAUDE_MEMORY_STORAGE_PATH": str(tmp_path / "shared"),
        "CLAUDE_MEMORY_DAEMON_AUTOSTART": "false",
    }


@pytest.fixture
def daemon(device: dict[str, str], tmp_path: Path) -> Iterator[None]:
    environment = {**os.environ, **device}
    command = [sys.executable, "-m", "command_line", "daemon", "run"]
    with (tmp_path / "daemon.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=log, stderr=log)
        try:
            while not (tmp_path / "home" / "daemon.sock").exists():
                assert process.poll() is None, (tmp_path / "daemon.log").read_text()
                time.sleep(0.05)
            yield
        finally:
            process.terminate()
            process.wait(20)
