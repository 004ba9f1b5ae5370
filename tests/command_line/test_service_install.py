"""What the service managers are told. Stand-ins that keep books like the real ones: of launchd that it refuses a label
which it knows, of systemd that `enable --now` leaves a running service as it is."""

import os
import plistlib
import sys
from pathlib import Path

import pytest

from command_line import service_install
from command_line.service_units import LAUNCHD_LABEL, SYSTEMD_UNIT, WINDOWS_TASK, Manager
from memory_cache.home import Home

TOLD = "manager-calls"
LAUNCHCTL = """#!/bin/sh
echo "launchctl $*" >> "{log}"
case $1 in
  bootstrap)
    [ -e "{log}.loaded" ] && echo "Bootstrap failed: 5: Input/output error" >&2 && exit 5
    cp "$3" "{log}.loaded" ;;
  bootout) [ -e "{log}.loaded" ] || exit 3; rm "{log}.loaded" ;;
esac
"""
NOTING = """#!/bin/sh
echo "{name} $*" >> "{log}"
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    tools, log = tmp_path / "tools", tmp_path / TOLD
    tools.mkdir()
    for name in ("launchctl", "systemctl", "schtasks"):
        (tools / name).write_text((LAUNCHCTL if name == "launchctl" else NOTING).format(name=name, log=log))
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("CLAUDE_MEMORY_HOME", raising=False)
    monkeypatch.setattr(sys, "argv", [str(Path(sys.executable).with_name("claude-memory"))])
    return log


def told(log: Path) -> list[str]:
    lines = log.read_text().splitlines() if log.exists() else []
    log.unlink(missing_ok=True)
    return lines


@pytest.mark.skipif(os.name == "nt", reason="the stand-ins are shell scripts")
@pytest.mark.parametrize("kind", ["systemd", "launchd", "windows"])
def test_a_service_is_installed_twice_and_taken_away(kind: Manager, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_install, "manager", lambda: kind)
    home = Home.current()
    home.ensure()
    target = service_install.definition_file(kind)
    domain = f"gui/{os.getuid()}"
    starts = {
        "systemd": [
            "systemctl --user daemon-reload", f"systemctl --user enable {SYSTEMD_UNIT}",
            f"systemctl --user restart {SYSTEMD_UNIT}",
        ],
        "launchd": [f"launchctl bootout {domain}/{LAUNCHD_LABEL}", f"launchctl bootstrap {domain} {target}"],
        "windows": [f"schtasks /create /tn {WINDOWS_TASK} /xml {target} /f", f"schtasks /run /tn {WINDOWS_TASK}"],
    }[kind]  # fmt: skip
    for _ in range(2):
        managed, notes = service_install.install(home)
        assert managed, notes
        assert told(log) == starts
    assert target.exists()
    service_install.uninstall()
    assert (
        told(log)
        == {
            "systemd": [f"systemctl --user disable --now {SYSTEMD_UNIT}", "systemctl --user daemon-reload"],
            "launchd": [f"launchctl bootout {domain}/{LAUNCHD_LABEL}"],
            "windows": [f"schtasks /end /tn {WINDOWS_TASK}", f"schtasks /delete /tn {WINDOWS_TASK} /f"],
        }[kind]
    )
    assert not target.exists()
    assert service_install.uninstall() == []


@pytest.mark.skipif(os.name == "nt", reason="the stand-ins are shell scripts")
def test_launchd_learns_the_new_program_of_an_agent_that_it_knows(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_install, "manager", lambda: "launchd")
    home = Home.current()
    service_install.install(home)
    monkeypatch.setenv("CLAUDE_MEMORY_HOME", str(home.root.parent / "elsewhere"))
    managed, _ = service_install.install(Home.current())
    assert managed
    agent = plistlib.loads(log.with_name(f"{TOLD}.loaded").read_bytes())
    assert agent["EnvironmentVariables"]["CLAUDE_MEMORY_HOME"] == str(home.root.parent / "elsewhere")


def test_a_manager_that_refuses_leaves_the_definition_and_says_what_to_run(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_install, "manager", lambda: "systemd")
    (log.parent / "tools" / "systemctl").write_text("#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n")
    managed, notes = service_install.install(Home.current())
    assert not managed
    assert service_install.definition_file("systemd").exists()
    assert "Failed to connect to bus" in notes[-1]
    assert "`claude-memory daemon install` tries again" in notes[-1]
