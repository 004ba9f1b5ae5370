"""A user with a home directory of their own, for tests of what `setup` leaves on a machine."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CLAUDE = """#!{python}
import json, pathlib, sys
log = pathlib.Path(__file__).with_name("claude-calls.jsonl")
calls = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
known = any(c[:2] == ["mcp", "add-json"] for c in calls) and not any(c[:2] == ["mcp", "remove"] for c in calls)
with log.open("a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
sys.exit(0 if sys.argv[1:3] != ["mcp", "get"] or known else 1)
"""


class Person:
    """A user with a home directory of their own, a `claude` command that notes its calls, and no service manager."""

    def __init__(self, base: Path) -> None:
        self.home = base / "user"
        self.program = Path(sys.executable).with_name("claude-memory")
        self.tools = base / "tools"
        self.home.mkdir()
        self.tools.mkdir()
        claude = self.tools / "claude"
        claude.write_text(CLAUDE.format(python=sys.executable))
        claude.chmod(0o755)
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{self.tools}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
        }

    @property
    def device(self) -> Path:
        return self.home / ".local" / "share" / "claude-memory"

    def run(self, *arguments: str, code: int = 0) -> "subprocess.CompletedProcess[str]":
        command = [str(self.program), *arguments]
        done = subprocess.run(
            command, env=self.environment, cwd=self.home, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def end(self) -> None:
        """End the daemon that a setup has started."""
        self.run("daemon", "stop")

    def files(self) -> dict[str, bytes]:
        return {str(p.relative_to(self.home)): p.read_bytes() for p in sorted(self.home.rglob("*")) if p.is_file()}

    def calls(self) -> list[list[str]]:
        log = self.tools / "claude-calls.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
