"""A sync client such as OneDrive's or Dropbox's: keeps a folder on one machine in step with a cloud, knows nothing of
memories, never overwrites a change it has not seen, and makes a conflict copy instead."""

from dataclasses import dataclass, field

from tests.simulation.fate import Life
from tests.simulation.stores import SimulatedStore


@dataclass
class SyncClient:
    """Between one machine's folder and the cloud. `known`: what both had when last in step."""

    machine: str
    folder: SimulatedStore
    cloud: SimulatedStore
    life: Life
    known: dict[str, bytes] = field(default_factory=dict)

    async def run(self) -> bool:
        """One pass over all files; whether anything was changed."""
        changed = False
        for path in sorted({*self.folder.files(), *self.cloud.files(), *self.known}):
            await self.life.wait(f"client {path}")
            changed |= self._file(path)
        return changed

    def _file(self, path: str) -> bool:
        here, there, known = self.folder.files().get(path), self.cloud.files().get(path), self.known.get(path)
        if here == there:
            self._remember(path, here)
            return False
        if here == known:
            self._put(self.folder, path, there)
        elif there == known or there is None:
            self._put(self.cloud, path, here)
        elif here is None:
            self._put(self.folder, path, there)
        else:
            stem, dot, suffix = path.rpartition(".")
            copy = f"{stem}-{self.machine}{dot}{suffix}"
            number = 2
            while copy in self.folder.files() or copy in self.cloud.files():
                copy = f"{stem}-{self.machine}-{number}{dot}{suffix}"
                number += 1
            self.folder.put(copy, here, author=self)
            self.cloud.put(copy, here, author=self)
            self.known[copy] = here
            self.folder.put(path, there, author=self)
            self.life.fate.note(f"client of {self.machine} makes {copy}")
        self._remember(path, self.folder.files().get(path))
        return True

    def _put(self, store: SimulatedStore, path: str, data: bytes | None) -> None:
        if data is None:
            store.remove(path, author=self)
        else:
            store.put(path, data, author=self)

    def _remember(self, path: str, data: bytes | None) -> None:
        if data is None:
            self.known.pop(path, None)
        else:
            self.known[path] = data
