"""How long a session of the real client takes with the plugin and without: `python -m tests.claude_code.session_start`.

Pairs of whole sessions of one turn, in turn which of the two comes first, with a daemon running and memories to brief
with. Prints medians, and the median of the differences within the pairs with its spread. Needs what `conftest` names.
"""

import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def _drive() -> Any:
    place = Path(os.environ["REAL_CLAUDE_CODE"]) / "drive_claude.py"
    specification = importlib.util.spec_from_file_location("drive_claude", place)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["drive_claude"] = module
    specification.loader.exec_module(module)
    return module.drive


def main(pairs: int) -> None:
    """Measure and print."""
    drive = _drive()
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary)
        for name in ("shared", "project"):
            (base / name).mkdir()
        device = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "CLAUDE_MEMORY_HOME": str(base / "home"),
            "CLAUDE_MEMORY_STORAGE_PATH": str(base / "shared"),
        }
        command = [sys.executable, "-m", "command_line"]
        environment = {**os.environ, **device, "CLAUDE_PROJECT_DIR": str(base / "project")}
        for number in range(50):
            subprocess.run(
                [*command, "remember", "--category", "decision", f"Service {number} uses port {number}."],
                env=environment, cwd=ROOT, check=True, capture_output=True,
            )  # fmt: skip
        subprocess.run([*command, "daemon", "start"], env=environment, cwd=ROOT, check=True, capture_output=True)
        time.sleep(5)  # what a daemon does right after its start is not what is measured
        taken: dict[bool, list[float]] = {True: [], False: []}
        try:
            for number in range(pairs):
                for plugin in (bool(number % 2), not number % 2):
                    folders = [ROOT / "deploy" / "claude-plugin"] if plugin else []
                    seen = drive(
                        "Hello", [{"text": "Hi."}], project_dir=base / "project", env=device, plugin_dirs=folders
                    )
                    taken[plugin].append(seen.seconds)
        finally:
            subprocess.run([*command, "daemon", "stop"], env=environment, cwd=ROOT, check=True, capture_output=True)
    differences = sorted(with_it - without for with_it, without in zip(taken[True], taken[False], strict=True))
    quarter = len(differences) // 4
    print(f"pairs {pairs}")
    print(f"with the plugin    median {statistics.median(taken[True]):.3f} s")
    print(f"without            median {statistics.median(taken[False]):.3f} s")
    print(
        f"difference         median {statistics.median(differences) * 1000:+.0f} ms"
        f" (middle half {differences[quarter] * 1000:+.0f} to {differences[-quarter - 1] * 1000:+.0f} ms)"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
