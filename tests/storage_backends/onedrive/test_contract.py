"""OneDrive keeps the contract of every storage, on both kinds of account."""

import pytest

from tests.graph_emulator import Emulator
from tests.storage_backends.contract import Move, NewDevice, StorageContract

from .conftest import NewStorage

FOLDER = "Apps/ClaudeMemory"


class TestOneDrive(StorageContract):
    @pytest.fixture
    def new_device(self, new_storage: NewStorage) -> NewDevice:
        return lambda: new_storage(push=True)

    @pytest.fixture
    def move(self, emulator: Emulator) -> Move:
        async def move(path: str, new_path: str) -> None:
            emulator.drive.move(f"{FOLDER}/{path}", f"{FOLDER}/{new_path}")

        return move
