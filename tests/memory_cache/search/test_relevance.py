"""The arithmetic of many candidates at once equals that of one by one."""

import random

import numpy as np
import pytest

from memory_cache.search import vectors
from memory_cache.search.relevance import Pool


def pool_of(terms: list[set[int]]) -> Pool:
    nothing = np.zeros(0)
    return Pool(
        file_ids=np.arange(len(terms)),
        lengths=nothing.astype(np.float32),
        terms=np.array([term for each in terms for term in each], np.uint32),
        weights=nothing.astype(np.uint8),
        term_starts=np.cumsum([0, *map(len, terms)]),
        pieces=nothing.astype(np.uint16),
        piece_starts=nothing.astype(np.int64),
    )


@pytest.mark.parametrize("seed", range(20))
def test_twins_are_those_that_share_nine_tenths_of_their_terms(seed: int) -> None:
    chance = random.Random(seed)
    terms: list[set[int]] = [set()]
    for _ in range(12):
        base = set(chance.choice(terms)) or {chance.getrandbits(32) for _ in range(chance.randint(0, 150))}
        changed = set(chance.sample(sorted(base), len(base) * chance.randint(0, 12) // 100))
        terms.append(base - changed | {chance.getrandbits(32) for _ in range(chance.randint(0, 8))})
    twins = pool_of(terms).twins(range(len(terms)))
    for one, ours in enumerate(terms):
        for other, theirs in enumerate(terms):
            shared = len(ours & theirs)
            assert twins[one, other] == (one != other and 0 < shared >= 0.9 * len(ours | theirs))


@pytest.mark.parametrize("wanted", [1, 50, 999, 1000, 2000])
def test_the_lowest_counts_are_found_with_their_ties(wanted: int) -> None:
    counts = np.random.default_rng(wanted).integers(90, 160, 1000).astype(np.uint16)
    border = np.sort(counts)[min(wanted, len(counts)) - 1]
    assert vectors._lowest(counts, wanted).tolist() == np.flatnonzero(counts <= border).tolist()


def test_distances_are_the_bits_that_differ() -> None:
    codes = np.random.default_rng(3).integers(0, 2**63, (4, 40), dtype=np.uint64)
    expected = [
        sum((int(ours) ^ int(code)).bit_count() for ours, code in zip(column, codes[:, 0], strict=True))
        for column in codes.T
    ]
    assert vectors._distances(codes, codes[:, 0]).tolist() == expected
