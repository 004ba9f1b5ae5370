"""Service definitions say what was meant, whatever the paths look like."""

import os
import plistlib
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line.service_units import SYSTEMD_UNIT, _windows_quoted, launchd_agent, systemd_unit, windows_task

COMMAND = ["/home/ann/my tools/100%/$x/claude-memory", "daemon", "run"]
ENVIRONMENT = {"CLAUDE_MEMORY_HOME": '/home/ann/mem "x" $HOME'}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_has_nothing_to_say_about_the_unit(tmp_path: Path) -> None:
    program = tmp_path / "my tools" / "100%" / "claude-memory"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / SYSTEMD_UNIT
    unit.write_text(systemd_unit([str(program), "daemon", "run"], ENVIRONMENT))
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(unit)],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_systemd_unit_has_a_watchdog_and_quotes_odd_paths() -> None:
    unit = systemd_unit(COMMAND, ENVIRONMENT)
    assert "Type=notify" in unit
    assert "WatchdogSec=" in unit
    assert "NoNewPrivileges=yes" in unit
    assert 'ExecStart="/home/ann/my tools/100%%/$$x/claude-memory" daemon run' in unit
    assert 'Environment="CLAUDE_MEMORY_HOME=/home/ann/mem \\"x\\" $HOME"' in unit


def test_the_launchd_agent_is_a_property_list_that_restarts_after_a_crash_only() -> None:
    agent = plistlib.loads(launchd_agent(COMMAND, ENVIRONMENT, "/home/ann/daemon.log"))
    assert agent["ProgramArguments"] == COMMAND
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert agent["EnvironmentVariables"]["CLAUDE_MEMORY_HOME"] == ENVIRONMENT["CLAUDE_MEMORY_HOME"]
    assert agent["Umask"] == 0o077


def test_the_windows_task_is_well_formed_and_never_killed_after_three_days() -> None:
    text = windows_task(["C:\\Program Files\\x & y\\claude-memory.exe", "daemon", "run"], "PC\\Ann <a>")
    space = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
    task = ElementTree.fromstring(text.partition("\n")[2])  # noqa: S314 - our own text
    assert task.findtext(f".//{space}ExecutionTimeLimit") == "PT0S"
    assert task.findtext(f".//{space}Command") == "C:\\Program Files\\x & y\\claude-memory.exe"
    assert task.findtext(f".//{space}UserId") == "PC\\Ann <a>"


def split_as_windows_does(line: str) -> list[str]:
    words: list[str] = []
    word, quoted, backslashes, started = "", False, 0, False
    for character in line:
        if character == "\\":
            backslashes += 1
            started = True
            continue
        if character == '"':
            word += "\\" * (backslashes // 2)
            if backslashes % 2:
                word += '"'
            else:
                quoted = not quoted
            backslashes, started = 0, True
            continue
        word += "\\" * backslashes
        backslashes = 0
        if character in " \t" and not quoted:
            if started:
                words.append(word)
            word, started = "", False
        else:
            word += character
            started = True
    word += "\\" * backslashes
    return [*words, word] if started else words


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12), max_size=4))
def test_a_quoted_windows_command_line_splits_into_the_same_words(words: list[str]) -> None:
    assert split_as_windows_does(" ".join(_windows_quoted(word) for word in words)) == words
