"""Tell Claude Code and Claude Desktop about this server, and take it back."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from command_line.errors import CommandFailed
from memory_cache.home import user_home

SERVER = "memory"
PLUGIN = "memory@claude-onedrive-memory"
_TIMEOUT_SECONDS = 60


def server_entry(program: Sequence[str], environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The entry of a client's `mcpServers`: absolute paths, because Desktop starts with an almost empty environment."""
    entry: dict[str, Any] = {"command": program[0], "args": [*program[1:], "mcp"]}
    if environ.get("CLAUDE_MEMORY_HOME"):
        entry["env"] = {"CLAUDE_MEMORY_HOME": environ["CLAUDE_MEMORY_HOME"]}
    return entry


def claude_code_command(program: Sequence[str], environ: Mapping[str, str] = os.environ) -> list[str]:
    """The `claude mcp add-json …` command that makes the server known in every project of this user.

    `alwaysLoad` brings the tools into the first turn of a session.
    """
    entry = {"type": "stdio", **server_entry(program, environ), "alwaysLoad": True}
    return ["claude", "mcp", "add-json", "--scope", "user", SERVER, json.dumps(entry)]


def has_claude_code() -> bool:
    """Whether the `claude` command is there."""
    return shutil.which("claude") is not None


def is_in_claude_code() -> bool:
    """Whether Claude Code knows a server of our name."""
    return has_claude_code() and _claude(["claude", "mcp", "get", SERVER]).returncode == 0


def add_to_claude_code(program: Sequence[str]) -> None:
    """Make the server known to Claude Code; replaces an earlier entry. Raises: CommandFailed."""
    if is_in_claude_code():
        remove_from_claude_code()
    done = _claude(claude_code_command(program))
    if done.returncode:
        raise CommandFailed("Claude Code refused", (done.stderr or done.stdout).strip())


def remove_from_claude_code() -> None:
    """Take the server out of Claude Code's user settings."""
    _claude(["claude", "mcp", "remove", "--scope", "user", SERVER])


def claude_code_config_file(environ: Mapping[str, str] = os.environ) -> Path:
    """Where Claude Code keeps the servers of this user; it need not exist."""
    return Path(environ.get("CLAUDE_CONFIG_DIR") or user_home(environ)) / ".claude.json"


def has_plugin(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether this project's plugin is installed in Claude Code: it brings its own server entry."""
    folder = Path(environ.get("CLAUDE_CONFIG_DIR") or user_home(environ) / ".claude")
    try:
        installed = json.loads((folder / "plugins" / "installed_plugins.json").read_text("utf-8"))
        return PLUGIN in installed["plugins"]
    except (OSError, ValueError, KeyError, TypeError):
        return False


def program_in(path: Path) -> str:
    """The program that a client's configuration starts as our server; empty when there is none."""
    try:
        config: Any = json.loads(path.read_text("utf-8-sig"))
        program = config["mcpServers"][SERVER]["command"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    return program if isinstance(program, str) else ""


def left_behind(environ: Mapping[str, str] = os.environ) -> list[str]:
    """What of ours stays in Claude Code after `uninstall`, and the command that takes it out, as sentences."""
    left = []
    if not has_claude_code() and program_in(claude_code_config_file(environ)):
        left.append(
            f"{claude_code_config_file(environ)} still names this server: the command `claude` is not on the PATH, and "
            f"its file is not ours to edit. Take it out with `claude mcp remove --scope user {SERVER}`."
        )
    if has_plugin(environ):
        left.append(f"The plugin stays in Claude Code. Take it out with `claude plugin uninstall {PLUGIN}`.")
    return left


def _claude(command: list[str]) -> "subprocess.CompletedProcess[str]":
    resolved = [shutil.which(command[0]) or command[0], *command[1:]]
    try:
        return subprocess.run(resolved, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CommandFailed("Claude Code does not answer", str(error)) from error


def desktop_config_file(environ: Mapping[str, str] = os.environ) -> Path:
    """Claude Desktop's configuration file on this platform; it need not exist."""
    home = user_home(environ)
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "Claude" / "claude_desktop_config.json"
    if sys.platform == "win32":
        return Path(environ.get("APPDATA") or home / "AppData" / "Roaming") / "Claude" / "claude_desktop_config.json"
    return home / ".config" / "Claude" / "claude_desktop_config.json"


def has_desktop(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether Claude Desktop seems to be installed."""
    return desktop_config_file(environ).parent.is_dir()


def is_in_desktop(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether Claude Desktop's configuration has an entry of our name."""
    try:
        return SERVER in _servers(_desktop_config(desktop_config_file(environ)))
    except CommandFailed:
        return False


def add_to_desktop(program: Sequence[str], environ: Mapping[str, str] = os.environ) -> Path:
    """Write our entry into Claude Desktop's configuration; everything else stays. Raises: CommandFailed."""
    path = desktop_config_file(environ)
    config = _desktop_config(path)
    config["mcpServers"] = {**_servers(config), SERVER: server_entry(program, environ)}
    _replace(path, config)
    return path


def remove_from_desktop(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Take our entry out again; the file's path when there was one. Raises: CommandFailed."""
    path = desktop_config_file(environ)
    config = _desktop_config(path)
    servers = _servers(config)
    if SERVER not in servers:
        return None
    del servers[SERVER]
    if not servers:
        del config["mcpServers"]
    if config:
        _replace(path, config)
    else:
        path.unlink()
    return path


def _desktop_config(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise CommandFailed("Cannot read", f"{path}: {error.strerror}.") from error
    try:
        config = json.loads(text or "{}")
    except ValueError as error:
        raise CommandFailed(
            "Not valid JSON", f"{path} is not valid JSON ({error}).", "Mend it by hand; it was left as it is."
        ) from error
    if not isinstance(config, dict):
        raise CommandFailed("Not valid", f"{path} holds no JSON object.", "Mend it by hand; it was left as it is.")
    return config


def _servers(config: Mapping[str, Any]) -> dict[str, Any]:
    servers = config.get("mcpServers", {})
    if not isinstance(servers, dict):
        raise CommandFailed("Not valid", "`mcpServers` of Claude Desktop's configuration is no object.")
    return servers


def _replace(path: Path, config: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(config, ensure_ascii=False, indent=2) + "\n"
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".claude-memory-", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        if path.exists():
            shutil.copymode(path, temporary)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
