"""Errors of the daemon, each with a title, a message and a hint for people.

DaemonError
└── StorageEmptied          the storage shows nothing of what it held: nothing is written or deleted
"""

from typing import ClassVar


class DaemonError(Exception):
    """Base of all errors of this room. `message` never holds memory text."""

    title: ClassVar[str] = "Daemon error"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class StorageEmptied(DaemonError):
    """The storage answers and is empty, although this device knows files in it, its own note among them."""

    title = "Storage is suddenly empty"
