"""From events (or, where there are none, from looking again and again) to "something may have changed".

Own writes, and other programs' temporary files, wake nobody.
"""

import threading
import time

from storage_backends.errors import StorageError
from storage_backends.folder_state import State
from storage_backends.folder_watch import Watcher, why_events_are_missing

ROOT_CHECK_SECONDS = 1.0  # an unmount makes no event
SHORTEST_POLL_SECONDS = 2.0
POLL_PAUSE_PER_LOOK = 100  # a look may take 1 % of the time
RETRY_EVENTS_SECONDS = 600.0


class Waiting:
    """One waits at a time; `drain`, `told` and `close` may be called from other threads meanwhile.

    Attributes:
        problem: why the folder is looked at again and again instead of waiting for events; None with events.
    """

    def __init__(self, state: State) -> None:
        self.problem: str | None = None
        self._state = state
        self._watcher: Watcher | None = None
        self._watched_root: object = None
        self._pump = threading.Lock()  # one thread at a time asks the watcher
        self._told_news = 0
        self._told_root: object = None
        self._told_error = False
        self._anything_told = False
        self._next_look = 0.0
        self._next_try = 0.0

    def drain(self) -> set[str] | None:
        """Events that nobody has looked into yet; None when there may be changes without events."""
        if not self._is_watching():
            return None
        if not self._pump.acquire(blocking=False):
            return set()  # the waiting thread has them, looks into them, and wakes its caller
        try:
            return self._watcher.take(0.001, None) if self._watcher is not None else None
        finally:
            self._pump.release()

    def told(self) -> None:
        """The caller knows what the last page brought, and nothing that was found out since."""
        self._told_news = self._state.handed_out
        self._told_root = self._state.root.identity
        self._told_error = False
        self._anything_told = True

    def told_error(self) -> None:
        """The caller knows that the folder cannot be read just now."""
        self._told_news = self._state.snapshot.news
        self._told_root = self._state.root.identity_now()
        self._told_error = True
        self._anything_told = True

    def wait(self, seconds: float, stop: threading.Event) -> bool:
        """True when there is something to tell, False after `seconds` or with `stop`. Blocks."""
        deadline = time.monotonic() + seconds
        if not self._anything_told:
            self._told_root = self._state.root.identity_now()
            self._anything_told = True
        while True:
            root = self._state.root.identity_now()
            if self._state.snapshot.news > self._told_news or root != self._told_root:
                return True
            remaining = deadline - time.monotonic()
            if stop.is_set() or remaining <= 0:
                return False
            pause = min(ROOT_CHECK_SECONDS, remaining)
            if root is None:
                stop.wait(pause)
            elif self._look(pause, stop):
                return True

    def close(self) -> None:
        with self._pump:
            if self._watcher is not None:
                self._watcher.close()
            self._watcher = None

    def _look(self, pause: float, stop: threading.Event) -> bool:
        """Wait for events and look into them. True when that failed and the caller does not know yet."""
        try:
            hints = self._hints(pause, stop)
            if hints is None or hints:
                self._state.refresh(hints)
        except StorageError:
            if not self._told_error:
                return True
            stop.wait(pause)
        return False

    def _hints(self, pause: float, stop: threading.Event) -> set[str] | None:
        """What to look at now: nothing (empty), some paths, or everything (None)."""
        if not self._start_watching():
            stop.wait(pause)
            if stop.is_set() or time.monotonic() < self._next_look:
                return set()
            self._next_look = time.monotonic() + self._poll_seconds()
            return None
        with self._pump:
            taken = self._watcher.take(pause, stop) if self._watcher is not None else None
            if taken is None:
                self._watcher = None
        if taken is None:
            stop.wait(pause)
        return taken

    def _poll_seconds(self) -> float:
        return max(SHORTEST_POLL_SECONDS, POLL_PAUSE_PER_LOOK * self._state.look_seconds)

    def _is_watching(self) -> bool:
        """Whether every folder is watched, and was looked at since."""
        watcher, state = self._watcher, self._state
        return (
            watcher is not None
            and state.complete
            and self._watched_root == state.root.identity
            and watcher.folders == state.folders()
        )

    def _start_watching(self) -> bool:
        """Watch every folder that is there now. False when that is not possible: `problem` says why."""
        if self._is_watching():
            return True
        if time.monotonic() < self._next_try:
            return False
        with self._state.lock:
            self.close()
            kind = why_events_are_missing(self._state.root.real_path())
            if kind is not None:
                self._give_up(f"{kind} reports no changes of other machines")
                return False
            if not self._state.complete:
                self._state.refresh(None)
            try:
                watcher = Watcher(self._state.root.path, self._state.folders())
            except FileNotFoundError:
                self._state.refresh(None)  # a folder vanished since the last look
                return False
            except OSError as error:
                self._give_up(str(error).split(" about ", 1)[0])
                return False
            with self._pump:
                self._watcher = watcher
            self._watched_root = self._state.root.identity
            self.problem = None
            self._state.refresh(None)  # what happened before the watch began
        return True

    def _give_up(self, problem: str) -> None:
        self.problem = problem
        self._next_try = time.monotonic() + RETRY_EVENTS_SECONDS
