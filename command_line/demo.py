"""`claude-memory demo`: two devices, one storage, real MCP clients. Remember on A, recall on B.

Each device is a home directory of its own with its own daemon process and SQLite cache; both share one
folder in a temporary directory, and everything ends and vanishes with the command.
"""

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STEP_SECONDS = 20.0
_COMMAND = (sys.executable, "-m", "command_line")
_TEXT = """# Release checklist

Run the migrations first.

Then deploy the web service.

Tell the team in the channel.
"""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing the demo shows; `seconds` from the first client's call to the other client's sight of it."""

    name: str
    ok: bool
    seconds: float
    detail: str


@dataclass(slots=True)
class Device:
    """One machine: its name, its environment, and the MCP client of its Claude."""

    name: str
    environment: dict[str, str]
    client: Any = None
    steps: list[Step] = field(default_factory=list)

    async def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool as Claude would; the text it would see. Raises RuntimeError with that text on failure."""
        result = await self.client.call_tool(tool, arguments)
        text = "\n".join(block.text for block in result.content if hasattr(block, "text"))
        if result.is_error:
            raise RuntimeError(text)
        return text


def register(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = commands.add_parser("demo", help="two devices, one folder: remember on one, recall on the other")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--onedrive", action="store_true", help="over a Graph emulator (only from a checkout)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show the steps; 0 when each of them held."""
    import anyio

    started = time.monotonic()
    steps = anyio.run(_demo, _printer(arguments.json), arguments.onedrive)
    good = bool(steps) and all(step.ok for step in steps)
    if arguments.json:
        report = {
            "ok": good,
            "seconds": round(time.monotonic() - started, 2),
            "steps": [{"name": s.name, "ok": s.ok, "seconds": s.seconds, "detail": s.detail} for s in steps],
        }
        print(json.dumps(report, ensure_ascii=False, indent=2))
    return 0 if good else 1


def _printer(silent: bool) -> Callable[[str], None]:
    return (lambda line: None) if silent else (lambda line: print(line, flush=True))


async def _demo(say: Callable[[str], None], onedrive: bool) -> list[Step]:
    with tempfile.TemporaryDirectory(prefix="claude-memory-demo-", ignore_cleanup_errors=True) as temporary:
        async with AsyncExitStack() as stack:
            base = Path(temporary)
            shared = await stack.enter_async_context(_emulator(base)) if onedrive else _shared_folder(base)
            devices = [Device(name, _environment(base, name) | shared) for name in ("A", "B")]
            for device in devices:
                await stack.enter_async_context(_daemon(device))
                await stack.enter_async_context(_claude(device))
                say(f"device {device.name}: daemon and MCP client are up")
            return await _steps(devices[0], devices[1], say)


def _shared_folder(base: Path) -> dict[str, str]:
    folder = base / "shared"
    folder.mkdir()
    return {"CLAUDE_MEMORY_STORAGE_BACKEND": "folder", "CLAUDE_MEMORY_STORAGE_PATH": str(folder)}


def _environment(base: Path, name: str) -> dict[str, str]:
    home, work = base / f"home-{name}", base / f"work-{name}"
    work.mkdir()
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith("CLAUDE_")},
        "CLAUDE_MEMORY_HOME": str(home),
        "CLAUDE_MEMORY_DEVICE_NAME": f"demo-{name}",
        "CLAUDE_MEMORY_DAEMON_AUTOSTART": "false",
        "CLAUDE_PROJECT_DIR": str(work),
        "PYTHONPATH": str(Path(__file__).parents[1]),
    }


@asynccontextmanager
async def _emulator(base: Path) -> AsyncIterator[dict[str, str]]:
    import anyio

    if not (Path(__file__).parents[1] / "tests" / "graph_emulator").is_dir():
        raise SystemExit(
            "claude-memory demo --onedrive needs a checkout of the project: the emulator is not installed."
        )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-m", "tests.graph_emulator", "--port", "0"]
    with (base / "emulator.log").open("wb") as log:
        async with await anyio.open_process(command, env=environment, stderr=log) as process:
            try:
                assert process.stdout is not None  # noqa: S101  (opened as a pipe above)
                address = ""
                with anyio.fail_after(STEP_SECONDS):
                    while not (found := re.search(r"http://\S+", address)):
                        address += (await process.stdout.receive()).decode()
                yield {
                    "CLAUDE_MEMORY_STORAGE_BACKEND": "onedrive",
                    "CLAUDE_MEMORY_GRAPH_URL": found.group(0),
                    "CLAUDE_MEMORY_GRAPH_TOKEN": "emulator-token",
                }
            finally:
                process.terminate()


@asynccontextmanager
async def _daemon(device: Device) -> AsyncIterator[None]:
    import anyio

    log_file = Path(device.environment["CLAUDE_MEMORY_HOME"]).with_suffix(".log")
    with log_file.open("wb") as log:
        command = [*_COMMAND, "daemon", "run"]
        async with await anyio.open_process(
            command, env=device.environment, stdin=None, stdout=log, stderr=log
        ) as process:
            try:
                await _until_running(device, process, log_file)
                yield
            finally:
                process.terminate()
                with anyio.move_on_after(10, shield=True):
                    await process.wait()
                if process.returncode is None:
                    process.kill()


async def _until_running(device: Device, process: Any, log_file: Path) -> None:
    import anyio

    deadline = anyio.current_time() + STEP_SECONDS
    while anyio.current_time() < deadline:
        done = await anyio.run_process([*_COMMAND, "daemon", "status", "--json"], env=device.environment, check=False)
        if done.returncode == 0 and b'"running": true' in done.stdout:
            return
        if process.returncode is not None:
            break
        await anyio.sleep(0.1)
    log = await anyio.Path(log_file).read_text("utf-8", "replace")
    raise SystemExit(f"The daemon of device {device.name} did not start:\n{log}")


@asynccontextmanager
async def _claude(device: Device) -> AsyncIterator[None]:
    from mcp import Client, StdioServerParameters

    parameters = StdioServerParameters(
        command=_COMMAND[0], args=[*_COMMAND[1:], "mcp"], env=device.environment,
        cwd=device.environment["CLAUDE_PROJECT_DIR"],
    )  # fmt: skip
    async with Client(parameters) as client:
        device.client = client
        yield


async def _steps(a: Device, b: Device, say: Callable[[str], None]) -> list[Step]:
    steps: list[Step] = []

    async def show(name: str, action: Callable[[], Awaitable[str]]) -> None:
        started = time.monotonic()
        try:
            detail, good = await action(), True
        except (RuntimeError, TimeoutError) as error:
            detail, good = str(error), False
        steps.append(Step(name, good, round(time.monotonic() - started, 3), detail))
        say(f"{'ok  ' if good else 'FAIL'} {steps[-1].seconds:6.2f} s  {name}: {detail}")

    memory_id = ""

    async def remember() -> str:
        nonlocal memory_id
        answer = await a.call("remember", category="task", content=_TEXT, tags=["release"], **{"global": True})
        found = re.search(r"ID:\W*([0-9a-f-]{36})", answer)
        if not found:
            raise RuntimeError(f"no id in the answer: {answer}")
        memory_id = found.group(1)
        return f"memory {memory_id[:8]}"

    async def edit() -> str:
        await b.call("update", id=memory_id, content=_TEXT.replace("first.", "first, on the replica too."))
        return await _seen(a, memory_id, "on the replica too")

    async def both_edit() -> str:
        import anyio

        text = _TEXT.replace("first.", "first, on the replica too.")
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: a.call("update", id=memory_id, content=text.replace("Run", "Always run")))
            group.start_soon(lambda: b.call("update", id=memory_id, content=text.replace("the channel", "#releases")))
        for device in (a, b):
            await _seen(device, memory_id, "Always run", "#releases")
        return "both edits are in both places"

    async def forget() -> str:
        await b.call("forget", id=memory_id)
        return await _gone(a, memory_id)

    await show("remembered by MCP on A", remember)
    await show("recalled by MCP on B", lambda: _seen(b, memory_id, "Run the migrations"))
    await show("edited on B, seen on A", edit)
    await show("edited on both at once, merged", both_edit)
    await show("forgotten on B, gone on A", forget)
    return steps


async def _seen(device: Device, memory_id: str, *texts: str) -> str:
    return await _poll(
        device,
        lambda answer: memory_id in answer and all(text in answer for text in texts),
        f"device {device.name} has it: {', '.join(texts)}",
    )


async def _gone(device: Device, text: str) -> str:
    return await _poll(device, lambda answer: text not in answer, f"device {device.name} no longer finds it")


async def _poll(device: Device, good: Callable[[str], bool], detail: str) -> str:
    import anyio

    answer = ""
    with anyio.move_on_after(STEP_SECONDS):
        while True:
            answer = await device.call("recall", query="release migrations deploy", all=True)
            if good(answer):
                return detail
            await anyio.sleep(0.05)
    raise TimeoutError(f"not within {STEP_SECONDS:.0f} s; device {device.name} last said: {answer[:300]}")
