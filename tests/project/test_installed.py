"""From `pip install` of the wheel to `uninstall`, in a home directory of its own: nothing stays but memories.

By default the wheel's dependencies are those of the environment that runs the tests; with CLEAN_INSTALL=1 pip
installs all of them, as it does for a user (minutes, and a package index).
"""

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from memory_cache.home import Home
from tests.command_line.person import Person
from tests.daemon.processes import eventually

FETCHED = {
    "tool_name": "WebFetch", "tool_input": {"url": "https://example.org/w", "prompt": "widgets?"},
    "tool_response": {"result": "# Widgets\nframbozzles need oil", "code": 200}, "session_id": "s",
}  # fmt: skip


@pytest.fixture
def person(wheel: Path, tmp_path: Path) -> Iterator[Person]:
    """A user who has installed the wheel, and nothing of this checkout."""
    environment = tmp_path / "environment"
    whole = os.environ.get("CLEAN_INSTALL") == "1"
    borrowed = not whole and find_spec("pip") is not None  # making a pip takes as long as all the rest
    venv = [sys.executable, "-m", "venv", *(["--without-pip"] if borrowed else []), str(environment)]
    subprocess.run(venv, check=True)
    python = str(environment / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python] if borrowed else [python, "-m", "pip"]
    options = ["--quiet", "--disable-pip-version-check", *([] if whole else ["--no-deps", "--no-index"])]
    subprocess.run([*pip, "install", *options, str(wheel)], check=True, timeout=1000)
    if not whole:
        # A path and no more: `.pth` files that lie there (the editable checkout's) are not followed.
        (site,) = environment.glob("lib/python*/site-packages")
        (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    made = Person(tmp_path)
    made.program = environment / "bin" / "claude-memory"
    del made.environment["PYTHONPATH"]
    made.environment["PATH"] = f"{environment / 'bin'}{os.pathsep}{made.tools}{os.pathsep}/usr/bin{os.pathsep}/bin"
    yield made
    made.end()


def mentions(person: Person) -> list[str]:
    """The processes that work for this user, by their command lines."""
    mark = f"HOME={person.home}\0".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes()
            if words and mark in (place / "environ").read_bytes():
                found.append(words.replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


@pytest.mark.timeout(1500)
@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc, and at the places that Linux uses")
def test_an_installed_wheel_sets_up_works_and_goes_without_a_trace(person: Person) -> None:
    others = {"theme": "dark", "mcpServers": {"other": {"command": "x"}}}
    desktop = person.home / ".config" / "Claude" / "claude_desktop_config.json"
    desktop.parent.mkdir(parents=True)
    desktop.write_text(json.dumps(others))
    before = everything(person)

    notes = person.home / "notes"
    said = person.run("setup", "--yes", "--path", str(notes), "--service", "--desktop").stdout
    unit = person.home / ".config" / "systemd" / "user" / "claude-memory.service"
    assert str(unit) in said
    assert f"ExecStart={person.program} daemon run" in unit.read_text()
    assert json.loads(desktop.read_text())["mcpServers"]["memory"]["command"] == str(person.program)
    assert "environment" in " ".join(mentions(person)), "the daemon runs from the installed wheel"

    # Whatever leaves files: a memory, a captured page with a daemon and one without, the bearer, a log.
    person.run("remember", "--category", "learning", "--global", "Left behind on purpose")
    person.run("mcp", "--headers")
    hook(person, "session-start", {"source": "startup"})
    hook(person, "post-tool-use", FETCHED)
    person.run("sync")
    person.run("daemon", "stop")
    hook(person, "post-tool-use", FETCHED)
    person.run("daemon", "start")
    made = {path.name for path in person.device.iterdir()}
    assert {"config.toml", "cache.sqlite3", "daemon.log", "http-token"} <= made
    socket = Home(person.device).socket_path  # below /tmp when the home has a long path
    assert socket.exists()

    said = person.run("uninstall").stdout
    assert f"Your memories stay where they are: {notes}" in said
    eventually(lambda: not mentions(person), "the last process ends")
    assert not socket.exists()
    after = everything(person)
    assert json.loads(desktop.read_text()) == others
    left = {name for name in after if not name.startswith("notes/")} - set(before)
    # Directories that belong to the platform, not to this program; empty by now.
    assert left == {"notes", ".local", ".local/share", ".config/systemd", ".config/systemd/user"}
    assert not [name for name in left - {"notes"} if (person.home / name).is_file()]
    (memory,) = notes.glob("memories/**/*.md")
    assert "Left behind on purpose" in memory.read_text()


def everything(person: Person) -> list[str]:
    """All that lies in the user's home, directories and sockets included."""
    return sorted(str(path.relative_to(person.home)) for path in person.home.rglob("*"))


def hook(person: Person, event: str, payload: dict[str, object]) -> None:
    command = [str(person.program), "hook", event]
    done = subprocess.run(
        command, input=json.dumps(payload), env=person.environment, cwd=person.home, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
