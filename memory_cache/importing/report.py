"""What an import did, or with a dry run would do."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Done:
    """A memory, document, pattern or conflict that was stored; `type` says which of these."""

    type: str
    id: str
    title: str
    where: str

    def as_json(self) -> dict[str, str]:
        """For programs."""
        return {"type": self.type, "id": self.id, "title": self.title, "where": self.where}


@dataclass(frozen=True, slots=True)
class Left:
    """What was not stored, or not whole, and why."""

    where: str
    reason: str

    def as_json(self) -> dict[str, str]:
        """For programs."""
        return {"where": self.where, "reason": self.reason}


@dataclass(slots=True)
class Report:
    """What became of everything in the source.

    Attributes:
        imported: what is new here; `updated`: what changed in the source since an earlier import.
        unchanged: how many are here as the source has them.
        skipped: what was not stored; `failures` counts those among them that could not be.
        remarks: what was stored with something left out, or should be looked at.
        plain_names: names of projects that nothing explains, and how many memories are filed under each.
    """

    kind: str
    source: str
    dry_run: bool
    imported: list[Done] = field(default_factory=list)
    updated: list[Done] = field(default_factory=list)
    unchanged: int = 0
    skipped: list[Left] = field(default_factory=list)
    failures: int = 0
    remarks: list[Left] = field(default_factory=list)
    plain_names: Counter[str] = field(default_factory=Counter)

    @property
    def seen(self) -> int:
        """How many records the source had."""
        return len(self.imported) + len(self.updated) + self.unchanged + len(self.skipped)

    @property
    def nothing_but_failures(self) -> bool:
        """There was something to import, and none of it could be."""
        return self.failures > 0 and not self.imported and not self.updated and not self.unchanged

    def as_json(self) -> Mapping[str, Any]:
        """For programs."""
        return {
            "source": self.source,
            "kind": self.kind,
            "dryRun": self.dry_run,
            "imported": [done.as_json() for done in self.imported],
            "updated": [done.as_json() for done in self.updated],
            "unchanged": self.unchanged,
            "skipped": [left.as_json() for left in self.skipped],
            "remarks": [left.as_json() for left in self.remarks],
            "plainProjectNames": dict(self.plain_names),
        }
