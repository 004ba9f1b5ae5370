"""From parts of relevance to one score, and from scores to an answer. Pure; docs/recall.md has the reasons."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from memory_cache.search.dates import NamedDate
from memory_cache.search.embedder import Weights

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

WORDS_ALONE = Weights(words=1.0, meaning=0.0, likeness=0.0, least_meaning=2.0)
WITHOUT_MEANING = Weights(words=0.4, meaning=0.0, likeness=0.6, least_meaning=2.0)

_NAMED_DATE = 0.2  # added
_PRIORITY = {"high": 1.1, "normal": 1.0, "low": 0.9}  # factors, as those below
_SAME_PROJECT = 1.05
_RECENCY, _RECENCY_DAYS = 0.08, 90.0
_DUPLICATE = 0.75  # for each better hit that says nearly the same
_LOOKED_BEYOND = 5
_LEAST_SHARE = 0.1  # of the best score
_LEAST_CONTEXT = 0.2  # of words, for a memory that holds none itself but stands beside one that does


@dataclass(frozen=True, slots=True)
class Facts:
    """What ranking takes into account of a memory beside its text."""

    file_id: int
    created: datetime
    updated: datetime
    priority: str
    project_key: str | None


@dataclass(frozen=True, slots=True)
class Measured:
    """A match with the parts of its relevance, and their sum as weighed."""

    facts: Facts
    words: float
    meaning: float
    likeness: float
    relevance: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its score; `factors` names what lifted or lowered it."""

    measured: Measured
    score: float
    factors: tuple[tuple[str, float], ...]
    duplicates: int = 0

    @property
    def file_id(self) -> int:
        return self.measured.facts.file_id

    def why(self, weights: Weights, note: str = "") -> str:
        """The score in words and numbers. `note`: what else held for all."""
        measured = self.measured
        parts = [f"words {measured.words:.2f}×{weights.words:g}"]
        if weights.likeness:
            parts.append(f"likeness {measured.likeness:.2f}×{weights.likeness:g}")
        if weights.meaning:
            parts.append(f"meaning {measured.meaning:.2f}×{weights.meaning:g}")
        parts.extend(f"{name} {_signed(name, value)}" for name, value in self.factors)
        if self.duplicates:
            parts.append(f"says what {self.duplicates} better hits say ×{_DUPLICATE**self.duplicates:.2f}")
        return f"{self.score:.3f} = " + ", ".join(parts) + (f"; {note}" if note else "")


def _signed(name: str, value: float) -> str:
    return f"+{value:g}" if name == _DATE_NAME else f"×{value:.2f}"


_DATE_NAME = "date"


def relevance(words: "Floats", meaning: "Floats", likeness: "Floats", weights: Weights) -> "Floats":
    """The parts as one number per candidate, before anything but the text counts."""
    total: Floats = weights.words * words + weights.meaning * meaning + weights.likeness * likeness
    return total


def is_match(
    words: "Floats", meaning: "Floats", own_terms: "npt.NDArray[np.int64]", weights: Weights
) -> "npt.NDArray[np.bool_]":
    """Which candidates answer the query at all; priority, recency and project have no say in it."""
    beside = (words >= _LEAST_CONTEXT) & (meaning >= weights.least_meaning / 2)
    return (own_terms > 0) | (meaning >= weights.least_meaning) | beside


def rank(
    candidates: Sequence[Measured],
    *,
    now: datetime,
    project_key: str | None,
    dates: Sequence[NamedDate],
) -> list[Ranked]:
    """The matches, best first, without those that are far behind the best."""
    ranked = [_ranked(each, now, project_key, dates) for each in candidates]
    ranked.sort(key=lambda each: (-each.score, -each.measured.facts.updated.timestamp(), each.file_id))
    least = ranked[0].score * _LEAST_SHARE if ranked else 0.0
    return [each for each in ranked if each.score >= least]


def _ranked(measured: Measured, now: datetime, project_key: str | None, dates: Sequence[NamedDate]) -> Ranked:
    score = measured.relevance
    facts = measured.facts
    factors: list[tuple[str, float]] = []
    if any(date.matches(facts.created) or date.matches(facts.updated) for date in dates):
        score += _NAMED_DATE
        factors.append((_DATE_NAME, _NAMED_DATE))
    multipliers = [
        (f"{facts.priority} priority", _PRIORITY.get(facts.priority, 1.0)),
        ("recency", _recency(facts, now)),
    ]
    if project_key is not None and facts.project_key == project_key:
        multipliers.append(("this project", _SAME_PROJECT))
    for name, factor in multipliers:
        score *= factor
        if abs(factor - 1.0) > 0.005:
            factors.append((name, factor))
    return Ranked(measured, score, tuple(factors))


def _recency(facts: Facts, now: datetime) -> float:
    days = max(0.0, (now - facts.updated).total_seconds() / 86400)
    return 1.0 + _RECENCY * math.exp(-days / _RECENCY_DAYS)


def spread(
    ranked: Sequence[Ranked], limit: int, twins: "Callable[[Sequence[int]], npt.NDArray[np.bool_]]"
) -> list[Ranked]:
    """The best `limit`, where a memory that says what better ones say already is lowered for each of them.

    Args:
        twins: which of these memories, by file id, say nearly the same as which others: a row and a column for each.
    """
    looked_at = ranked[: limit * 2 + _LOOKED_BEYOND]
    same = twins([each.file_id for each in looked_at])
    if not same.any():
        return list(looked_at[:limit])
    waiting = list(enumerate(looked_at))
    chosen: list[Ranked] = []
    while waiting and len(chosen) < limit:
        place, best = waiting.pop(0)
        chosen.append(best)
        alike = same[place].tolist()
        if any(alike[other] for other, _ in waiting):
            waiting = [
                (other, replace(each, score=each.score * _DUPLICATE, duplicates=each.duplicates + 1))
                if alike[other]
                else (other, each)
                for other, each in waiting
            ]
            waiting.sort(key=lambda each: -each[1].score)
    return chosen
