"""What the docs name is there: pages, tests, commands."""

import re
from pathlib import Path

import pytest

from command_line import dispatch

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_of_the_project_that_is_named_exists(page: Path) -> None:
    rooms = "memory_cache|storage_backends|daemon|mcp_server|dashboard|command_line|tests|benchmarks|deploy|docs"
    named = re.findall(rf"`((?:{rooms})/[\w./-]*)`", page.read_text("utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_is_named_exists(page: Path) -> None:
    known = set(dispatch.COMMANDS) | {"hook", "COMMAND", "--version"}
    named = re.findall(r"(?:^|[`\n])claude-memory ([A-Za-z-]+)", page.read_text("utf-8"))
    assert set(named) <= known
