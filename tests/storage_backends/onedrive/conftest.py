"""The OneDrive backend against the emulator, over real HTTP."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from storage_backends.base import StorageBackend
from storage_backends.onedrive import OneDriveSettings, open_onedrive
from tests.graph_emulator import Account, Emulator

NewStorage = Callable[..., StorageBackend]


@pytest.fixture(params=[Account.PERSONAL, Account.BUSINESS])
def account(request: pytest.FixtureRequest) -> Account:
    return Account(request.param)


@pytest.fixture
def emulator(account: Account) -> Iterator[Emulator]:
    with Emulator(account) as running:
        yield running
    assert running.crashes == []


@pytest.fixture
def new_storage(emulator: Emulator, tmp_path: Path) -> NewStorage:
    """Another device each time; keyword arguments are settings, `home` names a device to be restarted."""
    count = 0

    def make(home: str = "", **settings: object) -> StorageBackend:
        nonlocal count
        count += 1
        fields = {"push": False, **settings}
        return open_onedrive(
            OneDriveSettings(**fields),  # type: ignore[arg-type]
            tmp_path / (home or f"device-{count}"),
            emulator.environ,
        )

    return make
