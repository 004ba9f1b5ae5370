"""`python -m tests.fuzz`: a megabyte of everything that could be slow, in every parser of outside text; none may take
more than a second."""

import json
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from daemon.merge import merge
from memory_cache import (
    conflicts,
    database,
    document_file,
    files,
    paths,
    pattern_file,
    private,
    project_identity,
    secrets_scan,
    settings,
    text_format,
    ttl,
)
from memory_cache.errors import MemoryCacheError
from memory_cache.home import Home
from memory_cache.models import FileKind
from memory_cache.search import dates, query, text
from storage_backends import names
from storage_backends.errors import StorageError
from storage_backends.onedrive import faults
from storage_backends.onedrive.delta import Cursor

SIZE = 1_000_000
NOW = datetime(2026, 12, 1, tzinfo=UTC)

_HEAD = b"---\nid: a1\ncategory: task\ncreated: 2026-01-01T00:00:00Z\nupdated: 2026-01-01T00:00:00Z\n"


def _filled(unit: str) -> str:
    return unit * (SIZE // len(unit.encode()))


UNITS = {
    "a": "a", "words": "word ", "lines": "line\n", "digits": "1", "hyphens": "a-", "brackets": "[", "braces": "{a: ",
    "quotes": '"', "dashes": "---\n", "keys": "key: value\n", "anchors": "&a [*a, *a]\n", "spaces": " ",
    "line ends": "\r\n", "hashes": "# x\n", "lists": "- x\n", "nested lists": " - ", "marks": "e\u0301", "emoji": "🙂",
    "chinese": "記憶", "slashes": "a/", "dots": "../", "tags": "<private>", "open tag": "<private",
    "dates": "2026-01-01 ", "months": "last week in may ", "copies": " (1)", "conflicts": "(conflicted copy ",
    "at": "git@a:b@", "urls": "https://a:b@c/d ", "secret": "AKIA", "equals": "password=", "nul": "\x00",
    "secrets": "ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ", "backslashes": "\\", "percent": "%20", "json": '{"a":',
    "colons": "a: b: ", "pipes": "a: |\n  x\n", "ticks": "```\n",
}  # fmt: skip
TEXTS = {name: _filled(unit) for name, unit in UNITS.items()}


def _in_front_matter(value: str) -> bytes:
    return _HEAD + value.encode() + b"\n---\nbody\n"


def _body(value: str) -> bytes:
    return _HEAD + b"---\n" + value.encode()


def _index(value: str) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.row_factory = sqlite3.Row
    database.migrate(connection)
    files.add(connection, "memories/task/a.md", _body(value))
    connection.close()


def _config(value: str) -> None:
    with TemporaryDirectory() as place:
        home = Home(Path(place))
        home.config_file.write_text(f"[storage]\npath = {value}\n", encoding="utf-8")
        settings.load(home, {})


PARSERS: dict[str, Callable[[str], object]] = {
    "front matter": lambda value: text_format.read(_in_front_matter(value)),
    "body": lambda value: text_format.read(_body(value)),
    "no front matter": lambda value: text_format.read(value.encode()),
    "rewrite": lambda value: text_format.rewrite(_in_front_matter(value), set={"id": "b2"}),
    "taking in and indexing": _index,
    "merge": lambda value: merge(FileKind.MEMORY, _body(value), _body(value + "x\n"), _body("y\n" + value)),
    "document": lambda value: document_file.decode(_body(value)),
    "pattern": lambda value: pattern_file.decode(_body(value)),
    "conflict": lambda value: conflicts.decode(json.dumps({"theirs": value, "path": value}).encode()),
    "conflict as it is": lambda value: conflicts.decode(value.encode()),
    "ttl": lambda value: ttl.expiry(value, NOW),
    "category": paths.valid_category,
    "slug": paths.slug,
    "copy of": lambda value: list(paths.possible_originals(f"memories/{value}.md"))[:1],
    "path": names.validate_path,
    "same name": names.same_name_key,
    "project remote": project_identity.from_remote,
    "project": project_identity.key_of,
    "project name": project_identity.split_bare,
    "query": query.wanted_terms,
    "query's dates": lambda value: dates.span(value, NOW),
    "terms": lambda value: sum(1 for _ in text.terms(value)),
    "private parts": private.strip_private,
    "secrets": secrets_scan.find_secrets,
    "settings": _config,
    "Graph's error": lambda value: faults.error_of(400, {"retry-after": value, "date": value}, value.encode()),
    "cursor": Cursor.decode,
}


def measured() -> Iterator[tuple[float, str, str]]:
    """Seconds of this process, parser, text; the errors that callers of parsers expect are answers."""
    for parser, parse in PARSERS.items():
        for name, value in TEXTS.items():
            began = time.process_time()
            with suppress(MemoryCacheError, StorageError, ValueError, TypeError, RecursionError):
                parse(value)
            yield time.process_time() - began, parser, name


def main() -> int:
    """Print the slowest text of each parser; fail when one takes more than a second."""
    slowest: dict[str, tuple[float, str]] = {}
    for seconds, parser, name in measured():
        slowest[parser] = max(slowest.get(parser, (0.0, "")), (seconds, name))
        if seconds > 1:
            print(f"too slow: {parser}, {name}: {seconds:.2f} s", flush=True)
    for parser, (seconds, name) in sorted(slowest.items(), key=lambda entry: -entry[1][0]):
        print(f"{parser:25} {seconds:7.3f} s  {name}")
    return 1 if max(slowest.values())[0] > 1 else 0


if __name__ == "__main__":
    sys.exit(main())
