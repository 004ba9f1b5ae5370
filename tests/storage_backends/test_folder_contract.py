"""A plain folder keeps the contract of every storage."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage_backends import folder_rename
from storage_backends.folder import FolderStorage

from .contract import Move, NewDevice, StorageContract
from .folder_help import exfat


class TestFolderStorage(StorageContract):
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        root = tmp_path / "store"
        FolderStorage.prepare(root)
        return root

    @pytest.fixture
    def new_device(self, root: Path) -> NewDevice:
        return lambda: FolderStorage(root)

    @pytest.fixture
    def move(self, root: Path) -> Move:
        async def move(path: str, new_path: str) -> None:
            (root / new_path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).rename(root / new_path)

        return move


class TestWithHardLinksOnly(TestFolderStorage):
    """As on file systems that can neither exchange two files nor rename without replacing."""

    @pytest.fixture(autouse=True)
    def _no_flags(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(folder_rename, "_rename_with_flag", lambda fd, old, new, flag: False)


@pytest.fixture(scope="module")
def exfat_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with exfat(tmp_path_factory.mktemp("disk")) as place:
        yield place


class TestOnExFat(TestFolderStorage):
    """A real file system that ignores case and has none of the helpful calls; like a USB stick."""

    @pytest.fixture
    def root(self, exfat_disk: Path) -> Path:
        root = exfat_disk / secrets.token_hex(4)
        FolderStorage.prepare(root)
        return root
