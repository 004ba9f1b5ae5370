"""Settings: where they come from, what a mistake says, and that saving keeps a person's file."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_cache.errors import SettingsError
from memory_cache.home import Home
from memory_cache.settings import Settings, load, save
from memory_cache.settings_file import edited


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_without_a_file_everything_has_its_default(home: Home) -> None:
    settings = load(home, {"PATH": "/bin"})
    assert settings == Settings()
    assert settings.http.host == "127.0.0.1"
    assert settings.tools.profile == "full"


def test_the_environment_beats_the_file(home: Home) -> None:
    home.config_file.write_text('[sync]\npoll_seconds = 10\n[device]\nname = "laptop"\n')
    settings = load(
        home,
        {
            "CLAUDE_MEMORY_SYNC_POLL_SECONDS": "20",
            "CLAUDE_MEMORY_DAEMON_AUTOSTART": "false",
            "CLAUDE_MEMORY_ONEDRIVE_CLIENT_ID": "abc",
            "CLAUDE_MEMORY_HOOKS_CAPTURE": "WebFetch, mcp__x__*",
            "CLAUDE_MEMORY_HOME": "/x",
            "CLAUDE_MEMORY_GRAPH_TOKEN": "t",
        },
    )
    assert (settings.sync.poll_seconds, settings.device.name) == (20, "laptop")
    assert (settings.daemon.autostart, settings.onedrive.client_id) == (False, "abc")
    assert settings.hooks.capture == ("WebFetch", "mcp__x__*")


def test_a_bom_and_windows_line_ends_are_fine(home: Home) -> None:
    home.config_file.write_bytes('\ufeff[device]\r\nname = "büro"\r\n'.encode())
    assert load(home, {}).device.name == "büro"


@pytest.mark.parametrize(
    ("text", "environ", "message", "hint"),
    [
        ("[sync]\npoll_second = 1", {}, "sync.poll_second", "sync.poll_seconds"),
        ("[sinc]\npoll_seconds = 1", {}, "sinc", "sync"),
        ("poll_seconds = 1", {}, "poll_seconds", ""),
        ("[storage]\nport = 1", {}, "storage.port", ""),
        ('[storage]\nbackend = "dropbox"', {}, "storage.backend", ""),
        ("[sync]\npoll_seconds = 0", {}, "sync.poll_seconds", ""),
        ('[tools]\nprofile = "huge"', {}, "'full' or 'core'", ""),
        ("", {"CLAUDE_MEMORY_TOOLS_PROFILE": "huge"}, "it should be 'full' or 'core'", ""),
        (
            "",
            {"CLAUDE_MEMORY_SYNC_NOPE": "1"},
            "CLAUDE_MEMORY_SYNC_NOPE",
            "Known are: CLAUDE_MEMORY_SYNC_POLL_SECONDS, ",
        ),
        ("", {"CLAUDE_MEMORY_SYNC_POLL": "1"}, "SYNC_POLL is no", "mean CLAUDE_MEMORY_SYNC_POLL_SECONDS?"),
        ("", {"CLAUDE_MEMORY_SINC_POLL_SECONDS": "1"}, "SINC", "mean CLAUDE_MEMORY_SYNC_POLL_SECONDS?"),
        ("", {"CLAUDE_MEMORY_GRAF_URL": "1"}, "GRAF", "mean CLAUDE_MEMORY_GRAPH_URL?"),
        ("", {"CLAUDE_MEMORY_XYZ": "1"}, "XYZ", "Settings begin with: CLAUDE_MEMORY_STORAGE_…"),
        ('sync = "fast"', {}, "sync", ""),
        ("[sync", {}, "not valid TOML", ""),
        (
            "",
            {"CLAUDE_MEMORY_SYNC_POL_SECONDS": "1"},
            "CLAUDE_MEMORY_SYNC_POL_SECONDS",
            "CLAUDE_MEMORY_SYNC_POLL_SECONDS",
        ),
        ("", {"CLAUDE_MEMORY_STORGE_PATH": "x"}, "CLAUDE_MEMORY_STORGE_PATH", "CLAUDE_MEMORY_STORAGE_PATH"),
        ("", {"CLAUDE_MEMORY_HTTP_PORT": "99999"}, "CLAUDE_MEMORY_HTTP_PORT", ""),
        ("", {"CLAUDE_MEMORY_HTTP_PORT": "many"}, "http.port", ""),
    ],
)
def test_a_mistake_is_an_error_that_names_it_and_the_nearest_right_name(
    home: Home, text: str, environ: dict[str, str], message: str, hint: str
) -> None:
    home.config_file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load(home, environ)
    assert message in caught.value.message
    assert hint in caught.value.hint


def test_a_file_that_is_not_utf8_is_an_error_and_not_a_crash(home: Home) -> None:
    home.config_file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsError):
        load(home, {})


HAND_MADE = """# my settings
[device]
name = "laptop"   # the small one

# how often
[sync]
poll_seconds = 10
# last words

[hooks]
capture = [
  "WebFetch",  # pages
]
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_saving_changes_the_line_it_means_and_keeps_the_rest(home: Home, newline: str) -> None:
    home.config_file.write_bytes(HAND_MADE.replace("\n", newline).encode())
    save(home, {"device": {"name": 'a "b" \\ ü # x'}, "sync": {"debounce_seconds": 1.5}, "storage": {"path": "~/M"}})
    expected = HAND_MADE.replace('"laptop"   # the', '"a \\"b\\" \\\\ ü # x"   # the')
    expected = expected.replace("# last words\n", "# last words\ndebounce_seconds = 1.5\n")
    expected += '\n[storage]\npath = "~/M"\n'
    assert home.config_file.read_bytes().decode() == expected.replace("\n", newline)
    settings = load(home, {})
    assert settings.device.name == 'a "b" \\ ü # x'
    assert settings.storage.path == "~/M"
    save(home, {"hooks": {"capture": ["A", "B"]}})
    assert load(home, {}).hooks.capture == ("A", "B")


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_the_saved_file_is_private_and_replaced_at_once(home: Home) -> None:
    save(home, Settings.model_validate({"device": {"name": "x"}, "http": {"port": 1}}))
    assert stat.S_IMODE(home.config_file.stat().st_mode) == 0o600
    assert home.config_file.read_text() == '[device]\nname = "x"\n\n[http]\nport = 1\n'
    assert [entry.name for entry in home.root.iterdir()] == ["config.toml"]


def test_wrong_settings_are_never_saved(home: Home) -> None:
    home.config_file.write_text(HAND_MADE)
    for bad in ({"sync": {"poll_seconds": 0}}, {"sync": {"pol": 1}}, {"nope": {"x": 1}}):
        with pytest.raises(SettingsError):
            save(home, bad)
    assert home.config_file.read_text() == HAND_MADE


@pytest.mark.parametrize("text", ['device.name = "x"\n', '[device]\n"name" = "x"\n', 'device = { name = "x" }\n'])
def test_a_file_that_cannot_be_edited_safely_is_left_alone(home: Home, text: str) -> None:
    home.config_file.write_text(text)
    assert load(home, {}).device.name == "x"
    with pytest.raises(SettingsError):
        save(home, {"device": {"name": "y"}})
    assert home.config_file.read_text() == text


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_text_can_be_a_value(value: str) -> None:
    import tomllib

    text = edited(HAND_MADE, "device", "name", value)
    assert tomllib.loads(text)["device"]["name"] == value
    assert "# my settings" in text


def test_the_storage_folder_understands_the_home_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    settings = Settings.model_validate({"storage": {"path": "~/Mémoire/"}})
    assert settings.storage.folder() == tmp_path / "Mémoire"
    assert Settings().storage.folder() is None
