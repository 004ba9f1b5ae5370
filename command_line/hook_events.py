"""What each of Claude Code's hook events does: brief, capture, recall. Used by the daemon and, without one, by the
hook's own process; standard library only."""

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from memory_cache import spool
from memory_cache.private import strip_private


def handle(event: str, payload: bytes, environ: Mapping[str, str], home: str) -> bytes:
    """What Claude Code is to read on the hook's stdout; empty for nothing.

    Args:
        environ: `CLAUDE_PROJECT_DIR` and settings are taken from here.

    Raises: whatever goes wrong; the caller keeps it from the session.
    """
    action = _ACTIONS.get(event)
    return b"" if action is None else action(read(payload), environ, home).encode("utf-8", "replace")


def read(payload: bytes) -> dict[str, Any]:
    """The event's JSON object; empty when there is none. Raises: ValueError, RecursionError."""
    event = json.loads(payload.decode("utf-8-sig", "replace") or "{}")
    return event if isinstance(event, dict) else {}


def context(event: str, text: str) -> str:
    """The JSON that adds `text` to the model's context."""
    output = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
    return json.dumps(output, ensure_ascii=False)


def directory(event: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    """Where the session works. A session keeps its project when the model changes directory; `cwd` follows it."""
    return str(environ.get("CLAUDE_PROJECT_DIR") or event.get("cwd") or os.getcwd())


def _session_start(event: dict[str, Any], environ: Mapping[str, str], home: str) -> str:
    from memory_cache.briefing import briefing
    from memory_cache.project_identity import identify

    cache_file = os.path.join(home, "cache.sqlite3")
    if not os.path.exists(cache_file):
        return ""
    project = identify(directory(event, environ))
    text = briefing(cache_file, project.key, project.name)
    return context("SessionStart", text) if text else ""


def _post_tool_use(event: dict[str, Any], environ: Mapping[str, str], home: str) -> str:
    if _is_captured(str(event.get("tool_name", "")), home, environ):
        kept = {key: event.get(key) for key in ("tool_name", "tool_input", "tool_response", "session_id")}
        spool.put(home, {"kind": "tool", "cwd": directory(event, environ), **_without_private(kept)})
    return ""


def _post_compact(event: dict[str, Any], environ: Mapping[str, str], home: str) -> str:
    summary = event.get("compact_summary")
    if isinstance(summary, str) and (kept := strip_private(summary).strip()):
        facts = {"summary": kept, "session_id": event.get("session_id")}
        spool.put(home, {"kind": "summary", "cwd": directory(event, environ), **facts})
    return ""


_ACTIONS: dict[str, Callable[[dict[str, Any], Mapping[str, str], str], str]] = {
    "session-start": _session_start,
    "post-tool-use": _post_tool_use,
    "post-compact": _post_compact,
}


def _is_captured(tool: str, home: str, environ: Mapping[str, str]) -> bool:
    name = tool.lower()
    if name == "webfetch" or (name.startswith("mcp__") and "context7" in name):
        return True
    wanted = _captured_tools(home, environ)
    return isinstance(wanted, list) and tool in wanted


def _captured_tools(home: str, environ: Mapping[str, str]) -> Any:
    """The setting `hooks.capture`."""
    named = environ.get("CLAUDE_MEMORY_HOOKS_CAPTURE")
    if named is not None:
        return [part.strip() for part in named.split(",")]
    try:
        with open(os.path.join(home, "config.toml"), encoding="utf-8-sig") as file:
            text = file.read()
    except OSError:
        return []
    if "hooks" not in text:
        return []
    import tomllib

    section = tomllib.loads(text).get("hooks")
    return section.get("capture") if isinstance(section, dict) else []


def _without_private(value: Any) -> Any:
    if isinstance(value, str):
        return strip_private(value)
    if isinstance(value, dict):
        return {key: _without_private(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_private(item) for item in value]
    return value
