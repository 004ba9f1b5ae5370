"""What a project is called, told by its directory. Standard library only: hooks use it too.

A project is its repository's origin, without scheme, user, credentials and `.git`; where there is no
origin, its first commit; where there is no git, the directory. So clones, worktrees and machines agree,
and two unrelated folders of one name stay apart.
"""

import os
import re
import threading
import unicodedata
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from memory_cache.endpoint import user_directory
from memory_cache.git_config import Repository, find_repository, is_shallow, origin_url

LOCAL, COMMIT = "local:", "commit:"
_GIT_TIMEOUT_SECONDS = 2.0
_SCHEMES = frozenset(["http", "https", "ssh", "git", "git+ssh", "git+https", "git+http", "ftp", "ftps"])

# Hosts whose paths ignore case.
_CASELESS = frozenset(["github.com", "gitlab.com", "bitbucket.org", "dev.azure.com", "codeberg.org"])
_ALIASES = {
    "www.github.com": "github.com",
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
    "vs-ssh.visualstudio.com": "dev.azure.com",
}


def from_remote(url: str) -> tuple[str, str] | None:
    """(id, key) of a repository's remote URL; None for a path on this machine or no URL at all.

    The id is written into files and never holds a credential; two spellings of one repository have one key.
    """
    parts = _split_remote(url.strip())
    return _identity(*parts) if parts else None


def key_of(stored_id: str) -> str:
    """What an id in a file is compared by; understands ids of older versions, with scheme, user and case."""
    text = unicodedata.normalize("NFC", stored_id).strip()
    if text.startswith((LOCAL, COMMIT)):
        return text
    parts = split_bare(text) or _split_remote(text)
    return _identity(*parts)[1] if parts else text.casefold()


def _split_remote(text: str) -> tuple[str, str] | None:
    """(host, path) of `scheme://…` and of `user@host:path`."""
    scheme, separator, rest = text.partition("://")
    if separator:
        return _split_authority(rest) if scheme.lower() in _SCHEMES else None
    rest = _without_user(text)
    host, colon, path = rest.partition("]:" if rest.startswith("[") else ":")
    is_drive = len(host) == 1 and host.isalpha()
    if not colon or is_drive or not host or re.search(r"[\s/\\]", host):
        return None
    if text.startswith((LOCAL, COMMIT)) or not ("@" in text or "/" in path or path.endswith(".git")):
        return None
    return host.lstrip("["), path


def split_bare(text: str) -> tuple[str, str] | None:
    """(host, path) of an id without scheme: `github.com/Acme/Widget`, `user:token@host:8443/a/b`."""
    if "://" in text:
        return None
    rest = _without_user(text)
    host, colon, port = rest.partition("/")[0].partition(":")
    if "/" not in rest or "." not in host.strip(".") or (colon and not port.isdigit()) or re.search(r"\s", host):
        return None
    return _split_authority(rest)


def _split_authority(rest: str) -> tuple[str, str] | None:
    authority, path = _cut(rest)
    host, _, port = authority.rpartition("@")[2].partition(":")
    if "@" in path and (port or "." not in host):
        # A password with a slash in it: everything up to the last @ is credentials.
        authority, path = _cut(path.rpartition("@")[2])
        host, _, port = authority.partition(":")
    if authority.rpartition("@")[2].startswith("["):
        host, port = authority.rpartition("@")[2].partition("]")[0].lstrip("["), ""
    if port and not port.isdigit():
        path = f"{port}/{path}"  # ssh://git@host:owner/name
    return (host, re.split(r"[?#]", path)[0]) if host else None


def _cut(rest: str) -> tuple[str, str]:
    end = re.search(r"[/?#]", rest)
    return (rest[: end.start()], rest[end.start() :].lstrip("/")) if end else (rest, "")


def _without_user(text: str) -> str:
    head, slash, tail = text.partition("/")
    return head.rpartition("@")[2] + slash + tail


def _identity(host: str, path: str) -> tuple[str, str]:
    host = host.lower().rstrip(".")
    segments = [segment for segment in unicodedata.normalize("NFC", unquote(path)).split("/") if segment]
    if segments and segments[-1].lower().endswith(".git"):
        segments[-1] = segments[-1][:-4]
    segments = [segment for segment in segments if segment]
    host, segments = _azure(_ALIASES.get(host, host), segments)
    text = "/".join([host, *segments])
    if host in _CASELESS:
        text = text.lower()
    return text, text


def _azure(host: str, segments: list[str]) -> tuple[str, list[str]]:
    """Every address of an Azure DevOps repository as `dev.azure.com/org/project/_git/repository`."""
    if host.endswith(".visualstudio.com"):
        organisation = host.removesuffix(".visualstudio.com")
        host, segments = "dev.azure.com", [organisation, *segments]
    if host != "dev.azure.com":
        return host, segments
    segments = [segment for segment in segments if segment.lower() != "defaultcollection"]
    if segments and segments[0].lower() == "v3":
        segments = segments[1:]
    marks = [index for index, segment in enumerate(segments) if segment.lower() in ("_git", "_ssh")]
    if marks:
        mark = marks[0]
        segments = segments[:mark] + segments[mark + 1 :]
        if len(segments) == 2:
            segments.insert(1, segments[1])  # the project of the same name
    if len(segments) == 3:
        segments.insert(2, "_git")
    return host, segments


class Identity(NamedTuple):
    """A project: `id` is written into files, `key` is compared, `directory` is the top of its checkout."""

    id: str
    key: str
    name: str
    directory: str


def identify(directory: str | Path) -> Identity:
    """The project of a directory. May run git for up to two seconds where there is no origin."""
    place = Path(directory).resolve()
    repository = find_repository(place)
    if repository is None:
        return _local(place)
    remote = from_remote(origin_url(repository) or "")
    if remote:
        project_id, key = remote
        return Identity(project_id, key, project_id.rsplit("/", 1)[-1], str(repository.worktree))
    commit = _first_commit(repository)
    if commit is None:
        return _local(repository.worktree)
    project_id = f"{COMMIT}{commit}"
    name = repository.common_dir.parent.name if repository.common_dir.name == ".git" else repository.worktree.name
    return Identity(project_id, project_id, name, str(repository.worktree))


def _local(directory: Path) -> Identity:
    try:
        place = f"~/{directory.relative_to(Path(user_directory(os.environ)).resolve()).as_posix()}"
    except ValueError:
        place = directory.as_posix()
    project_id = LOCAL + unicodedata.normalize("NFC", place)
    return Identity(project_id, project_id, directory.name or place, str(directory))


_first_commits: dict[Path, str] = {}
_first_commits_lock = threading.Lock()


def _first_commit(repository: Repository) -> str | None:
    if is_shallow(repository):
        return None
    with _first_commits_lock:
        known = _first_commits.get(repository.common_dir)
    if known:
        return known
    import subprocess  # costs what a hook in a repository with an origin has not got

    # No hooks, no pager, no configured helpers; a checkout owned by another user is only looked at.
    command = ["git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", f"--git-dir={repository.common_dir}"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        answer = subprocess.run(
            [*command, "rev-list", "--max-parents=0", "HEAD", "--"],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=_GIT_TIMEOUT_SECONDS,
            env=environ,
            check=False,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    commits = answer.stdout.decode("ascii", "replace").split()
    if answer.returncode or not commits:
        return None
    with _first_commits_lock:
        _first_commits[repository.common_dir] = commits[-1]
    return commits[-1]
