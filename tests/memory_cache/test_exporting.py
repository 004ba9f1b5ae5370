"""Exports hold whole memories, further front matter included, in JSON and in markdown."""

import json
import sqlite3
from collections.abc import Iterator

import pytest

from memory_cache import exporting, files

from .store import memory_file, new_connection

FILE = b"""---
id: 0b1c2d3e-0000-4000-8000-000000000001
category: decision
tags: ["a, b", c]
created: "2026-01-01T00:00:00.000Z"
updated: "2026-01-02T00:00:00.000Z"
aliases: [x, 007]   # by hand
nested:
  deep: yes

  more: |
    two
    lines
list:
- a
---
# Title

```markdown
a fence
```
"""


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = new_connection()
    yield connection
    connection.close()


def test_further_front_matter_is_exported_as_the_file_spells_it(connection: sqlite3.Connection) -> None:
    files.add(connection, "memories/decision/a.md", FILE)
    files.add(connection, "memories/decision/b.md", memory_file("plain", "Text"))
    ours, plain = sorted(exporting.whole(connection), key=lambda memory: "frontMatter" not in memory)
    start, end = FILE.index(b"aliases"), FILE.index(b"---\n# Title")
    assert ours["frontMatter"] == FILE[start:end].decode()
    assert "frontMatter" not in plain
    assert json.loads(json.dumps(ours)) == ours
    assert [memory["id"] for memory in exporting.whole(connection, "decision")] == [ours["id"]]


def test_markdown_shows_facts_as_a_list_and_the_text_in_a_fence_that_it_cannot_close(
    connection: sqlite3.Connection,
) -> None:
    files.add(connection, "memories/decision/a.md", FILE)
    text = exporting.as_markdown(exporting.whole(connection))
    assert text.startswith("# Memories\n\n## Title\n\n- id: 0b1c2d3e-0000-4000-8000-000000000001\n")
    assert '- tags: ["a, b", c]\n- created: 2026-01-01T00:00:00.000Z\n' in text
    assert "- aliases: [x, 007]   # by hand\n- nested:\n    deep: yes\n  \n    more: |\n" in text
    assert text.endswith("\n````markdown\n# Title\n\n```markdown\na fence\n```\n````\n")
