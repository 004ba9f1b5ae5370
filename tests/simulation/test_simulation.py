"""The guarantees of sync, under some hundred seeds; `make simulate` runs more."""

import pytest

from tests.simulation.mutants import MUTANTS, mutated
from tests.simulation.profiles import PROFILES
from tests.simulation.script import Script, Step, draw
from tests.simulation.shrink import shrunk
from tests.simulation.world import run

SEEDS = 18


@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_is_lost_and_everybody_agrees(profile: str) -> None:
    for seed in range(SEEDS if profile != "brake" else SEEDS // 3):  # many memories: slow
        violation = run(draw(profile, seed)).violation
        assert violation is None, f"python -m tests.simulation --profile '{profile}' --seeds {seed} --shrink"


def test_one_seed_has_one_trace() -> None:
    for profile in ("everything", "client"):
        assert run(draw(profile, 3)).trace == run(draw(profile, 3)).trace


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_broken_engine_is_found_out_within_twenty_seeds(mutant: str) -> None:
    with mutated(mutant) as profile:
        assert any(run(draw(profile, seed)).violation for seed in range(20))


def test_a_failing_script_shrinks_to_the_few_steps_it_takes() -> None:
    with mutated("losers thrown away"):
        failing = next(script for seed in range(20) if run(script := draw("collisions", seed)).violation)
        short = shrunk(failing)
        assert len(short.steps) <= 12
        assert run(short).violation
    assert run(short).violation is None


def test_a_script_printed_as_source_is_the_same_script() -> None:
    script = draw("plain", 1)
    assert eval(script.source(), {"Script": Script, "Step": Step}) == script  # noqa: S307 - our own text
