"""Two real daemons over OneDrive: notifications carry an edit from one cache to the other."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_cache.models import Change
from tests.daemon.processes import Device, eventually
from tests.graph_emulator import Account, Emulator


@pytest.fixture
def account() -> Account:
    return Account.PERSONAL


@pytest.fixture
def devices(emulator: Emulator, tmp_path: Path) -> Iterator[tuple[Device, Device]]:
    environ = {
        **emulator.environ,
        "CLAUDE_MEMORY_STORAGE_BACKEND": "onedrive",
        # Polling would hide it if nothing was pushed.
        "CLAUDE_MEMORY_SYNC_POLL_SECONDS": "3600",
        "CLAUDE_MEMORY_SYNC_IDLE_POLL_SECONDS": "3600",
    }
    one, other = Device(tmp_path, "a", **environ), Device(tmp_path, "b", **environ)
    with one.daemon(), other.daemon():
        yield one, other


def test_an_edit_on_one_machine_reaches_the_other_by_notification_alone(
    emulator: Emulator, devices: tuple[Device, Device]
) -> None:
    one, other = devices
    eventually(lambda: emulator.push.listeners == 2, "both daemons listen")
    memory_id = one.remember("The database runs on port 5432")
    eventually(lambda: other.titles() == ["The database runs on port 5432"], "B has it")
    other.cache(lambda cache: cache.update(memory_id, Change(content="The database runs on port 6432")))
    eventually(lambda: one.titles() == ["The database runs on port 6432"], "A has the edit")
    emulator.push.drop_all()
    eventually(lambda: emulator.push.listeners == 2, "both listen again")
    one.cache(lambda cache: cache.forget(memory_id))
    eventually(lambda: other.titles() == [], "B forgets it too")
