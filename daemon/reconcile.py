"""What to do with one file: a pure and total truth table over its three versions.

    base     what both sides held when they were last in step
    local    what this device holds
    remote   what the storage was last seen to hold

No clock, no bytes, no I/O: versions are compared for equality only. Two rules stand behind every row:
an edit beats a delete, and a delete removes only what its author has seen.
"""

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Base:
    """The last common state: the storage's version and path, and the digest of the bytes."""

    version: str
    path: str
    digest: str


@dataclass(frozen=True, slots=True)
class Local:
    """The file here. `digest` None: deleted here, and the storage may still have it."""

    path: str
    digest: str | None


@dataclass(frozen=True, slots=True)
class Remote:
    """The file as last observed in the storage."""

    version: str
    path: str


class Gone(Enum):
    """The storage had the file and does not show it any more."""

    GONE = "gone"


GONE = Gone.GONE


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do, as data. Carried out by `daemon.apply`."""


@dataclass(frozen=True, slots=True)
class Nothing(Action):
    """Both sides are in step."""


@dataclass(frozen=True, slots=True)
class Download(Action):
    """The storage has a version that this device does not have; nothing of ours is in its way."""


@dataclass(frozen=True, slots=True)
class Move(Action):
    """The same bytes stand at another path in the storage."""

    path: str


@dataclass(frozen=True, slots=True)
class Create(Action):
    """A file of this device that the storage does not have."""

    path: str


@dataclass(frozen=True, slots=True)
class Update(Action):
    """A change of this device over a version that the storage still has."""

    version: str


@dataclass(frozen=True, slots=True)
class Merge(Action):
    """Both sides have a version of their own."""


@dataclass(frozen=True, slots=True)
class DeleteLocal(Action):
    """Deleted elsewhere, unchanged here. To be confirmed with the storage first."""


@dataclass(frozen=True, slots=True)
class DeleteRemote(Action):
    """Deleted here, unchanged in the storage since we saw it."""

    version: str


@dataclass(frozen=True, slots=True)
class Recreate(Action):
    """Deleted elsewhere, changed here: the edit wins. To be confirmed with the storage first."""


@dataclass(frozen=True, slots=True)
class Drop(Action):
    """Gone on both sides: only our note of it is left."""


def reconcile(base: Base | None, local: Local | None, remote: Remote | Gone | None) -> Action:
    """The one action that brings the three versions closer. `remote` None: never seen in the storage."""
    if base is None:
        return _without_base(local, remote)
    if not isinstance(remote, Remote):
        return _remote_gone(base, local)
    if local is None or local.digest is None:
        if remote.version == base.version:
            return DeleteRemote(base.version)  # forgotten here, untouched there
        return Download()  # forgotten here, edited there: the edit comes back
    changed_here = local.digest != base.digest
    if remote.version != base.version:
        if changed_here:
            return Merge()  # edited on both sides
        return Download()  # edited there (perhaps moved, too)
    if remote.path != local.path:
        return Move(remote.path)  # only moved there; an edit here follows in the next step
    if changed_here:
        return Update(base.version)  # edited here
    return Nothing()  # in step


def _without_base(local: Local | None, remote: Remote | Gone | None) -> Action:
    if isinstance(remote, Remote):
        if local is not None and local.digest is not None:
            return Merge()  # both have one and nothing is known of their past: equal, or a conflict
        return Download()  # new there
    if local is not None and local.digest is not None:
        return Create(local.path)  # new here (or created, and gone again before we could note it)
    return Drop()  # nothing anywhere


def _remote_gone(base: Base, local: Local | None) -> Action:
    if local is None or local.digest is None:
        return Drop()  # gone on both sides
    if local.digest != base.digest:
        return Recreate()  # deleted there, edited here: the edit wins
    return DeleteLocal()  # deleted there, untouched here
