"""Devices for tests of commands."""

from pathlib import Path

import pytest

from tests.command_line.memory_cli import Device


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Device:
    """A device with an empty cache, working in an empty directory."""
    work = tmp_path / "work"
    work.mkdir()
    return Device(tmp_path / "home", work, monkeypatch, capsys)
