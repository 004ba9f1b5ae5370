"""The light way to the daemon says the same as `memory_cache.home`."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_cache import endpoint
from memory_cache.home import Home

SEGMENT = st.text(alphabet="abcXYZ 09._-äß語", min_size=1, max_size=30).filter(lambda text: text.strip(" .") != "")
DIRECTORY = st.lists(SEGMENT, min_size=1, max_size=12).map(lambda parts: "/" + "/".join(parts))
CHOSEN = st.one_of(DIRECTORY, SEGMENT, DIRECTORY.map(lambda path: "~" + path), st.sampled_from(["", "~", " ", "~x/y"]))


@given(
    environ=st.fixed_dictionaries(
        {"HOME": DIRECTORY}, optional={"CLAUDE_MEMORY_HOME": CHOSEN, "XDG_DATA_HOME": st.one_of(DIRECTORY, SEGMENT)}
    )
)
def test_every_environment_leads_to_the_same_home_and_socket(environ: dict[str, str]) -> None:
    home = Home.current(environ)

    assert endpoint.home_directory(environ) == str(home.root)
    assert endpoint.socket_file(str(home.root)) == str(home.socket_path)


def test_a_directory_of_somebody_else_is_not_connected_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = tmp_path / "open"
    foreign.mkdir(mode=0o755)
    foreign.chmod(0o755)
    monkeypatch.setattr(endpoint, "socket_file", lambda home: str(foreign / "x.sock"))

    with pytest.raises(PermissionError, match="not this user's own"):
        endpoint.connect(str(tmp_path))

    link = tmp_path / "link"
    foreign.chmod(0o700)
    link.symlink_to(foreign)
    monkeypatch.setattr(endpoint, "socket_file", lambda home: str(link / "x.sock"))
    with pytest.raises(PermissionError, match="not this user's own"):
        endpoint.connect(str(tmp_path))
