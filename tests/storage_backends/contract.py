"""The guarantees of `storage_backends.base`, as one class that the tests of every backend inherit.

    class TestMyStorage(StorageContract):
        @pytest.fixture
        def new_device(self) -> NewDevice:
            return lambda: MyStorage(...)      # each call another device; all share one empty store

Devices are entered by the tests. `move` renames a file behind the backend's back; without it those tests are skipped.
"""

import pytest

from .contract_changes import ChangesContract
from .contract_files import FilesContract
from .contract_help import NOT_PORTABLE_NAMES, ODD_NAMES, REFUSED_NAMES, Move, NewDevice, View
from .contract_together import TogetherContract

__all__ = ["NOT_PORTABLE_NAMES", "ODD_NAMES", "REFUSED_NAMES", "Move", "NewDevice", "StorageContract", "View"]


class StorageContract(FilesContract, ChangesContract, TogetherContract):
    """See the module."""

    @pytest.fixture
    def new_device(self) -> NewDevice:
        raise NotImplementedError

    @pytest.fixture
    def move(self) -> Move | None:
        return None
