"""What the tests of the folder share."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from storage_backends.folder import FolderStorage


def temporary_files(root: Path) -> list[str]:
    """Names of our own temporary files that are left anywhere below the root."""
    return [path.name for path in root.rglob("*") if path.name.startswith(".~claude-memory-")]


def names(folder: Path) -> list[str]:
    """Every name in the folder, as it is written on disk."""
    return sorted(path.name for path in folder.iterdir())


def tree(root: Path) -> dict[str, bytes]:
    """Every regular file below the root and its bytes, links not followed."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


@contextmanager
def mounted(place: Path, *arguments: str) -> Iterator[None]:
    """Something mounted at `place`; skips the test where that is not allowed."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting needs root")
    place.mkdir(exist_ok=True)
    done = subprocess.run(["mount", *arguments, str(place)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"cannot mount here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(place)], capture_output=True, check=False)


@contextmanager
def coarse_times(tmp_path: Path) -> Iterator[Path]:
    """A mounted file system whose file times are whole seconds. Skips where that is not possible."""
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("mkfs.ext4 is not here")
    image, place = tmp_path / "image", tmp_path / "coarse"
    with image.open("wb") as handle:
        handle.truncate(16 * 1024 * 1024)
    make = ["mkfs.ext4", "-q", "-F", "-I", "128", "-O", "^has_journal,^extra_isize", str(image)]
    subprocess.run(make, check=True, capture_output=True)
    with mounted(place, "-o", "loop", str(image)):
        yield place


@contextmanager
def exfat(tmp_path: Path) -> Iterator[Path]:
    """A mounted exFAT: ignores case, knows neither links nor owners nor exchange, times in steps of 2 s. Skips where
    that is not possible."""
    if not all(shutil.which(program) for program in ("mkfs.exfat", "mount.exfat-fuse", "losetup")):
        pytest.skip("exfatprogs and exfat-fuse are not here")
    image, place = tmp_path / "image", tmp_path / "exfat"
    place.mkdir()
    with image.open("wb") as handle:
        handle.truncate(64 * 1024 * 1024)
    subprocess.run(["mkfs.exfat", str(image)], check=True, capture_output=True)
    loop = subprocess.run(["losetup", "-f", "--show", str(image)], capture_output=True, text=True, check=False)
    if loop.returncode != 0:
        pytest.skip(f"no loop device: {loop.stderr.strip()}")
    try:
        done = subprocess.run(["mount.exfat-fuse", loop.stdout.strip(), str(place)], capture_output=True, check=False)
        if done.returncode != 0:
            pytest.skip("cannot mount here")
        try:
            yield place
        finally:
            subprocess.run(["umount", str(place)], capture_output=True, check=False)
    finally:
        subprocess.run(["losetup", "-d", loop.stdout.strip()], capture_output=True, check=False)


@contextmanager
def as_nobody() -> Iterator[Path]:
    """Run as a user without privileges, with a root folder that this user owns; skips the test where not possible."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("changing the user needs root")
    place = Path(tempfile.mkdtemp(prefix="store-"))
    nobody = 65534
    place.chmod(0o755)
    root = place / "root"
    root.mkdir()
    os.chown(root, nobody, nobody)
    os.seteuid(nobody)
    try:
        yield root
    finally:
        os.seteuid(0)
        shutil.rmtree(place)


class Clock:
    """The real time plus an offset."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        import time

        return time.time() + self.ahead


def storage(root: Path) -> FolderStorage:
    FolderStorage.prepare(root)
    return FolderStorage(root)
