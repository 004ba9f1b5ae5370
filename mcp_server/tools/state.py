"""status, configure_storage: where memories are kept and whether they are in step."""

import os
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver import Context, Resolve
from mcp.server.mcpserver.resolve import Elicit
from pydantic import Field

from mcp_server import storage
from mcp_server.confirm import DECLINED, GO_ON, Confirmation, ask, consented
from mcp_server.session import Session, origin_words
from mcp_server.text import age, day, inline, plural
from mcp_server.tools.insight import megabytes
from mcp_server.tools.registry import tool
from memory_cache import device_notes, documents, settings
from memory_cache.errors import InvalidInput
from memory_cache.models import CacheStatus, SyncHealth

_DEVICES_SHOWN = 8
_STATES = {
    "ok": "in step",
    "unreachable": "storage not reachable",
    "needs-login": "login needed",
    "throttled": "slowed down by the service",
    "full": "storage full",
    "held": "deletes held for confirmation",
    "emptied": "storage suddenly empty; nothing is written to it",
    "never": "not synced yet: no daemon has run on this device",
}


@tool("Memory status", core=True, read_only=True)
async def status(ctx: Context[Session, Any]) -> str:
    """Show where memories are stored, whether they are synced, what waits or conflicts, and the current project. Call
    it when something seems missing or the user asks about sync."""
    session = ctx.request_context.lifespan_context
    found = await session.cache.status()
    project = await session.project(ctx)
    count, size = await session.cache.database.read(documents.usage)
    now = session.now()
    lines = [
        f"- {plural(found.memories, 'memory')}, {found.expired:,} expired, {found.trash:,} in the trash",
        f"- cache {megabytes(found.bytes)}; {plural(count, 'document')} {megabytes(size)}",
        f"- storage: {_storage(session, found.health)}",
        f"- sync: {_sync(found, now)}",
        f"- search: {found.search}",
        f"- login: {_login(session, found.health)}",
        f"- project: {origin_words(project) if project else 'none known for this session'}",
        f"- device: {inline(found.device_name) or 'unnamed'} ({found.device_id[:8]})",
        f"- version: {ctx.mcp_server.version}",
        *await _other_devices(session, found.device_id, now),
    ]
    if found.conflicts:
        lines.append(f"- {plural(found.conflicts, 'open conflict')}: list_conflicts shows them")
    if found.problems:
        lines.append(f"- {plural(found.problems, 'file')} could not be read whole: `claude-memory doctor` lists them")
    if found.notice:
        lines.append(f"- {inline(found.notice)}")
    return "\n".join(["# Memory status", *lines])


async def _other_devices(session: Session, own_id: str, now: datetime) -> list[str]:
    notes = await session.cache.database.read(device_notes.listed)
    others = [note for note in notes if note.id != own_id]
    lines = [
        f"- other device {inline(note.name) or note.id[:8]}: last sync {age(note.last_round, now)}, "
        f"{note.pending:,} waiting, {plural(note.conflicts, 'conflict')}"
        for note in others[:_DEVICES_SHOWN]
    ]
    return [*lines, *([f"- and {len(others) - _DEVICES_SHOWN} more devices"] if len(others) > _DEVICES_SHOWN else [])]


def _storage(session: Session, health: SyncHealth) -> str:
    chosen = session.cache.settings.storage
    where = health.location or chosen.path or "not set up: `claude-memory setup`, or configure_storage"
    return f"{health.backend or chosen.backend}, {inline(where)}"


def _sync(found: CacheStatus, now: datetime) -> str:
    health = found.health
    parts = [_STATES.get(health.state, health.state)]
    if health.message and health.state != "ok":
        parts.append(inline(f"{health.message} {health.hint}"))
    if health.last_round is not None:
        parts.append(
            f"last sync {day(health.last_round)} {health.last_round:%H:%M} UTC ({age(health.last_round, now)})"
        )
    parts.append(f"{found.pending:,} waiting to be uploaded")
    if health.held_deletes:
        parts.append(f"{health.held_deletes:,} deletes held: `claude-memory sync --confirm-deletes` lets them go")
    if health.throttled_until is not None and health.throttled_until > now:
        parts.append(f"waits until {health.throttled_until:%H:%M} UTC")
    return "; ".join(parts)


def _login(session: Session, health: SyncHealth) -> str:
    if session.cache.settings.storage.backend != "onedrive":
        return "none needed"
    if health.state == "needs-login":
        return "needed: run `claude-memory login`"
    return "unknown until the first sync" if health.state == "never" else "ok"


async def _ask_storage(
    ctx: Context[Session, Any], action: str, index: int | None, path: str | None
) -> Confirmation | Elicit[Confirmation]:
    if action == "list":
        return GO_ON
    chosen = await _chosen(ctx.request_context.lifespan_context, action, index, path)
    return ask(ctx, f"Keep memories in {chosen}? Those of this device are copied there; the old folder stays as it is.")


async def _chosen(session: Session, action: str, index: int | None, path: str | None) -> Path:
    """The folder that is meant. Raises: InvalidInput."""
    if action == "reset":
        return await anyio.to_thread.run_sync(storage.default_folder, os.environ)
    if action == "select":
        return await anyio.to_thread.run_sync(storage.by_index, os.environ, index)
    home = await session.home()
    return await anyio.to_thread.run_sync(storage.custom, os.environ, path, home.root)


@tool("Configure storage", destructive=True, idempotent=True)
async def configure_storage(
    ctx: Context[Session, Any],
    action: Annotated[
        Literal["list", "select", "custom", "reset"],
        Field(description="list folders, select one by index, custom path, or reset to the default"),
    ],
    answer: Annotated[ElicitationResult[Confirmation], Resolve(_ask_storage)],
    index: Annotated[int | None, Field(description="For select: number from list, from 1")] = None,
    path: Annotated[str | None, Field(description="For custom")] = None,
) -> str:
    """Show or change the folder that memories are synced through, only when the user asks for it."""
    session = ctx.request_context.lifespan_context
    if action == "list":
        return await _list(session)
    if not consented(answer):
        return DECLINED
    chosen = await _chosen(session, action, index, path)
    home = await session.home()

    def change() -> settings.Settings:
        storage.create(chosen)
        settings.save(home, {"storage": {"backend": "folder", "path": str(chosen)}})
        return settings.load(home, os.environ)

    effective = await anyio.to_thread.run_sync(change)
    if effective.storage.backend != "folder" or effective.storage.folder() != chosen:
        raise InvalidInput(
            f"{chosen} is saved, but an environment variable CLAUDE_MEMORY_STORAGE_… overrides it.",
            "Remove that variable where Claude is started.",
        )
    return (
        f"Storage folder: {chosen}\nA running daemon takes it up by itself. "
        "The memories of this device are then copied there; the old folder stays as it is."
    )


async def _list(session: Session) -> str:
    folders = await anyio.to_thread.run_sync(storage.offered, os.environ)
    current = session.cache.settings.storage
    shown = (
        inline(current.path) if current.backend == "folder" and current.path else f"{current.backend}, no folder set"
    )
    lines = [f"Current: {shown}"]
    lines += [f"{number}. {folder}" for number, folder in enumerate(folders, 1)] or ["No OneDrive folder found here."]
    lines.append("configure_storage with action=select and an index, or action=custom and a path, changes it.")
    return "\n".join(lines)
