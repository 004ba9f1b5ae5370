"""Diagrams of memories with any titles at all are valid mermaid and show the titles."""

import itertools
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.mermaid import diagram, label
from memory_cache.models import Memory
from tests.mcp_server.world import START

TITLES = [
    'A "quoted" [title] (x) {y} <b> & `c`; #1 | \\ end', "end", "graph TD", "subgraph x", "日本語のメモ 🙂",
    'click m0 "javascript:alert(1)"', "%% comment", "%%{init: {}}%%", "a-->b", "--- x ---", "`markdown **bold**`",
    "style m0 fill:red", "", '"', "#quot;", "$x^2$ $$y$$", "it's http://x.y/z?a=b&c=d", "1. list item", "- list",
    "* star", "@{shape: cyl}", "linkStyle 0", "x" * 300,
]  # fmt: skip


def memories(titles: list[str]) -> list[Memory]:
    return [
        Memory(id=f"{n:08x}", title=title, category="x", content="", created=START, updated=START, path="p")
        for n, title in enumerate(titles)
    ]


@given(st.text())
def test_a_label_holds_nothing_that_mermaid_could_take_for_syntax(title: str) -> None:
    text = label(title)
    assert re.fullmatch(r'"[^"\n\r\[\]{}()<>&`|\\*_~$%]+"', text)
    assert len(re.sub(r"#\d+;", "x", text)) <= 53


def test_each_link_is_drawn_once_and_only_between_shown_memories() -> None:
    shown = memories(["a", "b", "c", "d"])
    ids = [memory.id for memory in shown]
    edges = [(ids[0], ids[1]), (ids[1], ids[0]), (ids[1], ids[1]), (ids[2], ids[3]), (ids[0], "gone")]
    text, left_out = diagram(shown, edges, 3)
    assert text.splitlines() == ["graph LR", '  m0["a"]', '  m1["b"]', '  m2["c"]', "  m0 --- m1"]
    assert left_out == 1


@pytest.mark.skipif(
    "MERMAID_NODE_MODULES" not in os.environ, reason="needs a node_modules folder with mermaid and jsdom"
)
def test_mermaids_own_parser_reads_every_title_and_link() -> None:
    shown = memories(TITLES)
    edges = [(one.id, other.id) for one, other in itertools.pairwise(shown)]
    text, _ = diagram(shown, edges, 60)
    script = Path(__file__).with_name("mermaid_check.mjs")
    done = subprocess.run(["node", str(script)], input=text, capture_output=True, text=True, check=True, timeout=60)
    found = json.loads(done.stdout)
    # The parser holds entities as marks of its own; a browser shows them as the characters.
    read = [re.sub(r"ﬂ°°(\d+)¶ß", lambda match: chr(int(match[1])), one).lstrip("\u200b") for one in found["labels"]]
    assert read[:-1] == [title or "untitled" for title in TITLES[:-1]]
    assert found["links"] == len(edges)
