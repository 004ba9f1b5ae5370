"""The sync engine: one round brings this device and the storage in step.

    observe     read the changes since the cursor into the cache                     (round_observe)
    plan        compare the three trees: what is not in step, and what to do         (round_plan, reconcile)
    pull        read, merge, record; a merge is an ordinary local change             (round_pull, apply, merge)
    push        create and update on the condition that nobody was faster            (round_push)
    delete      on both sides, through one place with a brake                        (round_delete)
    tidy        adopt hand-written files, take in conflict copies, keep index.json   (adoption, index_json)

Plan to tidy are repeated while they find something to do, a few times at most: a lost race is
read, merged and written again within the round. Nothing is remembered between two steps that the cache
does not hold, so a round may be killed at any moment and the next one goes on.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from daemon import (
    adoption,
    apply,
    heartbeat,
    index_json,
    round_delete,
    round_observe,
    round_plan,
    round_pull,
    round_push,
)
from daemon.reconcile import Create, DeleteLocal, DeleteRemote, Download, Drop, Merge, Move, Recreate, Update
from daemon.round_context import Device, MeteredStorage, PastVersions, Round
from daemon.round_plan import Plan
from daemon.round_report import RoundReport
from memory_cache.clock import utc_now
from memory_cache.database import Database
from memory_cache.models import FileKind
from storage_backends.base import StorageBackend

_PASSES = 6


class SyncEngine:
    """Syncs one cache with one storage. One round at a time; see `round`.

    Args:
        backend: entered by the caller, wrapped with retry and limits by the caller.
        now: the wall clock. It dates things for people and paces rare work; it never decides what is lost.
        full_enumeration: how old the last full enumeration may get.
    """

    def __init__(
        self,
        database: Database,
        backend: StorageBackend,
        device: Device,
        *,
        now: Callable[[], datetime] = utc_now,
        full_enumeration: timedelta = timedelta(hours=24),
    ) -> None:
        self._database = database
        self._backend = backend
        self._device = device
        self._now = now
        self._full_after = full_enumeration
        self._past = PastVersions()
        self._waiting = adoption.Waiting()
        self._first = True
        self._active = False
        self._pending = 0
        self._index_may_lag = True
        self._in_step_at: int | None = None  # the state of the cache in which nothing was left to do

    async def round(self, *, full: bool = False, confirm_deletes: bool = False) -> RoundReport:
        """Bring both sides in step as far as possible right now.

        One file's trouble (busy, refused, no permission, storage full) is reported and does not stop the others.

        Args:
            full: enumerate the whole storage instead of reading what changed since the cursor.
            confirm_deletes: carry out deletes that are held, and believe an empty storage.

        Raises: StorageEmptied; Unreachable, Throttled, LoginRequired, AccessDenied of the storage as a whole.
        """
        current = Round(
            database=self._database,
            storage=MeteredStorage(self._backend),
            device=self._device,
            now=self._now,
            past=self._past,
            confirm_deletes=confirm_deletes,
        )
        await round_observe.observe(current, full=full, full_after=self._full_after)
        await self._beat()
        if await self._database.data_version() != self._in_step_at:
            await self._bring_in_step(current)
        current.report.requests = current.storage.requests
        self._pending = current.report.pending
        return current.report

    async def _bring_in_step(self, current: Round) -> None:
        self._in_step_at = None
        for _ in range(_PASSES):
            state = await self._database.data_version()
            plan = await self._plan(current)
            if plan.steps:
                await self._carry_out(current, plan)
            if not await self._tidy(current, changed=bool(plan.steps)) and not plan.steps:
                break
        else:
            await self._plan(current)
            return
        if not (current.failed or current.report.pending or current.report.errors) and current.report.again_in is None:
            self._in_step_at = state

    async def _beat(self) -> None:
        now = self._now()
        await self._database.write(
            lambda connection: heartbeat.beat(connection, self._device, now, pending=self._pending, active=self._active)
        )
        self._active = False

    async def _plan(self, current: Round) -> Plan:
        case_sensitive = self._backend.capabilities.case_sensitive
        plan = await self._database.read(
            lambda connection: round_plan.make_plan(connection, self._device.path, case_sensitive=case_sensitive)
        )
        current.report.pending = sum(step.kind is not FileKind.DEVICE for step in plan.steps)
        steps = tuple(step for step in plan.steps if step.key not in current.failed)
        if current.uploads_paused:
            steps = tuple(step for step in steps if not isinstance(step.action, (Create, Update)))
        return replace(plan, steps=steps)

    async def _carry_out(self, current: Round, plan: Plan) -> None:
        self._active = self._active or any(step.kind is not FileKind.DEVICE for step in plan.steps)
        moves = plan.of(Move)
        if moves:
            await self._database.write(lambda connection: [apply.move(connection, step) for step in moves])
        await round_pull.pull(current, plan.of(Download, Merge), plan)
        await round_delete.confirm(current, plan.of(Recreate, Drop))
        await round_push.push(current, plan.of(Create, Update))
        await round_delete.carry_out(current, plan.of(DeleteLocal, DeleteRemote))

    async def _tidy(self, current: Round, *, changed: bool) -> bool:
        """Whether there is something new to upload."""
        now = self._now()
        first, self._first = self._first, False
        adopted, later = await self._database.write(
            lambda connection: adoption.adopt_files(connection, self._waiting, now)
        )
        current.report.again_in = later
        self._index_may_lag = self._index_may_lag or changed
        taken = 0
        if first or current.arrived:
            arrived, current.arrived = current.arrived, set()
            taken, conflicts = await self._database.write(
                lambda connection: adoption.take_in_copies(connection, None if first else arrived, self._device, now)
            )
            current.report.merged += taken
            current.report.conflicts += conflicts
        if adopted or taken or changed or not self._index_may_lag:
            return bool(adopted or taken)
        return await self._keep_index(current, now)

    async def _keep_index(self, current: Round, now: datetime) -> bool:
        wait = await self._database.write(lambda connection: index_json.refresh(connection, now))
        self._index_may_lag = wait is not None
        if wait:
            current.report.again_in = min(wait, current.report.again_in or wait)
        return wait == 0.0
