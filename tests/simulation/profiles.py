"""Which world a run takes place in: the store's traits, what goes wrong, and how often."""

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

_EVERYDAY = {"use": 14, "by_hand": 4, "sync": 14, "time": 3}


@dataclass(frozen=True)
class Profile:
    """`steps`: what a script is drawn from, with weights; `weather`: what may go wrong when it does.

    `replicas`: every device has a folder of its own, and a sync client keeps it in step with the cloud.
    """

    name: str
    traits: dict[str, Any] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=lambda: dict(_EVERYDAY))
    weather: dict[str, float] = field(default_factory=dict)
    kills: float = 0.0
    replicas: bool = False
    clocks: bool = False


_FOLDER = {"stable_ids": False, "atomic_conditions": False}
_PROFILES = (
    Profile("plain"),
    Profile("collisions", steps={"use": 4, "update": 16, "by_hand": 2, "sync": 14}),
    Profile("deletes", steps={**_EVERYDAY, "forget": 10, "sync": 20}),
    Profile("brake", steps={"use": 6, "sync": 14, "many": 3, "mass_delete": 4}),
    Profile("folder", traits=_FOLDER),
    Profile("client", traits=_FOLDER, replicas=True, steps={**_EVERYDAY, "client": 14}, kills=0.2),
    Profile(
        "feed",
        traits={"page_size": 4},
        steps={**_EVERYDAY, "weather": 4, "full": 6},
        weather={
            "late": 0.4, "repeated": 0.5, "shuffled": 0.7, "stale_listing": 0.3, "stale_read": 0.3,
            "lost_tombstone": 0.4, "lost_entry": 0.3,
        },
    ),
    Profile("cursor", traits={"page_size": 3}, steps={**_EVERYDAY, "expire": 6, "full": 3}, kills=0.2),
    Profile(
        "faults",
        steps={**_EVERYDAY, "weather": 8},
        weather={
            "unreachable": 0.15, "lost_answer": 0.3, "busy": 0.2, "denied": 0.1, "full": 0.2, "throttled": 0.05,
        },
    ),
    Profile("kills", kills=0.7, weather={"lost_answer": 0.3}, steps={**_EVERYDAY, "weather": 2, "twins": 4}),
    Profile("caches", steps={**_EVERYDAY, "cache": 4, "snapshot": 3}, kills=0.2),
    Profile("mounts", steps={**_EVERYDAY, "mount": 5}, kills=0.1),
    Profile("mounted folder", traits=_FOLDER, steps={**_EVERYDAY, "mount": 5}),
    Profile("clocks", steps={**_EVERYDAY, "clock": 6}, clocks=True),
    Profile(
        "everything",
        traits={"page_size": 5},
        steps={
            **_EVERYDAY, "weather": 5, "cache": 1, "snapshot": 1, "mount": 1, "clock": 2, "expire": 1, "full": 1,
            "many": 1, "mass_delete": 1,
        },
        weather={
            "unreachable": 0.1, "lost_answer": 0.2, "busy": 0.1, "denied": 0.1, "full": 0.1, "throttled": 0.03,
            "late": 0.2, "repeated": 0.3, "shuffled": 0.3, "stale_listing": 0.2, "stale_read": 0.2,
            "lost_tombstone": 0.2, "lost_entry": 0.2,
        },
        kills=0.3,
        clocks=True,
    ),
)  # fmt: skip
PROFILES = MappingProxyType({profile.name: profile for profile in _PROFILES})
