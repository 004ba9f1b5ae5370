"""Eight sessions that use all tools at once for a while, over real relays and one real daemon.

    python -m tests.mcp_server.mixing SECONDS [--kills N]

Every session keeps book of what it did; at the end all of it must be there, and nothing else. With `--kills` the
daemon is killed so often in between: then, too, nothing is lost, nothing is done twice and no call fails.
"""

import argparse
import collections
import contextlib
import os
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_server.tools import DECLARED
from memory_cache.cache import MemoryCache
from memory_cache.models import Filter, Scope
from tests.daemon.processes import Device, Session
from tests.mcp_server.contract import prepare
from tests.mcp_server.world import ID

SESSIONS = 8
PATTERN = "Everybody notes this pattern again and again"


@dataclass
class Worker:
    """One session and its book.

    Attributes:
        texts: what every memory of this session says, by id.
        tagged, linked: those that carry its tag, and those that are linked to the hub.
        gone: what it forgot, merged or deleted.
    """

    session: Session
    number: int
    hub: str
    document: str
    texts: dict[str, str] = field(default_factory=dict)
    tagged: set[str] = field(default_factory=set)
    linked: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    sightings: int = 0
    calls: collections.Counter[str] = field(default_factory=collections.Counter)
    slowest: float = 0.0
    count: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.number)
        self.name = f"worker{self.number}"

    def say(self, tool: str, /, **arguments: Any) -> str:
        self.calls[tool] += 1
        began = time.monotonic()
        text = self.session.call(tool, **arguments)
        self.slowest = max(self.slowest, time.monotonic() - began)
        return text

    def work(self, until: float) -> None:
        """Do this and that until the time is over; then every tool was used."""
        doing: list[Callable[[], None]] = [
            self.remember, self.remember, self.update, self.update, self.forget, self.link, self.unlink, self.merge,
            self.tag, self.delete, self.pattern, self.look, self.look, self.look,
        ]  # fmt: skip
        while time.monotonic() < until:
            self.random.choice(doing)()

    def own(self, least: int = 1) -> list[str]:
        """Ids of this session's memories in any order; none when there are fewer than `least`."""
        ids = list(self.texts)
        self.random.shuffle(ids)
        return ids if len(ids) >= least else []

    def remember(self) -> str:
        self.count += 1
        text = f"# {self.name} note {self.count}"
        found = ID.search(self.say("remember", category="learning", content=text, **{"global": True}))
        assert found is not None
        self.texts[found[1]] = text
        return found[1]

    def update(self) -> None:
        for memory_id in self.own()[:1]:
            self.count += 1
            self.texts[memory_id] = f"# {self.name} changed {self.count}"
            self.say("update", id=memory_id, content=self.texts[memory_id])

    def forget(self) -> None:
        for memory_id in self.own(4)[:1]:
            self.say("forget", id=memory_id)
            if self.random.random() < 0.5:
                self.say("restore", id=memory_id)
            else:
                self._is_gone(memory_id)

    def link(self) -> None:
        for memory_id in self.own()[:1]:
            self.say("link_memories", id1=self.hub, id2=memory_id)
            self.linked.add(memory_id)

    def unlink(self) -> None:
        for memory_id in sorted(self.linked)[:1]:
            self.say("link_memories", id1=memory_id, id2=self.hub, operation="unlink")
            self.linked.remove(memory_id)

    def merge(self) -> None:
        for base, other in [self.own(6)[:2]] if len(self.texts) >= 6 else []:
            self.say("merge_memories", ids=[base, other])
            shown = self.session.call("recall", query=base)
            assert self.texts[base].removeprefix("# ") in shown
            assert self.texts[other].removeprefix("# ") in shown
            self.count += 1
            self.texts[base] = f"# {self.name} merged {self.count}"
            self.say("update", id=base, content=self.texts[base])
            if other in self.linked:
                self.linked.add(base)
            if other in self.tagged:
                self.tagged.add(base)
            self._is_gone(other)

    def _is_gone(self, memory_id: str) -> None:
        del self.texts[memory_id]
        self.tagged.discard(memory_id)
        self.linked.discard(memory_id)
        self.gone.add(memory_id)

    def tag(self) -> None:
        if self.texts:
            self.say("batch_tag", tag=self.name, query=self.name)
            self.tagged = set(self.texts)

    def delete(self) -> None:
        doomed = [self.remember() for _ in range(2)]
        for memory_id in doomed:
            self.say("update", id=memory_id, content=f"doomed{self.number}")
        answer = self.say("batch_delete", query=f"doomed{self.number}", dryRun=False)
        assert answer.startswith("2 memories moved to the trash"), answer
        for memory_id in doomed:
            self._is_gone(memory_id)

    def pattern(self) -> None:
        self.say("pattern_store", description=PATTERN, category="mixing")
        self.sightings += 1

    def look(self) -> None:
        reading: list[tuple[str, dict[str, Any]]] = [
            ("recall", {"query": "note changed"}), ("recall", {}), ("list", {}), ("get_context", {"verbose": True}),
            ("status", {}), ("get_statistics", {}), ("visualize_graph", {}), ("export_memories", {}),
            ("project_status", {}), ("get_related", {"id": self.hub, "depth": 2}), ("cleanup", {}),
            ("pattern_mature", {}), ("pattern_search", {"query": "pattern"}), ("batch_delete", {"query": "note"}),
            ("search_documents", {"query": "routes"}), ("get_document", {"id": self.document}),
            ("list_conflicts", {}), ("history", {"id": self.hub}), ("configure_storage", {"action": "list"}),
        ]  # fmt: skip
        tool, arguments = self.random.choice(reading)
        self.say(tool, **arguments)


def run(base: Path, seconds: float, kills: int = 0) -> dict[str, Any]:
    """Let the sessions work, and compare their books with the cache. Returns figures; fails when anything is wrong."""
    device = Device(base, CLAUDE_MEMORY_DAEMON_AUTOSTART="true")
    device.run("daemon", "start")
    try:
        ids = device.cache(prepare)
        others = {memory.title for memory in _memories(device)}
        failures: list[str] = []
        with contextlib.ExitStack() as stack:
            workers = [
                Worker(stack.enter_context(Session(device)), number, ids.kept, ids.document)
                for number in range(SESSIONS)
            ]
            end = time.monotonic() + seconds
            threads = [threading.Thread(target=_guarded, args=(worker, end, failures)) for worker in workers]
            for thread in threads:
                thread.start()
            killed = _kill(device, workers, end, kills)
            for thread in threads:
                thread.join()
            assert not failures, "\n".join(failures)
            _compare(device, workers, ids.kept, others)
            _finish(workers[0], ids)
            for worker in workers:
                assert worker.session.close() == 0
        calls = sum((worker.calls for worker in workers), collections.Counter())
        return {
            "sessions": SESSIONS, "calls": calls.total(), "by tool": dict(calls.most_common()),
            "unused": {declared.name for declared in DECLARED} - set(calls), "kills": killed,
            "slowest call, s": round(max(worker.slowest for worker in workers), 2),
        }  # fmt: skip
    finally:
        device.end()


def _guarded(worker: Worker, end: float, failures: list[str]) -> None:
    try:
        worker.session.open()
        worker.work(end)
    except Exception as error:
        failures.append(f"{worker.name}: {type(error).__name__}: {error}")


def _kill(device: Device, workers: list[Worker], end: float, kills: int) -> int:
    """Kill the daemon so often, if the time allows it, each time when it has answered every session: a daemon that
    falls three times over the same request is given up."""
    for number in range(kills):
        before = [worker.calls.total() for worker in workers]
        while any(worker.calls.total() < count + 2 for worker, count in zip(workers, before, strict=True)):
            time.sleep(0.05)
            if time.monotonic() > end:
                return number
        pid = device.pid()
        if pid is not None:
            time.sleep(number % 7 * 0.01)
            os.kill(pid, signal.SIGKILL)
    return kills


def _memories(device: Device) -> Any:
    return device.cache(lambda cache: cache.list(Filter(scope=Scope.all(), with_expired=True), limit=100_000)).memories


def _compare(device: Device, workers: list[Worker], hub: str, others: set[str]) -> None:
    found = {memory.id: memory for memory in _memories(device)}
    for worker in workers:
        for memory_id, text in worker.texts.items():
            assert found[memory_id].content == text, (worker.name, text, found[memory_id].content)
            assert (worker.name in found[memory_id].tags) or memory_id not in worker.tagged, (worker.name, text)
        assert not worker.gone & set(found)
    own = {memory_id for worker in workers for memory_id in worker.texts}
    assert {memory.title for memory in found.values() if memory.id not in own} == others, "and nothing else"

    async def inside(cache: MemoryCache) -> tuple[set[str], int, int, str]:
        linked = {memory.id for memory, _ in await cache.related(hub)}
        patterns, seen = await cache.database.read(
            lambda c: c.execute(
                "SELECT count(DISTINCT file_id), count(*) FROM pattern_occurrences JOIN patterns USING (file_id)"
                " WHERE category = 'mixing'"
            ).fetchone()
        )
        state = await cache.database.read(lambda c: c.execute("PRAGMA integrity_check").fetchone()[0])
        return linked, patterns, seen, state

    linked, patterns, seen, state = device.cache(inside)
    assert linked == {memory_id for worker in workers for memory_id in worker.linked}
    sightings = sum(worker.sightings for worker in workers)
    assert (patterns, seen) == (min(sightings, 1), sightings), (patterns, seen, sightings)
    assert state == "ok"


def _finish(worker: Worker, ids: Any) -> None:
    """The tools that change what belongs to all."""
    worker.say("pattern_mark_as_skill", pattern_ids=[ids.pattern])
    worker.say("resolve_conflict", id=ids.conflict, keep="both")
    worker.say("forget", id=ids.other)
    assert "Undone: forget" in worker.say("undo_last_change")


def main() -> None:
    """Run as the command line says, and print figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("seconds", type=float)
    parser.add_argument("--kills", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as base:
        figures = run(Path(base), arguments.seconds, arguments.kills)
    for name, value in figures.items():
        print(f"{name}: {value}")
    print("nothing lost, nothing twice, no call failed")


if __name__ == "__main__":
    main()
