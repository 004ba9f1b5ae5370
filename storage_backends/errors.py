"""What can go wrong with a storage, as one tree that says who has to act.

StorageError
├── TransientError          the same call may succeed later, unchanged
│   ├── Throttled           the service asks for a pause; nothing is sent to this account until it ends
│   ├── Unreachable         no network, the root folder is missing or unmounted, the service is at fault
│   └── ItemBusy            one item is locked, a placeholder, or was not delivered whole
└── PermanentError          the same call fails again until somebody acts
    ├── NotFound            no such item
    ├── AlreadyExists       create-only write: something is there already
    ├── VersionMismatch     the item is no longer at the version the caller has seen
    ├── InvalidName         the storage refuses this path
    ├── CursorExpired       the cursor is dead; enumerate from the start
    ├── AccessDenied        no permission for this item or for the whole root
    ├── StorageFull         quota or disk is used up
    └── LoginRequired       a person has to log in

Backends raise these and nothing else; they never log and never retry (wrappers do that).
"""

from typing import ClassVar


class StorageError(Exception):
    """Base of all storage errors.

    Attributes:
        title: a few words for people, the same for every instance of a class.
        message: one sentence about this case; holds no secret and no memory text.
        hint: what to do next; may be empty.
    """

    title: ClassVar[str] = "Storage error"

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class TransientError(StorageError):
    """The same call may succeed later, unchanged."""

    title = "Storage not available right now"


class Throttled(TransientError):
    """The service asks for a pause. `retry_after` is in seconds; None when the service gave none."""

    title = "The storage asks for a pause"

    def __init__(self, message: str, hint: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(message, hint)
        self.retry_after = retry_after


class Unreachable(TransientError):
    """No network, the root folder is missing or unmounted, or the service is at fault."""

    title = "Storage unreachable"


class ItemBusy(TransientError):
    """One item is locked, a placeholder that is not downloaded, or was not delivered whole."""

    title = "File is busy"


class PermanentError(StorageError):
    """The same call fails again until somebody acts."""

    title = "Storage refused"


class NotFound(PermanentError):
    """No such item."""

    title = "File not found"


class AlreadyExists(PermanentError):
    """A create-only write found something at that path."""

    title = "File exists already"


class VersionMismatch(PermanentError):
    """The item is no longer at the version that the caller has seen."""

    title = "File was changed meanwhile"


class InvalidName(PermanentError):
    """The storage refuses this path, or the path would leave the root."""

    title = "File name not allowed"


class CursorExpired(PermanentError):
    """The cursor is dead: enumerate from the start."""

    title = "Change cursor expired"


class AccessDenied(PermanentError):
    """No permission for this item or for the whole root."""

    title = "Access denied"


class StorageFull(PermanentError):
    """Quota or disk is used up."""

    title = "Storage is full"


class LoginRequired(PermanentError):
    """A person has to log in; `claude-memory login` does that."""

    title = "Login needed"
