"""Errors of the memory itself, each with a title, a message and a hint for people and for Claude.

MemoryCacheError
├── InvalidInput            an argument cannot be used; the hint says what would be
├── UnknownMemory           no memory has this id
├── AmbiguousId             several memories begin with this prefix; the candidates are named
├── EditedMeanwhile         the memory changed between reading and writing
├── SettingsError           config.toml or an environment variable is wrong
└── CacheUnusable           the SQLite file cannot be used (newer schema, inside a synced folder, disk full …)
    └── CacheDamaged        it is malformed; the next opening makes a new one and salvages the old
"""

from typing import ClassVar


class MemoryCacheError(Exception):
    """Base of all errors of this room. `message` never holds memory text beyond titles."""

    title: ClassVar[str] = "Memory error"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InvalidInput(MemoryCacheError):
    """An argument cannot be used."""

    title = "Invalid input"


class UnknownMemory(MemoryCacheError):
    """No memory has this id."""

    title = "No such memory"


class AmbiguousId(MemoryCacheError):
    """Several memories begin with this prefix."""

    title = "Ambiguous id"


class EditedMeanwhile(MemoryCacheError):
    """The memory changed between reading and writing."""

    title = "Changed meanwhile"


class SettingsError(MemoryCacheError):
    """config.toml or an environment variable is wrong."""

    title = "Wrong setting"


class CacheUnusable(MemoryCacheError):
    """The SQLite file cannot be used."""

    title = "Cache cannot be used"


class CacheDamaged(CacheUnusable):
    """The SQLite file is malformed or no SQLite file at all."""

    title = "Cache is damaged"
