"""Which project a session works in: argument, environment, client roots, working directory."""

import os
import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

from memory_cache import project_identity
from memory_cache.errors import InvalidInput
from memory_cache.home import user_home
from memory_cache.models import Project
from memory_cache.project_identity import LOCAL, from_remote, key_of, split_bare

__all__ = ["from_remote", "identify", "key_of", "resolve"]


def identify(directory: Path, source: str = "argument") -> Project:
    """The project of a directory. May run git for up to two seconds where there is no origin."""
    found = project_identity.identify(directory)
    return Project(id=found.id, key=found.key, name=found.name, directory=found.directory, source=source)


def resolve(
    argument: str | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    roots: Sequence[str] = (),
    cwd: Path | None = None,
) -> Project | None:
    """The project of a session: explicit argument, then `CLAUDE_PROJECT_DIR`, then the client's roots,
    then the working directory. None when nothing names one (the home directory is no project).

    `argument` is a directory, a repository URL, a project id or a plain name. Raises: InvalidInput when empty.
    """
    if argument is not None:
        return _from_argument(argument, cwd)
    named = environ.get("CLAUDE_PROJECT_DIR", "").strip()
    candidates = [(Path(named), "CLAUDE_PROJECT_DIR")] if named else []
    candidates += [(path, "client root") for path in map(_root_path, roots) if path]
    if cwd is not None:
        candidates.append((cwd, "working directory"))
    for directory, source in candidates:
        if directory.is_absolute() and directory.is_dir():
            project = identify(directory, source)
            place = directory.resolve()
            nowhere = project.id.startswith(LOCAL) and (place == user_home(environ).resolve() or place == place.parent)
            if not nowhere:
                return project
    return None


def _from_argument(argument: str, cwd: Path | None) -> Project:
    text = unicodedata.normalize("NFC", argument).strip()
    if not text:
        raise InvalidInput("The project is empty.", "Name a directory, a repository URL or a project id.")
    looks_like_path = text in (".", "..", "~") or text.startswith(("./", "../", "~/", "/", "\\", ".\\", "~\\"))
    if looks_like_path or re.match(r"[A-Za-z]:[\\/]", text):
        directory = (cwd or Path.cwd()) / Path(text).expanduser()
        if not directory.is_dir():
            raise InvalidInput(f"There is no directory {text}.", "Name a directory, a repository URL or a project id.")
        return identify(directory)
    remote = from_remote(text) or ((key_of(text), key_of(text)) if split_bare(text) else None)
    if remote:
        return Project(id=remote[0], key=remote[1], name=remote[0].rsplit("/", 1)[-1])
    return Project(id=text, key=key_of(text), name=text.rsplit("/", 1)[-1])


def _root_path(root: str) -> Path | None:
    """The path of a client's root, given as `file://` URI or as a path."""
    if root.startswith("file://"):
        path = unquote(root.removeprefix("file://").removeprefix("localhost"))
        return Path(path[1:] if re.match(r"/[A-Za-z]:", path) else path)
    return Path(root) if "://" not in root and root else None
