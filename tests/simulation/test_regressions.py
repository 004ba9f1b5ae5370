"""Scripts that once failed, as short as they could be made. Each is named after what went wrong."""

from tests.simulation.script import Script, Step
from tests.simulation.world import run


def test_a_copy_that_settles_a_conflict_found_in_the_same_round_leaves_none() -> None:
    script = Script(
        "mounted folder",
        devices=4,
        seed=781,
        steps=(
            Step("sync", 3, 511009187),
            Step("use", 11, 978515386),
            Step("sync", 9, 1830732676),
            Step("sync", 10, 273916973),
        ),
    )
    assert run(script).violation is None
