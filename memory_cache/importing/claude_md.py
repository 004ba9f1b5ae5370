"""CLAUDE.md files: of a repository (those in its folders too), or of the user (`~/.claude`). One memory per file."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from memory_cache import project as projects
from memory_cache.importing.markdown_notes import Page, note_of, pages
from memory_cache.importing.reading import walk
from memory_cache.importing.records import Item, Skipped

KIND = "claude-md"
NAMES = ("claude.md", "claude.local.md")
_IMPORT = re.compile(r"(?:^|\s)@([~./\w][\w./~-]*\.\w+)")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)


def files(path: Path) -> Iterator[Path | Skipped]:
    """The CLAUDE.md files that a path stands for, rules below `.claude` included."""
    if path.is_file():
        yield path
        return
    hidden = path if path.name == ".claude" else path / ".claude"
    if hidden.is_dir():
        yield from _named(hidden.iterdir())
    if (hidden / "rules").is_dir():
        yield from walk(hidden / "rules", (".md",))
    if hidden != path:
        for file in walk(path, NAMES):
            if isinstance(file, Skipped) or file.name.lower() in NAMES:
                yield file


def _named(entries: Iterable[Path]) -> Iterator[Path]:
    yield from sorted(entry for entry in entries if entry.name.lower() in NAMES and entry.is_file())


def is_there(path: Path) -> bool:
    """Whether a folder has a CLAUDE.md where Claude Code looks for it."""
    places = (path, path / ".claude")
    return any((place / name).is_file() for place in places for name in ("CLAUDE.md", "CLAUDE.local.md"))


def read(path: Path, home: Path) -> Iterator[Item]:
    """Every file. Raises: InvalidInput for far too many files."""
    root = path if path.is_dir() else path.parent
    for page in pages(root, files(path)):
        if isinstance(page, Skipped):
            yield page
        elif not page.parsed.body.strip():
            yield Skipped(page.path, "It is empty.", expected=True)
        else:
            yield _note(page, home)


def _note(page: Page, home: Path) -> Item:
    of_user = (home / ".claude") in page.file.absolute().parents
    project: tuple[str | None, str | None] = (None, None)
    if of_user:
        scope, category = "user", "preference"
        inner = page.file.absolute().relative_to(home / ".claude").as_posix()
    else:
        found = projects.identify(page.file.absolute().parent)
        project, scope, category = (found.id, found.name), found.key, "project"
        top = Path(found.directory or page.file.parent)
        resolved = page.file.resolve()
        inner = resolved.relative_to(top).as_posix() if top in resolved.parents else page.path
    named = "/".join(inner.split("/")[-2:])
    title = None if page.parsed.body.lstrip().startswith("#") else f"{named} of {project[1] or 'the user'}"
    return note_of(
        replace(page, path=inner, remarks=(*page.remarks, *_imports(page))), scope,
        category=category, tags=("claude-md",), title=title, project=project,
    )  # fmt: skip


def _imports(page: Page) -> tuple[str, ...]:
    named = list(dict.fromkeys(match[1] for match in _IMPORT.finditer(_CODE.sub(" ", page.parsed.body))))
    if not named:
        return ()
    return (f"What it imports is not taken in with it: {', '.join(named[:5])}{' …' if len(named) > 5 else ''}.",)
