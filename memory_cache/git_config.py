"""What a git repository on disk says about itself, read from its files: no process is started for it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_CONFIG_BYTES = 1024 * 1024
_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


class Repository(NamedTuple):
    """A repository found on disk.

    Attributes:
        worktree: the top directory of the checkout; the git directory itself for a bare repository.
        common_dir: where config and objects are; one and the same for all worktrees of a repository.
    """

    worktree: Path
    common_dir: Path


def find_repository(directory: Path) -> Repository | None:
    """The repository that a directory lies in, or None. Follows worktrees and submodules."""
    for folder in (directory, *directory.parents):
        git_dir = _git_dir(folder / ".git")
        if git_dir is not None:
            return Repository(folder, _common_dir(git_dir))
        if _is_git_dir(folder):
            return Repository(folder, _common_dir(folder))
    return None


def _git_dir(entry: Path) -> Path | None:
    if entry.is_dir():
        return entry if _is_git_dir(entry) else None
    pointer = _first_line(entry)
    if not pointer.startswith("gitdir:"):
        return None
    target = entry.parent / pointer.removeprefix("gitdir:").strip()
    return target if target.is_dir() else None


def _is_git_dir(folder: Path) -> bool:
    return (folder / "HEAD").exists() and (folder / "objects").is_dir() and (folder / "refs").is_dir()


def _common_dir(git_dir: Path) -> Path:
    pointer = _first_line(git_dir / "commondir")
    return (git_dir / pointer).resolve() if pointer else git_dir.resolve()


def _first_line(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.readline(4096).decode("utf-8", "surrogateescape").strip()
    except OSError:
        return ""


def origin_url(repository: Repository) -> str | None:
    """The first URL of the remote `origin`, or None."""
    try:
        with (repository.common_dir / "config").open("rb") as file:
            text = file.read(_CONFIG_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    return next((value for section, key, value in _settings(text) if (section, key) == ("remote.origin", "url")), None)


def is_shallow(repository: Repository) -> bool:
    """Whether history is cut off, so that its first commit here is not the repository's first."""
    return (repository.common_dir / "shallow").exists()


def _settings(text: str) -> Iterator[tuple[str, str, str]]:
    """(section, key, value) of a git config file; a section with its subsection as `remote.origin`."""
    section = ""
    for line in re.sub(r"\\\r?\n", "", text.removeprefix("\ufeff")).splitlines():
        rest = line.strip()
        header = _SECTION.match(rest)
        if header:
            name, subsection = header[1].lower(), header[2]
            section = name if subsection is None else f"{name}.{_unescaped(subsection)}"
            rest = rest[header.end() :].strip()
        key, equals, value = rest.partition("=")
        if equals and value.strip():
            yield section, key.strip().lower(), _value(value.strip())


def _value(text: str) -> str:
    """A value without quotes, escapes and trailing comment."""
    result: list[str] = []
    quoted = False
    characters = iter(text)
    for character in characters:
        if character == "\\":
            following = next(characters, "")
            result.append(_ESCAPES.get(following, following))
        elif character == '"':
            quoted = not quoted
        elif character in "#;" and not quoted:
            break
        else:
            result.append(character)
    return "".join(result).strip()


def _unescaped(subsection: str) -> str:
    return re.sub(r"\\(.)", r"\1", subsection)
