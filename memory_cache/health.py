"""What the daemon last reported about its work, and who this device is; every process can read it in the cache."""

import platform
import sqlite3
import uuid

from pydantic import ValidationError

from memory_cache import meta
from memory_cache.models import SyncHealth

_HEALTH, _DEVICE_ID, _DEVICE_NAME = "health", "device.id", "device.name"


def report(connection: sqlite3.Connection, health: SyncHealth) -> None:
    """Store it; the last report counts."""
    meta.put(connection, _HEALTH, health.model_dump_json())


def read(connection: sqlite3.Connection) -> SyncHealth:
    """The last report; `never` when there was none, or when another version of this program wrote it."""
    stored = meta.get(connection, _HEALTH)
    try:
        return SyncHealth() if stored is None else SyncHealth.model_validate_json(stored)
    except ValidationError:
        return SyncHealth()


def device(connection: sqlite3.Connection) -> tuple[str, str]:
    """Id and name of this device; empty before `name_device`."""
    return meta.get(connection, _DEVICE_ID) or "", meta.get(connection, _DEVICE_NAME) or ""


def name_device(connection: sqlite3.Connection, name: str | None) -> tuple[str, str]:
    """Give this device its id, once, and its name: the given one, else the host's. Returns both."""
    device_id = meta.get(connection, _DEVICE_ID)
    if device_id is None:
        device_id = str(uuid.uuid4())
        meta.put(connection, _DEVICE_ID, device_id)
    chosen = name or platform.node() or "device"
    if meta.get(connection, _DEVICE_NAME) != chosen:
        meta.put(connection, _DEVICE_NAME, chosen)
    return device_id, chosen
