"""Files of this device and events from Claude Code that hold anything at all."""

import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import hooks
from command_line.hook_events import handle
from memory_cache.errors import SettingsError
from memory_cache.home import Home
from memory_cache.settings import Settings, load, save
from tests.fuzz.junk import JSON, TEXT, bent, examples
from tests.fuzz.watching import nothing_outside

_KEYS = sorted({key for section in Settings.model_fields.values() for key in type(section.default).model_fields})
_SPELLED = st.one_of(
    st.sampled_from(["1", "-1", "1e400", "nan", "inf", "true", '"x"', "[]", "{}", "2020-01-01", "07:00", '""']),
    st.just("[" * 4000),
    TEXT.map(lambda text: json.dumps(text)),
    st.text(max_size=8),
)  # fmt: skip
_SECTION = st.builds(
    lambda name, lines: f"[{name}]\n" + "\n".join(f"{key} = {value}" for key, value in lines),
    st.sampled_from([*Settings.model_fields, "nonsense", "storage.path", '"a b"']),
    st.lists(st.tuples(st.sampled_from([*_KEYS, "unknown", "a.b"]), _SPELLED), max_size=3),
)
_FILE = (
    st.lists(_SECTION, max_size=3).map("\n".join)
    | st.sampled_from(["storage = 3", "[[storage]]", "x = [" + "[" * 3000, "a." * 3000 + "b = 1", "\ufeff[storage]"])
    | st.text(max_size=40)
).map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=40)


@settings(deadline=None, max_examples=examples(60))
@given(_FILE, st.dictionaries(st.sampled_from(["storage", "device", "hooks"]), st.just({"path": "x"}), max_size=1))
def test_any_config_file_is_read_or_refused_in_words(data: bytes, changes: dict[str, dict[str, Any]]) -> None:
    with TemporaryDirectory() as place, nothing_outside(Path(place)):
        home = Home(Path(place))
        home.config_file.write_bytes(data)
        with suppress(SettingsError):
            load(home, {})
        try:
            save(home, changes)
        except SettingsError:
            assert home.config_file.read_bytes() == data, "refused and changed"
        else:
            load(home, {})


@settings(deadline=None, max_examples=examples(60))
@given(st.sampled_from(["STORAGE_PATH", "SYNC_POLL_SECONDS", "HOOKS_CAPTURE", "HTTP_PORT", "X"]), TEXT)
def test_any_variable_is_a_setting_or_refused_in_words(name: str, value: str) -> None:
    with TemporaryDirectory() as place, suppress(SettingsError):
        load(Home(Path(place)), {f"CLAUDE_MEMORY_{name}": value})


_EVENT = bent(
    {
        "tool_name": st.sampled_from(["WebFetch", "mcp__context7__get", "Bash"]),
        "tool_input": bent({"url": "https://example.org", "prompt": "x"}),
        "tool_response": bent({"result": "text", "code": 200}),
        "session_id": "s",
        "cwd": "/nowhere",
        "compact_summary": "what happened",
        "prompt": "how do we deploy",
        "source": "startup",
    }
).map(json.dumps)
_PAYLOAD = (_EVENT | JSON.map(json.dumps) | st.just("[" * 5_000) | TEXT).map(
    lambda text: text.encode("utf-8", "surrogatepass")
) | st.binary(max_size=40)


@settings(deadline=None, max_examples=examples(80))
@given(st.sampled_from(["session-start", "user-prompt-submit", "post-tool-use", "post-compact", "x"]), _PAYLOAD)
def test_no_hook_event_writes_outside_of_the_home(event: str, payload: bytes) -> None:
    with TemporaryDirectory() as place, nothing_outside(Path(place)):
        environ = {"CLAUDE_MEMORY_HOME": place, "CLAUDE_PROJECT_DIR": place}
        try:
            answer = handle(event, payload, environ, place)
        except (ValueError, RecursionError):  # what its caller keeps from the session
            answer = b""
        assert answer == b"" or json.loads(answer)


@settings(deadline=None, max_examples=examples(40))
@given(st.sampled_from(["session-start", "user-prompt-submit", "post-tool-use", "post-compact"]), _PAYLOAD)
def test_a_hook_is_silent_and_succeeds_whatever_it_is_given(event: str, payload: bytes) -> None:
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(hooks, "_input", lambda: payload)
        patch.setattr(hooks.os, "write", lambda descriptor, data: json.loads(data) and len(data))
        assert hooks.run(event, {"CLAUDE_MEMORY_HOME": place, "CLAUDE_PROJECT_DIR": place}) == 0
