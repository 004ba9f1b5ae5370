"""Runs memory commands inside this process, with a home of their own."""

import argparse
import io
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from command_line import (
    conflict_commands,
    document_commands,
    export_commands,
    history_commands,
    import_command,
    memory_commands,
    pattern_commands,
    project_commands,
    storage_commands,
    tidy_commands,
)

MODULES = (
    memory_commands, history_commands, conflict_commands, tidy_commands, export_commands, import_command,
    document_commands, pattern_commands, project_commands, storage_commands,
)  # fmt: skip


@dataclass(frozen=True)
class Result:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        return json.loads(self.out)


def build_parser() -> argparse.ArgumentParser:
    """A parser with the memory commands."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    for module in MODULES:
        module.register(commands)
    return parser


class Device:
    """One home directory, and commands that run on it."""

    def __init__(
        self, home: Path, work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.home, self.work = home, work
        self._patch, self._captured = monkeypatch, capsys
        for name in [name for name in os.environ if name.startswith(("CLAUDE_", "EDITOR", "VISUAL"))]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("CLAUDE_MEMORY_HOME", str(home))
        monkeypatch.chdir(work)

    def __call__(self, *words: str, stdin: str | bytes | None = None) -> Result:
        """Run one command; `stdin` None stands for a terminal."""
        self._patch.setattr(sys, "stdin", _Terminal() if stdin is None else _pipe(stdin))
        try:
            args = build_parser().parse_args(words)
            code = args.run(args)
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        printed = self._captured.readouterr()
        return Result(code, printed.out, printed.err)

    def json(self, *words: str, stdin: str | bytes | None = None) -> Any:
        """Run one command that must succeed; its JSON."""
        result = self(*words, "--json", stdin=stdin)
        assert result.code == 0, (words, result.out, result.err)
        return result.data

    def remember(self, content: str, *options: str) -> str:
        """Store a memory; its id."""
        return str(self.json("remember", content, "--category", "learning", *options)["id"])


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _pipe(content: str | bytes) -> io.TextIOWrapper:
    data = content.encode() if isinstance(content, str) else content
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
