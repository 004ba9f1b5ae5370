"""What one sync round did, as data."""

from dataclasses import dataclass, field

from memory_cache.models import FileKind

# Device notes and the old server's index are bookkeeping: they are never counted as anybody's change.
_UNCOUNTED = frozenset({FileKind.DEVICE, FileKind.INDEX})


@dataclass(frozen=True, slots=True)
class ItemError:
    """One file that could not be brought in step; the others were. `path` is relative to the storage's root."""

    path: str
    title: str
    message: str
    hint: str = ""


@dataclass(slots=True)
class RoundReport:
    """What one round did.

    Attributes:
        merged: files changed on both sides; `conflicts` of them keep a losing version as an open conflict.
        deleted: files deleted here or in the storage.
        held: deletes that wait for the user's word.
        requests: calls to the storage.
        pending: files that are still not in step.
        again_in: seconds after which a further round has something to do; None when only a change brings work.
    """

    uploaded: int = 0
    downloaded: int = 0
    merged: int = 0
    conflicts: int = 0
    deleted: int = 0
    held: int = 0
    requests: int = 0
    pending: int = 0
    again_in: float | None = None
    errors: list[ItemError] = field(default_factory=list)

    def count_upload(self, kind: FileKind) -> None:
        """One file went to the storage."""
        self.uploaded += kind not in _UNCOUNTED

    def count_download(self, kind: FileKind) -> None:
        """One file came from the storage."""
        self.downloaded += kind not in _UNCOUNTED

    def count_delete(self, kind: FileKind) -> None:
        """One file was deleted on the side that still had it."""
        self.deleted += kind not in _UNCOUNTED

    @property
    def quiet(self) -> bool:
        """Nothing that a person would call a change was carried out."""
        return not (self.uploaded or self.downloaded or self.merged or self.deleted)
