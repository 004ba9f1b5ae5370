"""One place turns errors into a sentence and an exit code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from command_line.errors import CommandFailed
from command_line.failures import failure_of, guarded
from daemon.errors import StorageEmptied
from memory_cache.errors import AmbiguousId, CacheUnusable, InvalidInput, SettingsError, UnknownMemory
from storage_backends.errors import AccessDenied, LoginRequired, StorageFull, Throttled, Unreachable


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInput("m"), 2),
        (SettingsError("m"), 2),
        (UnknownMemory("m"), 1),
        (AmbiguousId("m"), 1),
        (CacheUnusable("m"), 1),
        (LoginRequired("m"), 3),
        (Unreachable("m"), 4),
        (Throttled("m"), 4),
        (StorageEmptied("m"), 4),
        (StorageFull("m"), 1),
        (AccessDenied("m"), 1),
        (CommandFailed("t", "m", code=5), 5),
        (OSError(28, "No space left on device", "/x"), 1),
        (RuntimeError("m"), 1),
        (ExceptionGroup("g", [ExceptionGroup("g", [LoginRequired("m")])]), 3),
    ],
)
def test_each_error_has_its_exit_code(error: Exception, code: int) -> None:
    failure = failure_of(error)
    assert failure.code == code
    assert failure.title
    assert failure.message


def test_an_interrupt_is_no_failure() -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    assert guarded(interrupted, as_json=True) == 130


def test_a_reader_that_goes_away_is_no_failure() -> None:
    code = (
        "import sys\nfrom command_line.failures import guarded\n"
        "def run():\n    for _ in range(100000): print('x' * 100)\n    return 0\n"
        "sys.exit(guarded(run, as_json=False))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(30) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_commands_are_known_without_heavy_imports() -> None:
    code = """
import argparse, sys
from importlib import import_module
commands = argparse.ArgumentParser().add_subparsers()
for topic in ("conflict", "export", "history", "memory", "tidy"):
    import_module(f"command_line.{topic}_commands").register(commands)
sys.exit(any(module in sys.modules for module in ("pydantic", "anyio", "yaml", "rich", "numpy", "mcp")))
"""
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode == 0
