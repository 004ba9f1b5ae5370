"""Exports that are too large for an answer: files in the home, readable by this user only."""

import os
import secrets
from datetime import datetime
from pathlib import Path

import anyio

from memory_cache.home import Home


async def write(home: Home, text: str, suffix: str, now: datetime) -> Path:
    """Write an export; returns its absolute path. Raises: OSError."""
    name = f"memories-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}.{suffix}"
    path = (home.root / "exports" / name).absolute()
    await anyio.to_thread.run_sync(_write_private, path, text)
    return path


def _write_private(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(text.encode("utf-8", "replace"))
