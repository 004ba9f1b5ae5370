"""The first half of a round: bring `memory_cache.remote_tree` up to date. Nothing is changed anywhere.

Each page and the cursor behind it are stored in one transaction, so a killed daemon goes on where it was.
"""

import sqlite3
from datetime import datetime, timedelta

from daemon.errors import StorageEmptied
from daemon.round_context import Round
from memory_cache import meta, remote_tree
from memory_cache.clock import from_text, to_text
from memory_cache.paths import in_scope
from memory_cache.remote_tree import RemoteItem
from storage_backends.base import Changes, Item
from storage_backends.errors import CursorExpired, Unreachable

_ENUMERATED_AT = "sync.enumerated_at"
_ENUMERATE_NEXT = "sync.enumerate_next"


async def observe(current: Round, *, full: bool, full_after: timedelta) -> None:
    """Read all pages of changes there are.

    `full`: enumerate; also done when the last enumeration is older than `full_after`, when the last
    round saw many pages (what happened between two of them may be missing), and when the cursor is dead.

    Raises: Unreachable, LoginRequired, AccessDenied, Throttled, StorageEmptied.
    """
    scope = await current.storage.backend.scope()
    now = current.now()
    await current.database.write(lambda connection: _begin(connection, scope, now, full=full, full_after=full_after))
    restarted = False
    pages = 0
    cursor = await current.database.read(lambda connection: remote_tree.position(connection).cursor)
    while True:
        try:
            page = await current.storage.changes(cursor)
        except CursorExpired:
            if restarted:
                raise Unreachable("The storage refuses even the cursor that it has just given.") from None
            restarted = True
            await current.database.write(remote_tree.begin_enumeration)
            cursor = None
            continue
        if page.more and page.cursor == cursor:
            raise Unreachable("The storage sends the same page of changes again and again.")
        pages += 1
        await _store(current, page, first=cursor is None, many=pages > 1, cursor=cursor)
        if not page.more:
            break
        cursor = page.cursor
    await current.database.write(lambda connection: _refuse_emptied(connection, confirmed=current.confirm_deletes))


def _begin(connection: sqlite3.Connection, scope: str, now: datetime, *, full: bool, full_after: timedelta) -> None:
    remote_tree.enter_scope(connection, scope)
    where = remote_tree.position(connection)
    last = meta.get(connection, _ENUMERATED_AT)
    overdue = last is None or not timedelta() <= now - from_text(last) < full_after
    due = full or overdue or meta.get(connection, _ENUMERATE_NEXT) is not None
    # An enumeration that a kill interrupted goes on; it is not begun again.
    if (due and not where.enumerating) or (where.cursor is None and not where.enumerating):
        remote_tree.begin_enumeration(connection)
        meta.delete(connection, _ENUMERATE_NEXT)
        meta.put(connection, _ENUMERATED_AT, to_text(now))


async def _store(current: Round, page: Changes, *, first: bool, many: bool, cursor: str | None) -> None:
    if not (page.items or page.removed) and not page.enumeration and page.cursor == cursor:
        return  # an idle storage: nothing to write down

    def store(connection: sqlite3.Connection) -> None:
        if page.enumeration and not remote_tree.position(connection).enumerating:
            remote_tree.begin_enumeration(connection)  # the backend began one by itself
        ours: list[RemoteItem] = []
        left: list[str] = []  # what moved out of our folders is gone as far as this store is concerned
        for item in page.items:
            if in_scope(item.path):
                ours.append(observed(item))
            else:
                left.append(item.item_id)
        remote_tree.observe(connection, ours, [*page.removed, *left], page.cursor, more=page.more)
        if many and not page.enumeration and not page.more:
            meta.put(connection, _ENUMERATE_NEXT, "1")

    await current.database.write(store)


def observed(item: Item) -> RemoteItem:
    """The item as the cache notes it."""
    return RemoteItem(
        item_id=item.item_id, path=item.path, version=item.version, size=item.size, modified=item.modified
    )


def _refuse_emptied(connection: sqlite3.Connection, *, confirmed: bool) -> None:
    known = connection.execute("SELECT count(*) FROM files WHERE item_id IS NOT NULL").fetchone()[0]
    if not known or remote_tree.count_present(connection):
        return
    # Every device leaves a note in the storage. Where even this device's own is gone, nobody has merely
    # forgotten the last memory: the folder is not mounted, was wiped, or is another one.
    meta.put(connection, _ENUMERATE_NEXT, "1")
    if not confirmed:
        raise StorageEmptied(
            f"The storage is empty, although this device knows {known} files in it. Nothing was changed.",
            "Mount or restore the folder. If it was emptied on purpose, `claude-memory sync --confirm-deletes`"
            " moves the memories of this device to the trash.",
        )
