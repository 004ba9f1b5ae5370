"""Microsoft Graph for drives, emulated over real HTTP: what the OneDrive backend is tested against.

Two clients that are not ours, rclone and onedrive, work with it too (`real_clients.sh`), so that it is
not merely what our own client expects.
"""

from tests.graph_emulator.clock import Clock
from tests.graph_emulator.emulator import DRIVE_IDS, TOKEN, Emulator
from tests.graph_emulator.faults import Chaos, Fault, lost
from tests.graph_emulator.switches import Account, Switches, Tombstone

__all__ = ["DRIVE_IDS", "TOKEN", "Account", "Chaos", "Clock", "Emulator", "Fault", "Switches", "Tombstone", "lost"]
