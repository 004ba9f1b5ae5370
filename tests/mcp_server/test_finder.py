"""How a relay reads the setting, words its preamble, and keeps out of other relays' way."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server import finder
from memory_cache import settings
from memory_cache.home import Home


@pytest.mark.parametrize("variable", [None, "true", "1", "yes", "false", "0", "No", "OFF"])
@pytest.mark.parametrize(
    "file",
    [None, "", "[daemon]\nautostart = true\n", "[daemon]\nautostart = false\n", "\ufeff[daemon]\nautostart=false\n"],
)
def test_the_light_reader_of_the_setting_agrees_with_the_real_one(
    tmp_path: Path, variable: str | None, file: str | None
) -> None:
    if file is not None:
        (tmp_path / "config.toml").write_text(file, "utf-8")
    environ = {} if variable is None else {"CLAUDE_MEMORY_DAEMON_AUTOSTART": variable}

    assert finder.autostart(str(tmp_path), environ) is settings.load(Home(tmp_path), environ).daemon.autostart


def test_a_broken_settings_file_does_not_keep_a_relay_from_answering(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_bytes(b"[daemon\xff")
    assert finder.autostart(str(tmp_path), {}) is True


@given(st.dictionaries(st.sampled_from(["kind", "cwd", "project_dir"]), st.text(max_size=20)))
def test_every_preamble_is_one_line_of_json(fields: dict[str, str]) -> None:
    line = finder.encoded(fields)
    assert line.count(b"\n") == 1
    assert json.loads(line) == {name: value for name, value in fields.items() if value}


def test_undecodable_directories_survive(tmp_path: Path) -> None:
    assert json.loads(finder.encoded({"cwd": "/a\udcff"}))["cwd"] == "/a\udcff"


def test_each_relay_has_a_key_of_its_own() -> None:
    assert finder.preamble({})["session_key"] != finder.preamble({})["session_key"]
