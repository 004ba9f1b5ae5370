"""The planner, without any I/O: trees made from one tree by random changes come together again."""

import random
from dataclasses import dataclass, replace
from itertools import count, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.reconcile import (
    GONE,
    Action,
    Base,
    Create,
    DeleteLocal,
    DeleteRemote,
    Download,
    Drop,
    Gone,
    Local,
    Merge,
    Move,
    Nothing,
    Recreate,
    Remote,
    Update,
    reconcile,
)


@dataclass(frozen=True)
class Triple:
    """One file: what is known of it. The storage's content goes with its version."""

    base: Base | None = None
    local: Local | None = None
    remote: Remote | Gone | None = None
    there: str | None = None


Trees = dict[str, Triple]


class Model:
    """Carries actions out on plain data, as if every call succeeded."""

    def __init__(self, trees: Trees) -> None:
        self.trees = trees
        self.numbers = count()

    def plan(self) -> list[tuple[str, Action]]:
        found = [(key, reconcile(t.base, t.local, t.remote)) for key, t in sorted(self.trees.items())]
        return [(key, action) for key, action in found if not isinstance(action, Nothing)]

    def apply(self, key: str, action: Action) -> None:
        self.trees[key] = after = self._after(self.trees[key], action)
        if after == Triple():
            del self.trees[key]

    def _after(self, file: Triple, action: Action) -> Triple:
        remote = file.remote if isinstance(file.remote, Remote) else None
        match action:
            case Download():
                assert remote
                assert file.there
                return self._in_step(remote, file.there)
            case Move(path=path):
                assert file.base
                assert file.local
                return replace(file, base=replace(file.base, path=path), local=replace(file.local, path=path))
            case Create() | Update():
                assert file.local
                assert file.local.digest
                written = Remote(f"v{next(self.numbers)}", remote.path if remote else file.local.path)
                return self._in_step(written, file.local.digest)
            case Merge():
                assert remote
                assert file.there
                assert file.local
                assert file.local.digest
                united = "+".join(sorted({*file.there.split("+"), *file.local.digest.split("+")}))
                return Triple(
                    Base(remote.version, remote.path, file.there), Local(remote.path, united), remote, file.there
                )
            case Recreate():
                return Triple(None, file.local, None, None)
            case DeleteRemote(version=version):
                assert remote
                assert version == remote.version, "a delete of a version that its author has not seen"
                return Triple()
            case DeleteLocal() | Drop():
                return Triple()
        raise AssertionError(action)

    def _in_step(self, remote: Remote, digest: str) -> Triple:
        return Triple(Base(remote.version, remote.path, digest), Local(remote.path, digest), remote, digest)


def perturbed(seed: int, size: int) -> tuple[Trees, random.Random]:
    """Base, local and remote trees: one random tree, changed at random on both sides."""
    rng = random.Random(seed)
    trees: Trees = {}
    for number in range(size):
        path, digest = f"memories/{number}.md", f"t{number}"
        base = Base("v", path, digest)
        local = rng.choice(
            [Local(path, digest), Local(path, digest), Local(path, f"l{number}"), Local(path, None), None]
        )
        there, remote = digest, rng.choice([Remote("v", path), Remote("v", path), Remote("w", path), GONE, None])
        if remote == Remote("w", path):
            there = rng.choice([digest, f"r{number}"])
        if isinstance(remote, Remote) and rng.random() < 0.2:
            remote = replace(remote, path=f"memories/moved-{number}.md")
        trees[str(number)] = Triple(base, local, remote, there if isinstance(remote, Remote) else None)
    for number in range(rng.randrange(3)):
        trees[f"here{number}"] = Triple(None, Local(f"memories/here{number}.md", f"h{number}"))
        trees[f"there{number}"] = Triple(None, None, Remote("v", f"memories/there{number}.md"), f"e{number}")
        trees[f"both{number}"] = Triple(
            None, Local("memories/b.md", f"x{number}"), Remote("v", "memories/b.md"), rng.choice([f"x{number}", "y"])
        )
    return trees, rng


def run(trees: Trees, rng: random.Random) -> Trees:
    """Plan, shuffle, apply, until there is nothing to do."""
    model = Model(dict(trees))
    for _ in range(6):
        batch = model.plan()
        if not batch:
            return model.trees
        rng.shuffle(batch)
        for key, action in batch:
            model.apply(key, action)
    raise AssertionError(f"still something to do: {model.plan()}")


@given(st.integers(0, 10**9), st.integers(0, 12))
@settings(max_examples=400, deadline=None)
def test_plans_end_converge_and_lose_nothing(seed: int, size: int) -> None:
    before, rng = perturbed(seed, size)
    after = run(before, rng)
    for key, file in after.items():
        assert isinstance(file.remote, Remote), key
        assert file.base, key
        assert file.local, key
        assert file.base.path == file.local.path == file.remote.path, key
        assert file.base.digest == file.local.digest == file.there, key
        assert file.base.version == file.remote.version, key
    for key, file in before.items():
        survivors = set((after[key].there or "").split("+")) if key in after else set()
        base = file.base.digest if file.base else None
        if file.local and file.local.digest and file.local.digest != base:
            assert file.local.digest in survivors, f"{key}: what was written here is gone"
        if file.there and file.there != base:
            assert file.there in survivors, f"{key}: what was written there is gone"
        both_have_it = file.local is not None and file.local.digest is not None and isinstance(file.remote, Remote)
        if both_have_it:
            assert key in after, f"{key}: nobody deleted it"


@given(st.integers(0, 10**9))
@settings(max_examples=100, deadline=None)
def test_the_order_within_a_batch_does_not_matter(seed: int) -> None:
    before, _ = perturbed(seed, 8)

    def content(trees: Trees) -> dict[str, tuple[str, str | None]]:
        return {key: (file.local.path, file.there) for key, file in trees.items() if file.local}

    assert content(run(before, random.Random(1))) == content(run(before, random.Random(2)))


BASE = Base("v1", "p", "d1")
BASES = [None, BASE]
LOCALS = [None, Local("p", None), Local("p", "d1"), Local("p", "d2")]
REMOTES = [None, GONE, Remote("v1", "p"), Remote("v2", "p"), Remote("v1", "q"), Remote("v2", "q")]


@pytest.mark.parametrize(("base", "local", "remote"), list(product(BASES, LOCALS, REMOTES)))
def test_the_table_is_total_and_never_deletes_what_its_author_has_not_seen(
    base: Base | None, local: Local | None, remote: Remote | Gone | None
) -> None:
    action = reconcile(base, local, remote)
    if isinstance(action, DeleteRemote):
        assert base is not None
        assert isinstance(remote, Remote)
        assert remote.version == base.version == action.version
        assert local is None or local.digest is None
    if isinstance(action, DeleteLocal):
        assert base is not None
        assert local is not None
        assert local.digest == base.digest
        assert not isinstance(remote, Remote)
    if isinstance(action, Drop):
        assert local is None or local.digest is None
        assert not isinstance(remote, Remote)


@pytest.mark.parametrize(
    ("base", "local", "remote", "expected"),
    [
        (BASE, Local("p", "d2"), GONE, Recreate()),
        (BASE, Local("p", None), Remote("v2", "p"), Download()),
        (BASE, Local("p", "d2"), Remote("v2", "p"), Merge()),
        (BASE, Local("p", "d2"), Remote("v1", "q"), Move("q")),
        (None, Local("p", "d2"), None, Create("p")),
        (None, Local("p", "d2"), Remote("v1", "p"), Merge()),
        (BASE, Local("p", "d2"), Remote("v1", "p"), Update("v1")),
    ],
)
def test_an_edit_beats_a_delete_and_unknown_pasts_are_compared(
    base: Base | None, local: Local | None, remote: Remote | Gone | None, expected: Action
) -> None:
    assert reconcile(base, local, remote) == expected
