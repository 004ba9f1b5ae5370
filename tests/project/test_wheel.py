"""The wheel holds the six rooms and nothing else, and works away from the checkout."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOMS = {"memory_cache", "storage_backends", "daemon", "mcp_server", "dashboard", "command_line"}


def test_the_wheel_has_exactly_the_six_rooms(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    roots = {name.partition("/")[0] for name in names}
    assert roots - ROOMS == {root for root in roots if root.endswith(".dist-info")}
    assert roots >= ROOMS
    assert not [name for name in names if "test" in name.split("/")[1:-1]]
    assert any(name.endswith(".sql") for name in names)
    assert {"dashboard/static/index.html", "dashboard/static/vendor/LICENSES.txt"} <= set(names)


def test_the_wheel_runs_in_another_directory(wheel: Path, tmp_path: Path) -> None:
    unpacked = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(unpacked)
    program = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); import memory_cache, daemon;"
        "assert memory_cache.__file__.startswith(sys.path[0]), memory_cache.__file__;"
        "from command_line.main import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, str(unpacked), "--version"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "0.1.0" in done.stdout
