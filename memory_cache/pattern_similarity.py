"""How alike two descriptions of patterns are, in words; and how well a pattern answers a query.

The measure is the share of common words, weighted: words that any instruction has ("always", "use", "before") tell
little. The threshold is calibrated on 90 pairs of descriptions (`python -m benchmarks.pattern_pairs`): at 0.55 it
takes 97 % of the rewordings for the same and 4 % of the near misses, which are made to be mistaken.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from memory_cache.search import text
from memory_cache.search.query import wanted_terms
from memory_cache.search.stemming import stem
from memory_cache.search.stopwords import STOP_WORDS

SAME_PATTERN = 0.55
"""From this similarity on, two descriptions mean one pattern."""

_COMMON_WEIGHT = 0.35
_COMMON_WORDS = """
use using used always every never prefer should when before after add write run make keep set put get
instead rather new old first last all each one
"""
_COMMON = frozenset(map(stem, _COMMON_WORDS.split()))


@dataclass(frozen=True, slots=True)
class Profile:
    """The words of a description. `numbers` are those with digits: different numbers are different patterns."""

    words: frozenset[str]
    numbers: frozenset[str]

    @classmethod
    def of(cls, description: str) -> "Profile":
        """The profile of a text."""
        found = [term for term in text.terms(description) if term.kind != "character"]
        words = {term.text for term in found if term.plain not in STOP_WORDS} or {term.text for term in found}
        return cls(frozenset(words), frozenset(word for word in words if any(map(str.isdigit, word))))


def similarity(a: Profile, b: Profile) -> float:
    """0 (nothing in common) to 1 (the same words)."""
    union = a.words | b.words
    if not union:
        return 0.0
    alike = sum(map(_weight, a.words & b.words)) / sum(map(_weight, union))
    differs = a.numbers and b.numbers and a.numbers != b.numbers
    return alike / 2 if differs else alike


def _weight(word: str) -> float:
    return _COMMON_WEIGHT if word in _COMMON else 1.0


def relevance(query: str, texts: Sequence[str]) -> list[float]:
    """For each text the share of the query's words that it holds, rare words counting more; any query is safe."""
    wanted = wanted_terms(query)
    held = [{term.text for term in text.terms(entry)} for entry in texts]
    weights: dict[str, float] = {}
    matches: list[set[str]] = [set() for _ in texts]
    for word, prefix in wanted:
        having = [
            number
            for number, words in enumerate(held)
            if word in words or (prefix and any(other.startswith(word) for other in words))
        ]
        weights[word] = math.log(1 + len(texts) / (1 + len(having))) + 0.1
        for number in having:
            matches[number].add(word)
    total = sum(weights.values())
    return [sum(weights[word] for word in found) / total if total else 0.0 for found in matches]
