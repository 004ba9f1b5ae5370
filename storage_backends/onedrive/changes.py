"""Requests behind the stream of changes: one step after the other until there is something to tell.

`delta` decides what a page means; here the pages are asked for, and the ways in which the service ends a stream
are told apart.
"""

from typing import Any

from storage_backends.errors import CursorExpired, PermanentError, Unreachable
from storage_backends.onedrive.delta import Cursor, Page, take_delta, take_listing
from storage_backends.onedrive.items import SELECT, Folders, Root, parse_page, text_in
from storage_backends.onedrive.transport import Answer, Transport

_LISTED = 1000  # items per page of a listing; the service may give fewer
_STEPS = 10  # requests that one call takes at most
_ENOUGH = 200  # items after which a call returns, outside of enumerations


async def begin(transport: Transport, root: Root) -> Cursor:
    """The start of an enumeration: delta's newest position, and the root to be listed.

    Delta of the folder works on personal accounts, delta of the drive on all; a token that may use the app folder
    only can be refused the latter. Without either, listings are all there is.
    """
    link = ""
    for place in (f"{root.item_path(root.item)}/delta", f"{root.base}/root/delta"):
        answer = await transport.send("GET", transport.url(f"{place}?token=latest&$select={SELECT}"))
        if answer.ok:
            value = answer.json()
            link = text_in(value, "@odata.deltaLink") or text_in(value, "@odata.nextLink")
            break
        if answer.status == 400:
            # Delta is there and has no short way to its newest position: all pages are read after the listing.
            link = transport.url(f"{place}?$select={SELECT}")
            break
        error = answer.error()
        if not isinstance(error, PermanentError) or answer.status == 401:
            raise error
    if link and not transport.is_own(link):
        raise Unreachable("OneDrive pointed to another service for its changes.")
    return Cursor(root.scope, Folders(root.item), link, walk=[root.item], enumeration=True)


async def advance(transport: Transport, root: Root, cursor: Cursor) -> tuple[Page, bool, bool]:
    """Move the cursor on to the next pages that tell something: what they say, whether there is more right now,
    and whether this belongs to an enumeration.

    While it enumerates, a call ends as soon as it has any item, so that each page is stored before the next is asked
    for. Otherwise a round of changes is one call, as long as it is short.

    Raises: CursorExpired, Unreachable, LoginRequired, AccessDenied, Throttled.
    """
    if cursor.scope != root.scope:
        raise CursorExpired("The cursor belongs to another folder.")
    if not cursor.walk:
        cursor.settled = False
    if not cursor.walk and not cursor.link:
        cursor.restart_walk()  # no delta here: every round is a listing
    enumeration, gathered = cursor.enumeration, Page()
    for _ in range(_STEPS):
        if cursor.walk:
            gathered.follow(await _list(transport, root, cursor))
            if enumeration and cursor.link and not cursor.walk:
                cursor.settled = False
        else:
            gathered.follow(await _read_delta(transport, cursor))
        if cursor.is_complete or len(gathered.items) >= (1 if enumeration else _ENOUGH):
            break
    complete = cursor.is_complete
    if complete:
        cursor.enumeration = False
    return gathered, not complete, enumeration


async def _list(transport: Transport, root: Root, cursor: Cursor) -> Page:
    """List one page of the next folder."""
    entry = cursor.walk[-1]
    is_link = entry.startswith(("https://", "http://"))
    url = entry if is_link else transport.url(f"{root.item_path(entry)}/children?$top={_LISTED}&$select={SELECT}")
    answer = await transport.send("GET", url)
    if answer.status == 404 and entry != root.item and not is_link:
        cursor.walk.pop()  # deleted meanwhile; delta tells
        return Page()
    value = _stored(answer) if is_link else answer.json()
    following = text_in(value, "@odata.nextLink")
    if following and (following == url or not transport.is_own(following)):
        raise Unreachable("OneDrive's listing of a folder does not end.")
    cursor.walk.pop()
    page = take_listing(cursor, parse_page(value))
    if following:
        cursor.walk.append(following)
    return page


async def _read_delta(transport: Transport, cursor: Cursor) -> Page:
    """Read one page of delta."""
    link = cursor.link
    if not transport.is_own(link):
        raise CursorExpired("The cursor points to another service.")
    answer = await transport.send("GET", link)
    if cursor.enumeration and "token=" not in link and answer.status in (400, 501):
        cursor.link = ""  # so there is no delta after all
        return Page()
    value = _stored(answer)
    page = take_delta(cursor, parse_page(value))
    following, final = text_in(value, "@odata.nextLink"), text_in(value, "@odata.deltaLink")
    if following:
        if not cursor.follow(link, following):
            if not cursor.enumeration:
                raise CursorExpired("OneDrive's changes run in a ring.")
            cursor.link = ""  # even from its newest position; listings will do until the next enumeration
    elif final:
        cursor.settle(final)
    else:
        raise Unreachable("OneDrive ended its changes without saying where to go on.")
    return page


def _stored(answer: Answer) -> dict[str, Any]:
    """The answer to a link that was stored. What refuses the link for good means that it is dead."""
    dead = 400 <= answer.status < 500 and answer.status not in (401, 403, 408, 423, 429)
    if dead or answer.status == 501:
        raise CursorExpired(f"OneDrive does not know the cursor any more (status {answer.status}).")
    return answer.json()
