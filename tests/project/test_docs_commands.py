"""Every command line of the docs' shell blocks is run, in the home directory of a user of its own, and must succeed."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_line.person import ROOT, Person
from tests.graph_emulator import Account, Emulator
from tests.graph_emulator.certificate import loopback_tls
from tests.memory_cache.importing.test_claude_mem import database

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "deploy").rglob("*.md")])
NOT_RUN = {
    "make run": "does not end by itself; tests/command_line/test_up.py runs what it calls",
    "make test": "runs this test",
    "uv tool install .": "needs uv and a package index; tests/project/test_installed.py installs the wheel",
    "docker compose": "needs a container engine",
}
APP = "11111111-2222-3333-4444-555555555555"


def commands(page: Path) -> list[str]:
    """The command lines of the page's shell blocks, without comments."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    lines = [re.sub(r"\s+#.*", "", line).strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


@pytest.fixture
def person(tmp_path: Path) -> Iterator[Person]:
    """A user with what the docs speak of: a OneDrive, notes, other programs' data, an app registration."""
    made = Person(tmp_path)
    for name in ("OneDrive", "notes", "code/widget", ".claude-mem"):
        (made.home / name).mkdir(parents=True)
    (made.home / "notes" / "tea.md").write_text("# Tea\n\nAt four.\n")
    (made.home / "memory.jsonl").write_text(
        '{"type": "entity", "name": "tea", "entityType": "drink", "observations": ["hot"]}\n'
    )
    database(made.home / ".claude-mem" / "claude-mem.db")
    editor = made.tools / "editor"
    editor.write_text('#!/bin/sh\necho "settled by hand" > "$1"\n')
    editor.chmod(0o755)
    context, authority = loopback_tls(tmp_path)
    with Emulator(Account.PERSONAL, tls=context) as emulator:
        made.environment |= {
            "CLAUDE_MEMORY_GRAPH_URL": emulator.url, "AZURE_AUTHORITY_HOST": emulator.origin,
            "SSL_CERT_FILE": str(authority), "CLAUDE_MEMORY_ONEDRIVE_PLAIN_TOKEN_CACHE": "true",
            "CLAUDE_MEMORY_ONEDRIVE_PUSH": "false", "VISUAL": str(editor),
        }  # fmt: skip
        yield made
        made.end()


def open_conflicts(person: Person, count: int) -> list[str]:
    """So many memories whose lines were changed here and in the storage; their ids."""
    notes, storage = person.home / "facts", person.home / "OneDrive" / "memories"
    notes.mkdir()

    def noted(state: str) -> None:
        for number in range(count):
            (notes / f"{number}.md").write_text(f"# Fact {number}\n\n{state}\n")
        person.run("import", str(notes), "--global")

    person.run("setup", "--yes", "--path", str(storage), "--no-service")
    noted("as it was")
    person.run("sync")
    for path in storage.glob("memories/**/*.md"):
        path.write_text(path.read_text().replace("as it was", "as another machine says"))
    noted("as this one says")
    person.run("sync")
    found = json.loads(person.run("conflicts", "--json").stdout)["conflicts"]
    assert len(found) == count
    return [conflict["id"] for conflict in found]


def shell(person: Person, line: str, folder: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", line], env=person.environment, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize(
    "page", [page for page in PAGES if commands(page)], ids=lambda page: str(page.relative_to(ROOT))
)
def test_every_command_of_a_page_works(page: Path, person: Person) -> None:
    folder = person.home
    ids: list[str] = []
    if page.name == "conflicts.md":
        ids = open_conflicts(person, 5)
        (folder / "merged.md").write_text("Fact\n\nas both say\n")
    elif page.name == "onedrive.md":
        # Nobody sits at this terminal; `test_wizard` logs in by `setup`.
        settings = person.device / "config.toml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f'[storage]\nbackend = "onedrive"\n[onedrive]\nclient_id = "{APP}"\n')
        person.run("login", "--device-code")
    elif page.name != "README.md":
        person.run("setup", "--yes", "--no-service")
        person.run("remember", "--category", "learning", "--global", "The build needs Python 3.11")
        person.run("sync")
    for line in commands(page):
        if any(line.startswith(known) for known in NOT_RUN):
            continue
        if page.name == "README.md" and "--backend onedrive" in line:
            login(person)
        shell(
            person, line.replace("--client-id ID", f"--client-id {APP}").replace("ID", ids[0] if ids else "ID"), folder
        )
        if "resolve" in line:
            ids.pop(0)


def login(person: Person) -> None:
    """Log in to OneDrive while memories are elsewhere, so that nobody has to be asked later."""
    own = dict(person.environment)
    person.environment["CLAUDE_MEMORY_STORAGE_BACKEND"] = "onedrive"
    person.environment["CLAUDE_MEMORY_ONEDRIVE_CLIENT_ID"] = APP
    person.run("login", "--device-code")
    person.environment = own


def test_what_is_not_run_is_still_in_the_docs() -> None:
    named = [line for page in PAGES for line in commands(page)]
    assert [known for known in NOT_RUN if not any(line.startswith(known) for line in named)] == []


def test_every_command_within_the_text_can_be_parsed() -> None:
    """`claude-memory …` in running text and tables: the words are taken by the command line."""
    unusable = []
    for page in PAGES:
        for text in re.findall(r"`(claude-memory [^`]+)`", page.read_text("utf-8")):
            words = text.partition("#")[0].replace(" N", " 1").split()[1:]
            if any(mark in text for mark in ("…", "|", "COMMAND", "SOURCE", "KIND", "[")):
                continue
            unusable += [] if parses(words) else [f"{page.name}: {text}"]
    assert unusable == []


def parses(words: list[str]) -> bool:
    from command_line import dispatch

    try:
        parser = dispatch._parser(list(dispatch.COMMANDS))
        return parser.parse_args(words) is not None
    except dispatch._Misused:
        return False
