"""The delta function: rounds of pages over the history of a drive, with everything that goes wrong in it."""

import random
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from tests.graph_emulator.drive import Drive, Refused, State
from tests.graph_emulator.rendering import Renderer
from tests.graph_emulator.switches import Account


class Gone(Exception):
    """The link is dead: status, and the path and query of a fresh enumeration when there is one."""

    def __init__(self, status: int, location: str | None) -> None:
        super().__init__(status)
        self.status, self.location = status, location


@dataclass
class Round:
    """One enumeration, or one round of changes, cut into pages when it began."""

    folder: str
    until: int
    entries: list[tuple[str, bool]]
    enumeration: bool = False


@dataclass
class DeltaFeed:
    """Delta of one drive. Tokens are positions (`since`) and open rounds; both die with `expire`."""

    drive: Drive
    renderer: Renderer
    random: random.Random
    rounds: dict[str, Round] = field(default_factory=dict)
    epoch: str = "00000000"
    fresh_link_broken: bool = False

    def expire(self) -> None:
        """Every link handed out so far is dead."""
        self.epoch = f"{self.random.getrandbits(32):08x}"
        self.rounds.clear()

    def page(self, folder: str, link_path: str, query: dict[str, str], base: str) -> dict[str, Any]:
        """The answer to a request for delta below `folder`; `link_path` is how the request was addressed."""
        switches, token = self.drive.switches, query.get("token", "")
        business_below_root = self.drive.account is Account.BUSINESS and folder != self.drive.root_id
        allowed = switches.folder_delta if switches.folder_delta is not None else not business_below_root
        if folder != self.drive.root_id and not allowed:
            raise Refused(501, "notSupported", "view.delta can only be called on the root.")
        if token and token != "latest" and switches.expire_cursors:
            self._die(switches.expire_cursors, link_path)
        if token == "latest":
            if switches.latest_refused:
                raise Refused(400, "invalidRequest", "The token is not supported")
            return {"value": [], "@odata.deltaLink": self._link(base, link_path, f"d:{self._visible()}")}
        if token.startswith("p:"):
            return self._continue(token, link_path, base)
        if token:
            epoch, _, since = token[2:].partition(".")
            if epoch != self.epoch or not since.isdigit():
                self._die(410, link_path)
            return self._begin(folder, int(since), link_path, base)
        if self.fresh_link_broken:
            raise Refused(500, "generalException", "Broken")
        return self._begin(folder, 0, link_path, base)

    def _die(self, status: int, link_path: str) -> None:
        raise Gone(status, link_path if status == 410 else None)

    def _visible(self) -> int:
        """The last change that delta knows of."""
        if not self.drive.switches.delta_lag:
            return self.drive.head
        horizon = self.drive.clock.now() - self.drive.switches.delta_lag
        for seq, item_id in reversed(self.drive.log):
            state = self.drive.state_at(item_id, seq)
            if state is not None and state.at <= horizon:
                return seq
        return 0

    def _link(self, base: str, link_path: str, token: str) -> str:
        if token.startswith("d:"):
            token = f"d:{self.epoch}.{token[2:]}"
        return f"{base}{link_path}?token={quote(token, safe='')}"

    def _begin(self, folder: str, since: int, link_path: str, base: str) -> dict[str, Any]:
        until = self._visible()
        entries = self._all(folder, until) if since == 0 else self._since(folder, since, until)
        switches = self.drive.switches
        if switches.shuffle:
            self.random.shuffle(entries)
        if switches.duplicate_items:
            entries = [told for entry in entries for told in self._with_older(entry)]
        key = f"{self.random.getrandbits(64):016x}"
        self.rounds[key] = Round(folder, until, entries, enumeration=since == 0)
        if switches.empty_pages:
            return {"value": [], "@odata.nextLink": self._link(base, link_path, f"p:{key}.0")}
        return self._continue(f"p:{key}.0", link_path, base)

    def _with_older(self, entry: tuple[str, bool]) -> list[tuple[str, bool]]:
        """Now and then an item is told twice: as it was before, and as it is."""
        again = self.random.random() < self.drive.switches.duplicate_items
        return [(f"{entry[0]}@before", False), entry] if again else [entry]

    def _continue(self, token: str, link_path: str, base: str) -> dict[str, Any]:
        key, _, offset_text = token[2:].partition(".")
        opened = self.rounds.get(key)
        if opened is None or not offset_text.isdigit():
            self._die(410, link_path)
        assert opened is not None
        switches, offset = self.drive.switches, int(offset_text)
        if switches.endless_pages:
            turn = offset if switches.endless_pages == "same" else (offset + 1) % 2
            return {"value": [], "@odata.nextLink": self._link(base, link_path, f"p:{key}.{turn}")}
        page = opened.entries[offset : offset + switches.page_size]
        out: dict[str, Any] = {"value": [item for entry in page for item in self._render(entry, opened)]}
        following = offset + switches.page_size
        if following < len(opened.entries):
            out["@odata.nextLink"] = self._link(base, link_path, f"p:{key}.{following}")
        else:
            out["@odata.deltaLink"] = self._link(base, link_path, f"d:{opened.until}")
        return out

    def _render(self, entry: tuple[str, bool], opened: Round) -> list[dict[str, Any]]:
        (item_id, _, before), gone = entry[0].partition("@"), entry[1]
        state = self.drive.state_at(item_id, opened.until)
        if state is not None and before:
            state = self.drive.state_at(item_id, state.seq - 1)
        if state is None:
            return []
        if gone or state.deleted:
            return [] if opened.enumeration else [self.renderer.tombstone(state)]
        return [self.renderer.item(state, delta=True, at=opened.until)]

    def _all(self, folder: str, until: int) -> list[tuple[str, bool]]:
        """Every item below a folder as of `until`, a folder before what is in it, and the folder itself."""
        below: dict[str, list[str]] = {}
        for item_id in self.drive.history:
            state = self.drive.state_at(item_id, until)
            if state is not None and not state.deleted and state.parent is not None:
                below.setdefault(state.parent, []).append(item_id)
        order = [folder]
        for item_id in order:  # grows while it is walked
            order.extend(below.get(item_id, []))
        ancestors = self._ancestors(folder, until) if self.drive.switches.ancestors_in_delta else []
        return [(item_id, False) for item_id in ancestors + order]

    def _since(self, folder: str, since: int, until: int) -> list[tuple[str, bool]]:
        """Items that changed after `since`, in order of their last change, parents first."""
        changed = list(dict.fromkeys(i for seq, i in reversed(self.drive.log) if since < seq <= until))
        entries: dict[str, bool] = {}
        for item_id in reversed(changed):
            now, before = self.drive.state_at(item_id, until), self.drive.state_at(item_id, since)
            if now is None:
                continue
            inside = item_id == folder or (not now.deleted and self.drive.is_under(item_id, folder, until))
            was_inside = before is not None and not before.deleted and self.drive.is_under(item_id, folder, since)
            if inside:
                if self.drive.switches.ancestors_in_delta:
                    for parent in self._ancestors(item_id, until):
                        entries.setdefault(parent, False)
                entries[item_id] = False
            elif was_inside and self._tells_deletion(now, until):
                entries[item_id] = True
        return list(entries.items())

    def _tells_deletion(self, state: State, until: int) -> bool:
        switches = self.drive.switches
        if switches.drop_tombstones and self.random.random() < switches.drop_tombstones:
            return False
        told = switches.child_tombstones
        if told is None:
            told = self.drive.account is Account.BUSINESS
        if told or state.parent is None:
            return True
        parent = self.drive.state_at(state.parent, until)
        return parent is None or not parent.deleted

    def _ancestors(self, item_id: str, seq: int) -> list[str]:
        """Ids of the parents, the root first."""
        out: list[str] = []
        state = self.drive.state_at(item_id, seq)
        while state is not None and state.parent is not None:
            out.append(state.parent)
            state = self.drive.state_at(state.parent, seq)
        return list(reversed(out))


def token_of(action: str, query: dict[str, str]) -> str:
    """The token of a delta request, in any of the shapes that links have."""
    if "token='" in action:
        return action.split("token='", 1)[1].split("'", 1)[0]
    return query.get("token", "")


def query_of(target: str) -> dict[str, str]:
    """The query of a request target; `select` counts as `$select`."""
    pairs = parse_qs(urlsplit(target).query, keep_blank_values=True)
    return {("$" + k if k in {"select", "top", "expand", "skiptoken"} else k): v[-1] for k, v in pairs.items()}
