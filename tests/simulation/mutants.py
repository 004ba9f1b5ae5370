"""Engines broken on purpose, each in one place: a simulation that does not find them out proves nothing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from daemon import apply, round_delete, round_observe, round_plan, round_pull
from daemon.merge import Merged, merge, rank
from daemon.reconcile import Action, DeleteLocal, Download, Recreate, reconcile
from daemon.round_context import MeteredStorage
from memory_cache.models import FileKind
from storage_backends.base import Item

_update, _delete = MeteredStorage.update, MeteredStorage.delete


def _last_writer_wins(kind: FileKind, base: bytes | None, a: bytes, b: bytes) -> Merged:
    return Merged(max(a, b, key=rank))


def _no_base(kind: FileKind, base: bytes | None, a: bytes, b: bytes) -> Merged:
    return Merged(merge(kind, None, a, b).data)


def _remote_wins(kind: FileKind, base: bytes | None, mine: bytes, theirs: bytes) -> Merged:
    return Merged(theirs)


def _without_base(base: Any, local: Any, remote: Any) -> Action:
    return reconcile(None, local, remote)


def _delete_beats_edit(base: Any, local: Any, remote: Any) -> Action:
    action = reconcile(base, local, remote)
    return DeleteLocal() if isinstance(action, Recreate) else action


def _never_comes_back(base: Any, local: Any, remote: Any) -> Action:
    action = reconcile(base, local, remote)
    deleted_here = base is not None and (local is None or local.digest is None)
    return round_plan.DeleteRemote(remote.version) if deleted_here and isinstance(action, Download) else action


async def _always_missing(current: Any, item_id: str) -> bool:
    return True


async def _update_anyway(self: MeteredStorage, item_id: str, data: bytes, version: str) -> Item:
    return await _update(self, item_id, data, (await self.stat(item_id)).version)


async def _delete_anyway(self: MeteredStorage, item_id: str, version: str) -> None:
    await _delete(self, item_id, (await self.stat(item_id)).version)


def _nothing(*arguments: Any, **named: Any) -> None:
    return None


def _never(*arguments: Any, **named: Any) -> bool:
    return False


def _always(*arguments: Any, **named: Any) -> bool:
    return True


# name: (the profile that has to find it out, what is broken, how)
MUTANTS: dict[str, tuple[str, list[tuple[Any, str, Callable[..., Any]]]]] = {
    "last writer wins": ("collisions", [(apply, "merge", _last_writer_wins)]),
    "merge without base": ("collisions", [(apply, "merge", _no_base)]),
    "the storage wins": ("collisions", [(apply, "merge", _remote_wins)]),
    "plan without base": ("deletes", [(round_plan, "reconcile", _without_base)]),
    "delete beats edit": ("deletes", [(round_plan, "reconcile", _delete_beats_edit), (apply, "still_due", _always)]),
    "a delete of what its author has not seen": (
        "deletes",
        [(round_plan, "reconcile", _never_comes_back), (apply, "still_due", _always)],
    ),
    "losers thrown away": ("collisions", [(apply, "keep_loser", _nothing)]),
    "update whatever is there": ("collisions", [(MeteredStorage, "update", _update_anyway)]),
    "delete whatever is there": ("deletes", [(MeteredStorage, "delete", _delete_anyway)]),
    "delete on missing": (
        "feed",
        [(round_pull, "missing", _always_missing), (round_delete, "missing", _always_missing)],
    ),
    "believe an empty store": ("mounts", [(round_observe, "_refuse_emptied", _nothing)]),
    "no brake": ("brake", [(round_delete, "held", _never)]),
}


@contextmanager
def mutated(name: str) -> Iterator[str]:
    """The engine is broken within; gives the profile that has to find it out."""
    profile, changes = MUTANTS[name]
    originals = [(owner, attribute, getattr(owner, attribute)) for owner, attribute, _ in changes]
    try:
        for owner, attribute, replacement in changes:
            setattr(owner, attribute, replacement)
        yield profile
    finally:
        for owner, attribute, original in originals:
            setattr(owner, attribute, original)
