"""One drive: items by id, their names, and the history of every item that delta is made from."""

import base64
import bisect
import hashlib
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from tests.graph_emulator.clock import Clock
from tests.graph_emulator.switches import Account, Switches


class Refused(Exception):
    """The service says no: status, error code, message."""

    def __init__(self, status: int, code: str, message: str = "", inner: str = "") -> None:
        super().__init__(f"{status} {code} {message}")
        self.status, self.code, self.message, self.inner = status, code, message or code, inner


@dataclass(frozen=True, slots=True)
class State:
    """One item as it was from change number `seq` on."""

    item_id: str
    name: str
    parent: str | None
    folder: bool
    content: bytes
    etag: int
    ctag: int
    created: str
    modified: str
    file_created: str
    file_modified: str
    seq: int = 0
    at: float = 0.0
    deleted: bool = False
    remote: tuple[str, str] | None = None
    package: bool = False


_RESERVED = {"con", "prn", "aux", "nul", ".lock", "desktop.ini"}
_RESERVED |= {f"{stem}{digit}" for stem in ("com", "lpt") for digit in range(10)}


def refuse_name(name: str) -> None:
    """Raise 400 for the names that the service refuses."""
    bad = (
        not name
        or any(character in '"*:<>?/\\|' or ord(character) < 32 for character in name)
        or name != name.strip(" ")
        or name.endswith(".")
        or name.lower() in _RESERVED
        or name.split(".")[0].lower() in _RESERVED
        or name.startswith("~$")
        or "_vti_" in name
    )
    if bad:
        raise Refused(400, "invalidRequest", "The name in the provided oneDriveItem is blocked.")


class Drive:
    """Items of one drive. Every public method may be called from any thread."""

    def __init__(self, drive_id: str, account: Account, clock: Clock, switches: Switches, lock: threading.RLock):
        self.drive_id, self.account, self.clock, self.switches, self.lock = drive_id, account, clock, switches, lock
        self.history: dict[str, list[State]] = {}
        self.log: list[tuple[int, str]] = []
        self.on_change: Callable[[], None] = lambda: None
        self._live: dict[str, State] = {}
        self._children: dict[str, dict[str, str]] = {}
        self._serial = 100
        self.used = 0
        self.root_id = self._new_id()
        self._commit(self._fresh(self.root_id, "root", None, folder=True))

    # --- reading ---------------------------------------------------------------------------------

    def get(self, item_id: str) -> State:
        """The living item; 404 when there is none."""
        state = self._live.get(item_id)
        if state is None:
            raise Refused(404, "itemNotFound", "The resource could not be found.")
        return state

    def child(self, parent: str, name: str) -> State | None:
        """The item of this name, in whatever letter case, in a folder."""
        found = self._children.get(parent, {}).get(name.casefold())
        return self._live[found] if found else None

    def children(self, parent: str) -> list[State]:
        """What is in a folder, by name."""
        return [self._live[i] for _, i in sorted(self._children.get(parent, {}).items())]

    def resolve(self, start: str, names: list[str]) -> State:
        """Follow names downwards from a folder; 404 when one is missing."""
        state = self.get(start)
        for name in names:
            found = self.child(state.item_id, name)
            if found is None:
                raise Refused(404, "itemNotFound", "Item does not exist")
            state = found
        return state

    def state_at(self, item_id: str, seq: int) -> State | None:
        """The item as of change number `seq`, None when it did not exist yet."""
        states = self.history.get(item_id, [])
        index = bisect.bisect_right(states, seq, key=lambda state: state.seq)
        return states[index - 1] if index else None

    def is_under(self, item_id: str, folder: str, seq: int) -> bool:
        """Whether the item was in this folder, at any depth, as of change number `seq`."""
        seen = self.state_at(item_id, seq)
        while seen is not None and seen.parent is not None:
            if seen.parent == folder:
                return True
            seen = self.state_at(seen.parent, seq)
        return False

    def path_of(self, item_id: str, seq: int | None = None) -> str:
        """`/a/b` for an item, empty for the root."""
        names: list[str] = []
        state = self.state_at(item_id, self.log[-1][0] if seq is None else seq)
        while state is not None and state.parent is not None:
            names.append(state.name)
            state = self.state_at(state.parent, self.log[-1][0] if seq is None else seq)
        return "".join(f"/{name}" for name in reversed(names))

    def walk(self, folder: str) -> Iterator[State]:
        """Everything in a folder at any depth, a folder before what is in it."""
        for state in self.children(folder):
            yield state
            if state.folder:
                yield from self.walk(state.item_id)

    @property
    def head(self) -> int:
        """The number of the last change."""
        return self.log[-1][0]

    # --- writing ---------------------------------------------------------------------------------

    def make_folder(self, parent: str, name: str, *, exist_ok: bool = False) -> State:
        """A new folder; 409 when the name is taken."""
        with self.lock:
            refuse_name(name)
            self.get(parent)
            taken = self.child(parent, name)
            if taken is not None:
                if exist_ok and taken.folder:
                    return taken
                raise Refused(409, "nameAlreadyExists", "Name already exists")
            return self._commit(self._fresh(self._new_id(), name, parent, folder=True))

    def make_folders(self, start: str, names: list[str]) -> State:
        """A folder and its missing parents."""
        with self.lock:
            state = self.get(start)
            for name in names:
                state = self.make_folder(state.item_id, name, exist_ok=True)
            return state

    def create(self, parent: str, name: str, content: bytes, times: dict[str, str] | None = None) -> State:
        """A new file; 409 when the name is taken."""
        with self.lock:
            refuse_name(name)
            if not self.get(parent).folder:
                raise Refused(400, "invalidRequest", "Parent is not a folder")
            if self.child(parent, name) is not None:
                raise Refused(409, "nameAlreadyExists", "An item with the same name already exists")
            self._room_for(len(content))
            return self._commit(self._fresh(self._new_id(), name, parent, folder=False, content=content, times=times))

    def replace(self, item_id: str, content: bytes, times: dict[str, str] | None = None) -> State:
        """New bytes for a file."""
        with self.lock:
            old = self.get(item_id)
            if old.folder:
                raise Refused(400, "invalidRequest", "A folder has no content")
            self._room_for(len(content) - len(old.content))
            stamp = self._stamp()
            return self._commit(
                replace(
                    old,
                    content=content,
                    etag=old.etag + 1,
                    ctag=old.ctag + 1,
                    modified=stamp,
                    file_modified=(times or {}).get("lastModifiedDateTime", stamp),
                )
            )

    def patch(
        self, item_id: str, *, name: str | None = None, parent: str | None = None, times: dict[str, str] | None = None
    ) -> State:
        """Rename, move, or set the times of the file."""
        with self.lock:
            old = self.get(item_id)
            new_name, new_parent = name or old.name, parent or old.parent
            moves = (new_name, new_parent) != (old.name, old.parent)
            if moves:
                refuse_name(new_name)
                taken = self.child(new_parent or "", new_name)
                if taken is not None and taken.item_id != item_id:
                    raise Refused(409, "nameAlreadyExists", "Name already exists")
                if new_parent == item_id or (new_parent and self.is_under(new_parent, item_id, self.head)):
                    raise Refused(400, "invalidRequest", "A folder cannot move into itself")
            renamed_content = self.switches.ctag_moves_on_rename
            if renamed_content is None:
                renamed_content = self.account is Account.BUSINESS
            return self._commit(
                replace(
                    old,
                    name=new_name,
                    parent=new_parent,
                    etag=old.etag + 1,
                    ctag=old.ctag + (1 if moves and renamed_content else 0),
                    modified=self._stamp(),
                    file_created=(times or {}).get("createdDateTime", old.file_created),
                    file_modified=(times or {}).get("lastModifiedDateTime", old.file_modified),
                )
            )

    def touch(self, item_id: str) -> State:
        """The eTag changes and nothing else, as after the service looked into a file by itself."""
        with self.lock:
            old = self.get(item_id)
            return self._commit(replace(old, etag=old.etag + 1))

    def delete(self, item_id: str) -> None:
        """Delete an item, with all that is in it."""
        with self.lock:
            state = self.get(item_id)
            if state.parent is None:
                raise Refused(403, "accessDenied", "The root cannot be deleted")
            for below in reversed(list(self.walk(item_id))):
                self._commit(replace(below, deleted=True))
            self._commit(replace(state, deleted=True))

    # --- for tests: by path -------------------------------------------------------------------------

    def write(self, path: str, content: bytes) -> State:
        """Somebody else creates or replaces the file at a path of the drive."""
        with self.lock:
            *folders, name = [part for part in path.split("/") if part]
            parent = self.make_folders(self.root_id, folders)
            taken = self.child(parent.item_id, name)
            if taken is None:
                return self.create(parent.item_id, name, content)
            return self.replace(taken.item_id, content)

    def find(self, path: str) -> State:
        """The item at a path of the drive."""
        with self.lock:
            return self.resolve(self.root_id, [part for part in path.split("/") if part])

    def move(self, path: str, new_path: str) -> State:
        """Somebody else moves or renames."""
        with self.lock:
            *folders, name = [part for part in new_path.split("/") if part]
            parent = self.make_folders(self.root_id, folders)
            return self.patch(self.find(path).item_id, name=name, parent=parent.item_id)

    def remove(self, path: str) -> None:
        """Somebody else deletes."""
        with self.lock:
            self.delete(self.find(path).item_id)

    def shortcut(self, path: str, drive_id: str, item_id: str) -> State:
        """Somebody adds a shortcut to a folder of another drive."""
        with self.lock:
            *folders, name = [part for part in path.split("/") if part]
            parent = self.make_folders(self.root_id, folders)
            entry = self._fresh(self._new_id(), name, parent.item_id, folder=False)
            return self._commit(replace(entry, remote=(drive_id, item_id)))

    def tree(self, path: str = "") -> dict[str, bytes]:
        """Every file below a path, with its bytes."""
        with self.lock:
            top = self.find(path)
            cut = len(self.path_of(top.item_id)) + 1
            return {
                self.path_of(state.item_id)[cut:]: state.content for state in self.walk(top.item_id) if not state.folder
            }

    # --- inside ----------------------------------------------------------------------------------

    def _stamp(self) -> str:
        return self.clock.stamp(fraction=self.account is Account.PERSONAL)

    def _room_for(self, growth: int) -> None:
        if growth > 0 and self.used + growth > self.switches.quota:
            raise Refused(507, "quotaLimitReached", "Insufficient Space Available")

    def _new_id(self) -> str:
        self._serial += 1
        if self.account is Account.PERSONAL:
            return f"{self.drive_id.upper()}!{self._serial}"
        digest = hashlib.sha256(f"{self.drive_id}/{self._serial}".encode()).digest()
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
        return "01" + "".join(letters[byte % 32] for byte in digest)

    def _fresh(
        self,
        item_id: str,
        name: str,
        parent: str | None,
        *,
        folder: bool,
        content: bytes = b"",
        times: dict[str, str] | None = None,
    ) -> State:
        stamp, times = self._stamp(), times or {}
        return State(
            item_id=item_id,
            name=name,
            parent=parent,
            folder=folder,
            content=content,
            etag=1,
            ctag=1,
            created=stamp,
            modified=stamp,
            file_created=times.get("createdDateTime", stamp),
            file_modified=times.get("lastModifiedDateTime", stamp),
        )

    def _commit(self, state: State) -> State:
        """The one place where anything changes."""
        with self.lock:
            seq = (self.log[-1][0] if self.log else 0) + 1
            state = replace(state, seq=seq, at=self.clock.now())
            old = self._live.pop(state.item_id, None)
            if old is not None and old.parent is not None:
                self._children[old.parent].pop(old.name.casefold(), None)
                self.used -= len(old.content)
            if not state.deleted:
                self._live[state.item_id] = state
                self.used += len(state.content)
                if state.parent is not None:
                    self._children.setdefault(state.parent, {})[state.name.casefold()] = state.item_id
            self.history.setdefault(state.item_id, []).append(state)
            self.log.append((seq, state.item_id))
        self.on_change()
        return state

    def etag(self, state: State) -> str:
        """The eTag as this kind of account writes it."""
        return self._tag(state, state.etag, "")

    def ctag(self, state: State) -> str:
        """The cTag as this kind of account writes it."""
        return self._tag(state, state.ctag, "c:")

    def _tag(self, state: State, number: int, prefix: str) -> str:
        if self.account is Account.PERSONAL:
            # The older form, without quotes; accounts moved to the newer backend have the other one.
            return "a" + base64.b64encode(f"{prefix}{state.item_id}.{number}".encode()).decode().rstrip("=")
        guid = str(uuid.uuid5(uuid.NAMESPACE_URL, state.item_id)).upper()
        return f'"{prefix}{{{guid}}},{number}"'
