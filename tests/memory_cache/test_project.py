"""Project identity: one repository is one project everywhere, and no credential is ever kept."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_cache import project_identity
from memory_cache.errors import InvalidInput
from memory_cache.project import from_remote, identify, key_of, resolve

GITHUB = [
    "https://github.com/acme/widget",
    "https://github.com/acme/widget.git",
    "https://github.com/Acme/Widget.git/",
    "https://GitHub.com/acme/widget/",
    "https://www.github.com/acme/widget",
    "http://github.com:80/acme/widget.git",
    "https://user@github.com/acme/widget.git",
    "https://user:ghp_TOKEN@github.com/acme/widget.git",
    "https://ghp_TOKEN@github.com/acme/widget.git",
    "https://x-access-token:ghp_TOKEN@github.com/acme/widget",
    "https://user:p@ss@github.com/acme/widget",
    "https://user:p/ss@github.com/acme/widget",
    "https://user:p?ss#@github.com/acme/widget",
    "https://user:12/34@github.com/acme/widget",
    "https://github.com/acme/widget?token=ghp_TOKEN",
    "https://github.com/acme/widget.git#ghp_TOKEN",
    "git@github.com:acme/widget.git",
    "git@github.com:/acme/widget.git",
    "github.com:acme/widget",
    "ssh://git@github.com/acme/widget.git",
    "ssh://git@github.com:22/acme/widget.git",
    "ssh://git@github.com:acme/widget.git",
    "ssh://git@ssh.github.com:443/acme/widget.git",
    "git://github.com/acme/widget.git",
    "git+ssh://git@github.com/acme/widget.git",
    "  https://github.com//acme//widget.git  ",
]


@pytest.mark.parametrize("url", GITHUB)
def test_every_address_of_a_repository_is_one_project(url: str) -> None:
    assert from_remote(url) == ("github.com/acme/widget", "github.com/acme/widget")


AZURE = [
    "https://dev.azure.com/Org/My%20Project/_git/Repo",
    "https://org@dev.azure.com/org/My%20Project/_git/repo",
    "git@ssh.dev.azure.com:v3/org/My%20Project/repo",
    "ssh://git@ssh.dev.azure.com:22/v3/org/My%20Project/repo",
    "https://org.visualstudio.com/My%20Project/_git/repo",
    "https://org.visualstudio.com/DefaultCollection/My%20Project/_git/repo",
    "org@vs-ssh.visualstudio.com:v3/org/My%20Project/repo",
    "ssh://org@org.visualstudio.com:22/My%20Project/_ssh/repo",
]


@pytest.mark.parametrize("url", AZURE)
def test_every_address_of_an_azure_repository_is_one_project(url: str) -> None:
    assert from_remote(url) == ("dev.azure.com/org/my project/_git/repo",) * 2


def test_an_azure_repository_named_like_its_project() -> None:
    assert from_remote("https://dev.azure.com/org/_git/app") == from_remote("git@ssh.dev.azure.com:v3/org/app/app")


@pytest.mark.parametrize(
    ("url", "project_id"),
    [
        ("git@git.example.org:Team/App.git", "git.example.org/Team/App"),
        ("ssh://git@git.example.org:2222/Team/App.git", "git.example.org/Team/App"),
        ("https://git.example.org:8443/Team/App.git", "git.example.org/Team/App"),
        ("git@gitlab.com:group/sub/App.git", "gitlab.com/group/sub/app"),
        ("git@host:1234/repo.git", "host/1234/repo"),
        ("git@bitbucket.org:t/r.git", "bitbucket.org/t/r"),
        ("ssh://git@[2001:db8::1]:22/a/b.git", "2001:db8::1/a/b"),
        ("https://example.org/@scope/pkg.git", "example.org/@scope/pkg"),
        ("https://example.org/~anna/für/x.git", "example.org/~anna/für/x"),
    ],
)
def test_other_hosts_keep_the_case_of_their_paths(url: str, project_id: str) -> None:
    assert from_remote(url) == (project_id, project_id)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/srv/git/app.git",
        "../app",
        "file:///srv/app.git",
        "C:\\repos\\app",
        "C:/repos/app",
        "app",
        "\\\\server\\x",
        "a b:c/d",
    ],
)
def test_paths_on_this_machine_are_no_remote(url: str) -> None:
    assert from_remote(url) is None


@pytest.mark.parametrize(
    "stored",
    [
        "github.com/Acme/Widget",
        "ssh://git@github.com/Acme/Widget",
        "user:TOKEN@github.com/acme/widget",
        "git@github.com/acme/widget",
        "https://github.com/acme/widget.git",
        "git@github.com:acme/widget",
        "github.com:443/acme/widget",
    ],
)
def test_ids_of_older_versions_still_match(stored: str) -> None:
    assert key_of(stored) == "github.com/acme/widget"


def test_older_azure_ids_still_match() -> None:
    key = from_remote("https://dev.azure.com/org/p/_git/r")
    assert key is not None
    for stored in ("ssh.dev.azure.com/v3/org/p/r", "dev.azure.com/org/p/_git/r", "org@dev.azure.com/Org/p/_git/r"):
        assert key_of(stored) == key[1]


letters = st.text("abcdefgh0123456789-", min_size=1, max_size=8).filter(lambda t: t.strip("-0123456789"))
secret = st.text("XYZ%+=~!$&*", min_size=4, max_size=10) | st.text("XYZ:@/?#", min_size=4, max_size=10).map(
    lambda t: f"S:{t}Z"
)


@given(st.sampled_from(["https", "http", "ssh", "git"]), letters, secret, letters, letters)
def test_a_credential_in_the_url_never_appears(scheme: str, user: str, password: str, owner: str, name: str) -> None:
    found = from_remote(f"{scheme}://{user}:{password}@git.example.org/{owner}/{name}.git")
    assert found is not None
    assert found[0] == f"git.example.org/{owner}/{name}"


@given(st.text(max_size=60))
def test_any_text_has_a_key(text: str) -> None:
    assert isinstance(key_of(text), str)
    remote = from_remote(text)
    assert remote is None or (remote[0] and remote[0] == remote[1])


@given(letters, letters, letters)
def test_the_key_of_a_stored_id_is_the_key_of_its_remote(host: str, owner: str, name: str) -> None:
    remote = from_remote(f"git@{host}.Example.org:{owner}/{name}.git")
    assert remote is not None
    assert key_of(remote[0]) == remote[1]


def git(*arguments: str, cwd: Path) -> str:
    environ = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")} | {
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
    }  # fmt: skip
    done = subprocess.run(["git", *arguments], cwd=cwd, env=environ, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def repository(path: Path, origin: str | None = None, *, message: str = "first") -> Path:
    path.mkdir(parents=True)
    git("init", "-q", cwd=path)
    git("commit", "-q", "--allow-empty", "-m", message, cwd=path)
    if origin:
        git("remote", "add", "origin", origin, cwd=path)
    return path


def test_a_repository_is_known_by_its_origin_from_every_folder(tmp_path: Path) -> None:
    top = repository(tmp_path / "checkout", "https://u:TOKEN@github.com/Acme/Widget.git")
    (top / "deep" / "er").mkdir(parents=True)
    found = identify(top / "deep" / "er")
    assert (found.id, found.key, found.name) == ("github.com/acme/widget", "github.com/acme/widget", "widget")
    assert found.directory == str(top)
    assert "TOKEN" not in found.model_dump_json()


def test_worktrees_and_submodules(tmp_path: Path) -> None:
    top = repository(tmp_path / "main", "git@github.com:acme/widget.git")
    git("worktree", "add", "-q", str(tmp_path / "side"), cwd=top)
    assert identify(tmp_path / "side").id == "github.com/acme/widget"
    other = repository(tmp_path / "other")
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub", cwd=top)
    git("remote", "set-url", "origin", "git@github.com:acme/sub.git", cwd=top / "sub")
    assert identify(top / "sub").id == "github.com/acme/sub"


def test_without_origin_clones_and_worktrees_agree_and_two_app_folders_stay_apart(tmp_path: Path) -> None:
    one = repository(tmp_path / "a" / "app", message="one")
    two = repository(tmp_path / "b" / "app", message="two")
    git("clone", "-q", str(one), str(tmp_path / "clone"), cwd=tmp_path)
    git("worktree", "add", "-q", str(tmp_path / "side"), cwd=one)
    assert identify(one).id == f"commit:{git('rev-parse', 'HEAD', cwd=one)}"
    assert identify(one).id == identify(tmp_path / "clone").id == identify(tmp_path / "side").id
    assert identify(one).id != identify(two).id
    assert identify(one).name == identify(two).name == identify(tmp_path / "side").name == "app"


def test_without_git_or_without_commits_the_directory_is_the_project(tmp_path: Path) -> None:
    for name in ("one/app", "two/app"):
        (tmp_path / name).mkdir(parents=True)
    assert identify(tmp_path / "one" / "app").id == f"local:{tmp_path.as_posix()}/one/app"
    assert identify(tmp_path / "one" / "app").id != identify(tmp_path / "two" / "app").id
    git("init", "-q", cwd=tmp_path / "one")
    assert identify(tmp_path / "one" / "app").id == f"local:{tmp_path.as_posix()}/one"


def test_git_that_hangs_or_is_missing_costs_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = repository(tmp_path / "app")
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setattr(project_identity, "_GIT_TIMEOUT_SECONDS", 0.2)
    monkeypatch.setenv("PATH", str(slow.parent) + os.pathsep + os.environ["PATH"])
    assert identify(top).id.startswith("local:")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert identify(top).id.startswith("local:")


@pytest.mark.parametrize(
    "config",
    [
        '[remote "origin"]\n\turl = git@github.com:acme/widget.git\n',
        '[core]\n[remote "up"]\n\turl = x@y:z/z\n[REMOTE "origin"]\nURL = "https://github.com/acme/widget" ; c\n',
        "[remote.origin]\nurl=https://github.com/acme/widget#x\n",
        '\ufeff[remote "origin"] url = https://github.com/\\\nacme/widget # c\r\n',
        '[remote "origin"]\n\turl = https://github.com/acme/widget\n\turl = https://github.com/acme/second\n',
    ],
)
def test_every_form_of_git_config_is_read(tmp_path: Path, config: str) -> None:
    top = repository(tmp_path / "x")
    (top / ".git" / "config").write_text(config, encoding="utf-8")
    assert identify(top).id == "github.com/acme/widget"


@given(st.binary(max_size=200))
def test_no_config_at_all_makes_it_fail(data: bytes) -> None:
    from memory_cache.git_config import _settings

    list(_settings(data.decode("utf-8", "replace")))


def test_the_order_is_argument_environment_roots_directory(tmp_path: Path) -> None:
    folders = {}
    for name in ("argument", "environment", "root ü", "cwd"):
        folders[name] = tmp_path / name
        folders[name].mkdir()
    environ = {"CLAUDE_PROJECT_DIR": str(folders["environment"])}
    roots = ["https://example.org", "file:///gone", folders["root ü"].as_uri()]
    cwd = folders["cwd"]

    def found(**kwargs: object) -> tuple[str, str]:
        answer = resolve(**kwargs)  # type: ignore[arg-type]
        assert answer is not None
        return answer.name, answer.source

    everything = {"environ": environ, "roots": roots, "cwd": cwd}
    assert found(argument=str(folders["argument"]), **everything) == ("argument", "argument")
    assert found(**everything) == ("environment", "CLAUDE_PROJECT_DIR")
    assert found(environ={"CLAUDE_PROJECT_DIR": "/gone"}, roots=roots, cwd=cwd) == ("root ü", "client root")
    assert found(environ={}, roots=[], cwd=cwd) == ("cwd", "working directory")


def test_the_home_directory_and_the_root_are_no_project(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    assert resolve(environ=environ, cwd=tmp_path) is None
    assert resolve(environ=environ, cwd=Path(tmp_path.anchor)) is None
    assert resolve(environ=environ, roots=["file:///gone", "memo://x", ""]) is None
    (tmp_path / "app").mkdir()
    assert resolve(environ=environ, roots=[tmp_path.as_uri()], cwd=tmp_path / "app") is not None


@pytest.mark.parametrize(
    ("argument", "project_id", "name"),
    [
        ("https://t:TOKEN@github.com/Acme/Widget.git", "github.com/acme/widget", "widget"),
        ("github.com/Acme/Widget", "github.com/acme/widget", "widget"),
        ("git@github.com:acme/widget", "github.com/acme/widget", "widget"),
        ("widget", "widget", "widget"),
        ("Client: Notes", "Client: Notes", "Client: Notes"),
        ("commit:abc/def", "commit:abc/def", "def"),
        ("local:~/app", "local:~/app", "app"),
    ],
)
def test_an_argument_may_be_a_url_an_id_or_a_name(argument: str, project_id: str, name: str) -> None:
    found = resolve(argument)
    assert found is not None
    assert (found.id, found.name, found.source) == (project_id, name, "argument")


def test_an_empty_or_missing_argument_is_an_error(tmp_path: Path) -> None:
    for bad in ("", "  ", str(tmp_path / "gone")):
        with pytest.raises(InvalidInput):
            resolve(bad)
    assert resolve(".", cwd=tmp_path) == identify(tmp_path)


def test_identity_needs_the_standard_library_only() -> None:
    heavy = "('pydantic', 'yaml', 'anyio')"
    code = f"import sys, memory_cache.project_identity; sys.exit(any(m in sys.modules for m in {heavy}))"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False).returncode == 0
