"""Run the MCP inspector and the MCP conformance suite against this server: `make conformance`.

Both come from npm, with the Node 22 that the inspector needs, into a cache folder outside the project. The
inspector talks to the shipped command over stdio; the conformance suite knows HTTP without a bearer only,
so it gets the same server from the same factory on a loopback port of its own.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("node@22", "@modelcontextprotocol/inspector@2.12.0", "@modelcontextprotocol/conformance@0.2.0-alpha.12")
TOOLS = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "claude-memory-conformance"
# Scenarios that need no reference fixtures in the server under test.
SCENARIOS = (
    "server-initialize", "ping", "tools-list", "completion-complete", "tools-call-error", "resources-list",
    "prompts-list", "server-session-lifecycle", "server-sse-multiple-streams", "dns-rebinding-protection",
    "caching", "sep-2164-resource-not-found", "http-header-validation",
)  # fmt: skip
OURS = (
    "PYTHONPATH", "CLAUDE_MEMORY_HOME", "CLAUDE_MEMORY_STORAGE_BACKEND", "CLAUDE_MEMORY_STORAGE_PATH",
    "CLAUDE_MEMORY_DAEMON_AUTOSTART",
)  # fmt: skip
SERVER = [sys.executable, "-m", "command_line", "mcp"]


def main() -> int:
    """Run everything; 0 when all passed."""
    install()
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary)
        (base / "shared").mkdir()
        environment = {
            **os.environ,
            "PATH": f"{TOOLS / 'node_modules' / '.bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "CLAUDE_MEMORY_HOME": str(base / "home"),
            "CLAUDE_MEMORY_STORAGE_BACKEND": "folder",
            "CLAUDE_MEMORY_STORAGE_PATH": str(base / "shared"),
            "CLAUDE_MEMORY_DAEMON_AUTOSTART": "false",
        }
        outcomes = {**inspect(environment), **conform(environment, base)}
    for name, good in outcomes.items():
        print(f"{'pass' if good else 'FAIL'}  {name}")
    failed = sum(not good for good in outcomes.values())
    print(f"{len(outcomes) - failed} passed, {failed} failed")
    return 1 if failed else 0


def install() -> None:
    """Bring the verifiers, once."""
    if (TOOLS / "node_modules" / ".bin" / "conformance").exists():
        return
    TOOLS.mkdir(parents=True, exist_ok=True)
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(TOOLS), *PACKAGES], check=True)


def inspect(environment: dict[str, str]) -> dict[str, bool]:
    """The inspector's command line over stdio, in both protocol eras."""
    outcomes: dict[str, bool] = {}
    for era in ("legacy", "modern"):
        remember = ["--tool-arg", "category=learning", "content=Inspected by hand", "global=true"]
        for name, method, arguments in (
            ("tools/list", "tools/list", ["--strict"]),
            ("resources/list", "resources/list", []),
            ("prompts/list", "prompts/list", []),
            ("remember", "tools/call", ["--tool-name", "remember", *remember]),
            ("recall", "tools/call", ["--tool-name", "recall", "--tool-arg", "query=inspected", "all=true"]),
        ):
            # The inspector starts servers with hardly any environment.
            server = ["env", *(f"{key}={environment[key]}" for key in OURS), *SERVER]
            command = ["mcp-inspector", "--cli", "--protocol-era", era, "--format", "json", *server, "--method", method]
            done = subprocess.run([*command, *arguments], env=environment, capture_output=True, text=True, check=False)
            good = done.returncode == 0 and (name != "recall" or "Inspected by hand" in done.stdout)
            outcomes[f"inspector, {era}: {name}"] = good
            if not good:
                print(done.stdout[-1500:], done.stderr[-1500:], sep="\n")
    return outcomes


def conform(environment: dict[str, str], base: Path) -> dict[str, bool]:
    """The conformance suite's scenarios over HTTP."""
    outcomes: dict[str, bool] = {}
    with http_server(environment) as url:
        for scenario in SCENARIOS:
            command = ["conformance", "server", "--url", url, "--scenario", scenario, "-o", str(base / "results")]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
            outcomes[f"conformance: {scenario}"] = done.returncode == 0
            if done.returncode:
                print(done.stdout[-1500:], done.stderr[-1500:], sep="\n")
    return outcomes


@contextmanager
def http_server(environment: dict[str, str]) -> Iterator[str]:
    """The server over HTTP without a bearer, on a free loopback port."""
    command = [sys.executable, "-m", "tests.conformance.server"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        try:
            deadline = time.monotonic() + 20
            while not _answers(url):
                if time.monotonic() > deadline:
                    raise RuntimeError("the HTTP server did not come up")
                time.sleep(0.1)
            yield url
        finally:
            process.terminate()


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(urllib.request.Request(url, method="OPTIONS"), timeout=2)
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
