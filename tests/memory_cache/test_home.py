"""The device's directory, and which folders a sync client owns."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from memory_cache.home import Home, onedrive_roots, synced_folder_of

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and sockets")


def test_the_environment_names_the_home(tmp_path: Path) -> None:
    assert Home.current({"CLAUDE_MEMORY_HOME": str(tmp_path / "ä b")}).root == tmp_path / "ä b"
    assert Home.current({"CLAUDE_MEMORY_HOME": "~/x", "HOME": "/h", "USERPROFILE": "/h"}).root == Path("/h/x")


@pytest.mark.skipif(sys.platform != "linux", reason="XDG directories")
def test_without_it_the_platform_s_usual_directory_is_used() -> None:
    assert Home.current({"HOME": "/h"}).root == Path("/h/.local/share/claude-memory")
    assert Home.current({"HOME": "/h", "XDG_DATA_HOME": "/d"}).root == Path("/d/claude-memory")
    assert Home.current({"HOME": "/h", "XDG_DATA_HOME": "relative"}).root == Path("/h/.local/share/claude-memory")


@posix_only
def test_the_home_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    loose = tmp_path / "loose"
    loose.mkdir(mode=0o755)
    for root in (tmp_path / "new" / "home", loose):
        Home(root).ensure()
        assert stat.S_IMODE(root.stat().st_mode) == 0o700


@posix_only
def test_the_socket_path_always_fits_and_is_private(tmp_path: Path) -> None:
    home = Home(tmp_path / ("long" * 40))
    home.ensure()
    assert len(os.fsencode(home.socket_path)) <= 103
    assert stat.S_IMODE(home.socket_path.parent.stat().st_mode) == 0o700
    assert home.socket_path != Home(tmp_path / ("lang" * 40)).socket_path
    assert Home(Path("/h")).socket_path == Path("/h/daemon.sock")


def test_onedrive_folders_are_found_once_and_in_order(tmp_path: Path) -> None:
    for name in ("OneDrive", "OneDrive - Contoso", "Library/CloudStorage/OneDrive-Personal", "Users/anna/OneDrive"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "OneDrive - a file").write_text("")
    environ = {
        "OneDriveCommercial": str(tmp_path / "OneDrive - Contoso"),
        "OneDriveConsumer": str(tmp_path / "gone"),
        "OneDrive": str(tmp_path / "OneDrive - Contoso"),
    }
    assert onedrive_roots(environ, tmp_path, windows_users=tmp_path / "Users") == [
        tmp_path / "OneDrive - Contoso",
        tmp_path / "OneDrive",
        tmp_path / "Library/CloudStorage/OneDrive-Personal",
        tmp_path / "Users/anna/OneDrive",
    ]


@pytest.mark.parametrize(
    "folder",
    [
        "OneDrive",
        "OneDrive - Contoso",
        "Library/CloudStorage/OneDrive-Personal",
        "Dropbox",
        "Google Drive",
        "Library/Mobile Documents",
    ],
)
def test_a_path_inside_a_synced_folder_is_recognised(tmp_path: Path, folder: str) -> None:
    assert synced_folder_of(tmp_path / folder / "Apps" / "home", {}) is not None


def test_marks_links_and_variables_of_sync_clients_count(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / ".stfolder").mkdir(parents=True)
    (tmp_path / "link").symlink_to(shared)
    assert synced_folder_of(tmp_path / "link" / "home", {}) == shared
    assert synced_folder_of(tmp_path / "own" / "home", {"OneDrive": str(tmp_path / "own")}) == tmp_path / "own"


def test_an_ordinary_path_is_not_synced(tmp_path: Path) -> None:
    (tmp_path / ".dropbox").mkdir()
    environ = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    assert synced_folder_of(tmp_path / "src" / "my-dropbox-client", environ) is None


def test_home_needs_the_standard_library_only() -> None:
    code = "import sys, memory_cache.home; sys.exit(any(m in sys.modules for m in ('pydantic', 'yaml', 'anyio')))"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode == 0
