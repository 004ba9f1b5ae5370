"""This project's recall beside other memory servers, over MCP, on the same questions, in one run.

    RECALL_DATA=<folder> python -m benchmarks.recall_peers [--sets locomo-sess] [--peers a,b] [--questions 200]
        [--environments FOLDER] [--json FILE]

Every peer is installed from its package into an environment of its own (kept under --environments), started with an
empty home of its own, offline, and asked through its tools with its defaults. Each memory is stored with a mark in its
text; an answer is read as the order of the marks in it. What cannot run here is listed with the reason.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from benchmarks.recall_quality import LIMIT, Collection, load, score

_ROOT = Path(__file__).parents[1]
_MARK = re.compile(r"refmark(\d+)x")
_INSTALL_SECONDS, _START_SECONDS, _CALL_SECONDS = 1800, 180, 120

Arguments = dict[str, Any]


@dataclass(frozen=True)
class Peer:
    """How a memory server is installed, started and used.

    Attributes:
        package: on PyPI, or on npm when it begins with `@`; empty: this project.
        python: what its Python must be able to do: a condition that such a Python finds true.
        command: from the folder of its environment and its home.
        store, ask: (tool, arguments) of one memory and of one question.
    """

    package: str
    command: Callable[[Path, Path], list[str]]
    environment: Callable[[Path], dict[str, str]]
    store: Callable[[str, str], tuple[str, Arguments]]
    ask: Callable[[str], tuple[str, Arguments]]
    python: str = "True"


PEERS = {
    "claude-onedrive-memory": Peer(
        package="",
        command=lambda _, __: [sys.executable, "-m", "command_line", "mcp"],
        environment=lambda home: {
            "CLAUDE_MEMORY_HOME": str(home), "CLAUDE_MEMORY_DAEMON_AUTOSTART": "false", "PYTHONPATH": str(_ROOT),
        },
        store=lambda mark, text: ("remember", {"content": f"{text}\n\n{mark}", "category": "learning", "global": True}),
        ask=lambda question: ("recall", {"query": question, "limit": LIMIT, "all": True, "max_tokens": 20000}),
    ),
    "basic-memory": Peer(
        package="basic-memory",
        python="sys.version_info >= (3, 12)",
        command=lambda folder, _: [str(folder / "bin" / "basic-memory"), "mcp"],
        environment=lambda home: {
            "BASIC_MEMORY_HOME": str(home / "notes"), "BASIC_MEMORY_CONFIG_DIR": str(home / "config"),
            "BASIC_MEMORY_NO_PROMOS": "1",
        },
        store=lambda mark, text: ("write_note", {"title": mark, "content": text, "directory": "notes"}),
        ask=lambda question: ("search_notes", {"query": question, "page_size": LIMIT}),
    ),
    "mcp-memory-service": Peer(
        package="mcp-memory-service",
        python="hasattr(__import__('sqlite3').Connection, 'enable_load_extension')",
        command=lambda folder, _: [str(folder / "bin" / "memory"), "server"],
        environment=lambda home: {
            "MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec", "MCP_MEMORY_SQLITE_PATH": str(home / "memory.db"),
        },
        # With a conversation id its guard against duplicates does not refuse memories.
        store=lambda mark, text: ("memory_store", {"content": f"{text}\n\n{mark}", "conversation_id": mark}),
        ask=lambda question: ("memory_search", {"query": question, "limit": LIMIT}),
    ),
    "mempalace": Peer(
        package="mempalace",
        command=lambda folder, home: [str(folder / "bin" / "mempalace-mcp"), "--palace", str(home / "palace")],
        environment=lambda _: {},
        store=lambda mark, text: (
            "mempalace_add_drawer", {"wing": "notes", "room": "notes", "content": f"{mark}\n\n{text}"},
        ),
        ask=lambda question: ("mempalace_search", {"query": question[:250], "limit": 3 * LIMIT}),
    ),
    "server-memory": Peer(
        package="@modelcontextprotocol/server-memory",
        command=lambda folder, _: [
            "node", str(folder / "node_modules/@modelcontextprotocol/server-memory/dist/index.js"),
        ],
        environment=lambda home: {"MEMORY_FILE_PATH": str(home / "memory.jsonl")},
        store=lambda mark, text: (
            "create_entities", {"entities": [{"name": mark, "entityType": "note", "observations": [text]}]},
        ),
        ask=lambda question: ("search_nodes", {"query": question}),
    ),
}  # fmt: skip


class CannotRun(Exception):
    """The peer cannot be measured here, for the reason given."""


@dataclass(frozen=True)
class Result:
    """Means over the questions; milliseconds over MCP, as a client waits for them."""

    set: str
    peer: str
    questions: int
    recall_5: float
    recall_10: float
    ndcg_10: float
    mrr: float
    store_p50_ms: float
    ask_p50_ms: float
    ask_p95_ms: float


def install(name: str, peer: Peer, environments: Path) -> Path:
    """The folder of the peer's environment; made once."""
    folder = environments / name
    if not peer.package or (folder / "complete").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    if peer.package.startswith("@"):
        _run(["npm", "install", "--silent", "--prefix", str(folder), peer.package])
    else:
        _run([_python(peer.python), "-m", "venv", str(folder)])
        _run([str(folder / "bin" / "pip"), "install", "--quiet", peer.package])
    (folder / "complete").touch()
    return folder


def _python(condition: str) -> str:
    """A Python that meets the condition: this one, one on the path, or the system's."""
    names = [sys.executable, "python3.13", "python3.12", "python3.11", "/usr/bin/python3"]
    names += sorted(map(str, Path.home().glob(".pyenv/versions/3.1[1-9]*/bin/python")))
    for name in names:
        if shutil.which(name):
            found = subprocess.run([name, "-c", f"import sys; sys.exit(not ({condition}))"], capture_output=True)
            if found.returncode == 0:
                return name
    raise CannotRun(f"no Python here with {condition}")


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotRun(f"{command[0]}: {error}") from error
    if done.returncode:
        raise CannotRun(f"{Path(command[0]).name} failed: {done.stderr.strip().splitlines()[-1:]}")


async def call(client: Client, tool: str, arguments: Arguments) -> str:
    """The text of the answer. Raises: CannotRun when the tool reports an error."""
    with anyio.fail_after(_CALL_SECONDS):
        answer = await client.call_tool(tool, arguments)
    text = "\n".join(part.text for part in answer.content if part.type == "text")
    if answer.is_error or re.match(r"(?i)\W*error", text) or '"success": false' in text:
        raise CannotRun(f"{tool}: {' '.join(text.split())[:160]}")
    return text


async def measure(peer: Peer, folder: Path, collection: Collection) -> list[tuple[float, ...]]:
    """Per question: the four scores, its milliseconds, and (the same in every row) the median of storing."""
    documents = collection.documents
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        command = peer.command(folder, Path(home))
        environment = {**os.environ, "HOME": home, "HF_HUB_OFFLINE": "1", **peer.environment(Path(home))}
        parameters = StdioServerParameters(command=command[0], args=command[1:], env=environment, cwd=home)
        async with Client(parameters, mode="legacy", read_timeout_seconds=_START_SECONDS) as client:
            stored: list[float] = []
            for number, document in enumerate(documents):
                started = time.perf_counter()
                await call(client, *peer.store(f"refmark{number}x", document["text"]))
                stored.append((time.perf_counter() - started) * 1000)
            rows: list[tuple[float, ...]] = []
            for question in collection.questions:
                started = time.perf_counter()
                text = await call(client, *peer.ask(question.text))
                waited = (time.perf_counter() - started) * 1000
                marks = [int(number) for number in dict.fromkeys(_MARK.findall(text))]
                found = [documents[number]["id"] for number in marks if number < len(documents)]
                rows.append((*score(found[:LIMIT], question.relevant), waited, statistics.median(stored)))
            return rows


async def compare(name: str, peer: Peer, folder: Path, set_: str, collections: list[Collection]) -> Result:
    rows: list[tuple[float, ...]] = []
    for collection in collections:
        if collection.questions:
            rows.extend(await measure(peer, folder, collection))
    columns = list(zip(*rows, strict=True))
    waited = sorted(columns[4])
    return Result(
        set_, name, len(rows), *(round(statistics.fmean(column), 4) for column in columns[:4]),
        round(statistics.median(columns[5]), 1), round(waited[len(waited) // 2], 1),
        round(waited[int(len(waited) * 0.95)], 1),
    )  # fmt: skip


def thinned(collections: list[Collection], questions: int) -> list[Collection]:
    """The first two collections, whole, with about so many questions in all, evenly taken."""
    chosen: list[Collection] = []
    for collection in collections[:2]:
        step = max(1, len(collection.questions) * min(2, len(collections)) // questions)
        chosen.append(Collection(collection.documents, collection.questions[::step]))
    return chosen


def reason(error: BaseException) -> str:
    """The innermost cause in one line: task groups wrap what went wrong."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Recall of memory servers side by side.")
    parser.add_argument("--sets", default="locomo-sess")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--environments", type=Path, default=Path(tempfile.gettempdir()) / "recall-peers")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    data = os.environ.get("RECALL_DATA")
    if not data:
        parser.error("set RECALL_DATA to the folder of the question sets")
    results: list[dict[str, Any]] = []
    print(f"{'set':<13}{'peer':<24}{'n':>5}{'R@5':>7}{'R@10':>7}{'MRR':>7}{'store p50':>11}{'ask p50':>9}{'p95 ms':>8}")
    for set_ in arguments.sets.split(","):
        collections = thinned(load(Path(data) / set_), arguments.questions)
        for name in arguments.peers.split(","):
            try:
                folder = install(name, PEERS[name], arguments.environments)
                found = anyio.run(compare, name, PEERS[name], folder, set_, collections)
            except Exception as error:  # noqa: BLE001 - whatever stops a peer is a result of this comparison
                results.append({"set": set_, "peer": name, "cannot_run": reason(error)})
                print(f"{set_:<13}{name:<24}cannot run: {reason(error)}", flush=True)
            else:
                results.append(asdict(found))
                print(
                    f"{set_:<13}{name:<24}{found.questions:>5}{found.recall_5:>7.3f}{found.recall_10:>7.3f}"
                    f"{found.mrr:>7.3f}{found.store_p50_ms:>11.1f}{found.ask_p50_ms:>9.1f}{found.ask_p95_ms:>8.1f}",
                    flush=True,
                )
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
