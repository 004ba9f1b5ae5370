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


def test_a_conflict_settled_on_one_device_is_open_where_another_text_stands() -> None:
    script = Script(
        "plain",
        devices=2,
        seed=198,
        steps=(
            Step("sync", 11, 3490874089),
            Step("use", 5, 813947685),
            Step("sync", 9, 2554331194),
            Step("use", 2, 1825981171),
            Step("sync", 7, 4181908186),
            Step("time", 8, 3100268512),
            Step("sync", 8, 2913915107),
            Step("use", 8, 115886202),
            Step("by_hand", 8, 95417817),
            Step("use", 0, 2572229823),
            Step("sync", 0, 2651255661),
            Step("use", 9, 1246249383),
            Step("use", 1, 905268355),
            Step("sync", 11, 420111025),
            Step("sync", 3, 823898737),
            Step("sync", 8, 2805335697),
            Step("sync", 9, 622088347),
            Step("use", 1, 546267152),
            Step("sync", 4, 4027388031),
            Step("by_hand", 3, 478542469),
            Step("use", 6, 4730532),
            Step("by_hand", 4, 2574006459),
            Step("sync", 8, 2509484680),
            Step("use", 0, 2902244844),
            Step("use", 5, 40938632),
            Step("by_hand", 1, 4017000812),
            Step("sync", 10, 2271283558),
            Step("use", 2, 265266978),
        ),
    )
    assert run(script).violation is None
