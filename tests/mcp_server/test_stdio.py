"""The server in a process of its own over stdin and stdout, as a client without a daemon starts it."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters

from tests.mcp_server.test_connection import HELLO, READY, call, lines
from tests.mcp_server.test_schemas import CONTRACT
from tests.mcp_server.world import Claude, id_of

ROOT = Path(__file__).parents[2]
SERVE = """
import os, sys
from mcp_server import relay
def no_daemon():
    raise OSError("none can be started here")
code = relay.run(os.environ["CLAUDE_MEMORY_HOME"], os.environ, no_daemon)
"""


def environment(home: Path, **more: str) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("CLAUDE")}
    return {**inherited, "CLAUDE_MEMORY_HOME": str(home), "PYTHONPATH": str(ROOT), **more}


@asynccontextmanager
async def process(home: Path, cwd: Path, mode: str = "auto", **more: str) -> AsyncIterator[Claude]:
    parameters = StdioServerParameters(
        command=sys.executable, args=["-c", SERVE + "sys.exit(code)"], env=environment(home, **more), cwd=str(cwd)
    )
    async with Client(parameters, mode=mode) as client:
        yield Claude(client)


async def test_a_memory_survives_the_process(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "widget"
    home.mkdir()
    work.mkdir()
    async with process(home, work) as claude:
        answer = await claude.say("remember", category="decision", content="# Use WAL\n\n日本語 🙂")
        assert "Project: widget" in answer
        assert {tool.name for tool in (await claude.client.list_tools()).tools} == set(CONTRACT)
    async with process(home, tmp_path, "legacy", CLAUDE_PROJECT_DIR=str(work)) as claude:
        found = await claude.say("recall", query="日本語")
        assert id_of(answer) in found.replace("**ID:**", "ID:")
        assert "日本語 🙂" in found
        assert "from CLAUDE_PROJECT_DIR" in await claude.say("status")


async def test_two_processes_write_to_one_cache_at_once(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()

    async def write(claude: Claude, name: str) -> None:
        for number in range(25):
            await claude.say("remember", category="learning", content=f"{name} {number}", global_=True)

    async with process(home, tmp_path) as one, process(home, tmp_path, "legacy") as other:
        async with anyio.create_task_group() as group:
            group.start_soon(write, one, "one")
            group.start_soon(write, other, "other")
        assert "# 50 memories" in await one.say("get_statistics")
        assert "# 50 memories" in await other.say("get_statistics")


def test_every_byte_on_stdout_is_a_message_and_a_pipe_gets_its_answers(tmp_path: Path) -> None:
    requests = [call(number, "remember", category="learning", content=f"no {number} \ud83d") for number in range(2, 12)]
    # The server needs nothing of the daemon, the storage or the login.
    watch = SERVE + (
        "\nfound = {name.split('.')[0] for name in sys.modules}"
        "\nprint(found & {'daemon', 'storage_backends', 'msgraph', 'azure', 'command_line'} or code, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", watch],
        input=lines(HELLO, READY, *requests),
        capture_output=True,
        env=environment(tmp_path),
        check=False,
        timeout=60,
    )
    assert done.stderr == b"0\n"
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    answers = {message["id"]: message for message in messages if "id" in message}
    assert set(answers) == set(range(1, 12))
    assert all("Remembered" in answers[number]["result"]["content"][0]["text"] for number in range(2, 12))


@pytest.mark.parametrize(
    ("config", "environ", "says"),
    [
        ("[storage]\nbackendd = 'folder'\n", {}, "backend"),
        ("", {"CLAUDE_MEMORY_TOOLS_PROFILE": "huge"}, "profile"),
    ],
)
def test_a_start_that_fails_says_why_in_one_sentence(
    tmp_path: Path, config: str, environ: dict[str, str], says: str
) -> None:
    (tmp_path / "config.toml").write_text(config)
    done = subprocess.run(
        [sys.executable, "-c", SERVE + "sys.exit(code)"],
        input=lines(HELLO),
        capture_output=True,
        env=environment(tmp_path, **environ),
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert says in json.loads(done.stdout)["error"]["message"]
    assert says in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1


def test_the_light_entry_imports_nothing_heavy() -> None:
    heavy = "('mcp', 'pydantic', 'anyio', 'asyncio', 'starlette', 'uvicorn', 'numpy', 'aiosqlite')"
    program = (
        "import mcp_server.sessions, mcp_server.bearer, sys;"
        f" print([name for name in sys.modules if name.split('.')[0] in {heavy}])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=environment(Path("/")), check=True)
    assert done.stdout.strip() == b"[]"
