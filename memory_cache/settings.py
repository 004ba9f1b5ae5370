"""Settings of this device: `config.toml` in its home, overridden by `CLAUDE_MEMORY_<SECTION>_<KEY>`."""

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memory_cache.errors import SettingsError
from memory_cache.home import Home, user_home
from memory_cache.settings_file import edited, write_private

_PREFIX = "CLAUDE_MEMORY_"
# Variables that are no settings.
_RESERVED = frozenset(["HOME", "GRAPH_URL", "GRAPH_TOKEN"])


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


class StorageSettings(_Section):
    """Where memories are kept. `path` is the folder of the folder backend; `~` is the home directory."""

    backend: Literal["folder", "onedrive"] = "folder"
    path: str = ""

    def folder(self) -> Path | None:
        """`path` as an absolute path, or None when it is not set."""
        if not self.path:
            return None
        path = self.path
        if path == "~" or path.startswith(("~/", "~\\")):
            return user_home() / path[2:]
        return Path(path).absolute()


class DeviceSettings(_Section):
    """How this device calls itself; empty for its host name."""

    name: str = Field(default="", max_length=100)


class OneDriveSettings(_Section):
    """Access through Microsoft Graph. `access`: the app's own folder only, or any folder of the drive."""

    client_id: str = ""
    tenant: str = "common"
    access: Literal["app-folder", "files"] = "app-folder"
    drive: str = ""
    folder: str = ""
    push: bool = True
    plain_token_cache: bool = False


class SyncSettings(_Section):
    """How often the daemon looks. Seconds, but for `full_enumeration_hours`."""

    poll_seconds: float = Field(default=60, ge=1, le=86_400)
    idle_poll_seconds: float = Field(default=300, ge=1, le=86_400)
    debounce_seconds: float = Field(default=0.3, ge=0, le=60)
    full_enumeration_hours: float = Field(default=24, gt=0, le=8_760)


class DaemonSettings(_Section):
    """Whether a session starts a daemon, and how long one that was started so stays without clients (0: for ever)."""

    autostart: bool = True
    idle_exit_minutes: float = Field(default=60, ge=0, le=100_000)


class RecallSettings(_Section):
    """Which embedder ranks, and how much recall answers at most."""

    embedder: str = "static"
    max_tokens: int = Field(default=2000, ge=100, le=20_000)


class ToolSettings(_Section):
    """Which set of MCP tools is offered."""

    profile: Literal["full", "core"] = "full"


class ExpirySettings(_Section):
    """Days from expiry to trash, and days in the trash."""

    grace_days: int = Field(default=7, ge=0, le=3_650)
    trash_days: int = Field(default=30, ge=0, le=3_650)


class PrivacySettings(_Section):
    """What happens to a memory that seems to hold a secret."""

    secrets: Literal["warn", "refuse", "allow"] = "warn"


class DocumentSettings(_Section):
    """Caps of cached documents; 0 lifts a cap."""

    sync: bool = True
    max_bytes: int = Field(default=100_000_000, ge=0)
    max_count: int = Field(default=2_000, ge=0)
    max_age_days: int = Field(default=90, ge=0)


class HttpSettings(_Section):
    """Where `claude-memory mcp --http` listens."""

    host: str = "127.0.0.1"
    port: int = Field(default=3101, ge=0, le=65_535)


class HookSettings(_Section):
    """Tools whose results are kept as documents besides WebFetch and context7."""

    capture: tuple[str, ...] = ()


class Settings(_Section):
    """All settings, each with its default."""

    storage: StorageSettings = StorageSettings()
    device: DeviceSettings = DeviceSettings()
    onedrive: OneDriveSettings = OneDriveSettings()
    sync: SyncSettings = SyncSettings()
    daemon: DaemonSettings = DaemonSettings()
    recall: RecallSettings = RecallSettings()
    tools: ToolSettings = ToolSettings()
    expiry: ExpirySettings = ExpirySettings()
    privacy: PrivacySettings = PrivacySettings()
    documents: DocumentSettings = DocumentSettings()
    http: HttpSettings = HttpSettings()
    hooks: HookSettings = HookSettings()


def load(home: Home, environ: Mapping[str, str]) -> Settings:
    """The settings of this device. Raises: SettingsError that names the file or variable and the mistake."""
    values = _from_file(home.config_file)
    try:
        Settings.model_validate(values)
    except ValidationError as error:
        raise _explained(error, str(home.config_file)) from None
    for section, key, variable, text in _from_environment(environ):
        value: object = [part.strip() for part in text.split(",") if part.strip()] if _is_list(section, key) else text
        values.setdefault(section, {})[key] = value
        try:
            Settings.model_validate({section: {key: value}})
        except ValidationError as error:
            raise _explained(error, f"the variable {variable}") from None
    return Settings.model_validate(values)


def save(home: Home, changes: Mapping[str, Mapping[str, Any]] | Settings) -> None:
    """Write these settings into config.toml, and leave its other lines and comments as they are.

    Given whole `Settings`, everything that is not the default is written. The file is replaced at once
    and readable by its owner only. Raises: SettingsError when they are no settings; OSError.
    """
    wanted = changes.model_dump(mode="json", exclude_defaults=True) if isinstance(changes, Settings) else changes
    values = _from_file(home.config_file)
    text = _read(home.config_file)
    for section, keys in wanted.items():
        if not isinstance(values.get(section, {}), dict):
            raise SettingsError(f"{section} is no section in {home.config_file}.", "Correct it in an editor.")
        for key, value in keys.items():
            text = edited(text, section, key, value)
            values.setdefault(section, {})[key] = value
    try:
        Settings.model_validate(values)
    except ValidationError as error:
        raise _explained(error, "the new settings") from None
    home.ensure()
    write_private(home.config_file, text)


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise SettingsError(f"{path} cannot be read: {reason}.") from None


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_read(path).replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not valid TOML: {error}.", "Correct the line in an editor.") from None
    except RecursionError:
        raise SettingsError(f"{path} is nested too deeply.", "Correct it in an editor.") from None


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str, str]]:
    for variable, text in sorted(environ.items()):
        if not variable.startswith(_PREFIX) or variable.removeprefix(_PREFIX) in _RESERVED:
            continue
        section, _, key = variable.removeprefix(_PREFIX).lower().partition("_")
        if key not in _keys(section):
            raise SettingsError(f"The variable {variable} is no setting.", _nearest_variable(section, key))
        yield section, key, variable, text


def _keys(section: str) -> list[str]:
    field = Settings.model_fields.get(section)
    return list(type(field.default).model_fields) if field else []


def _is_list(section: str, key: str) -> bool:
    return isinstance(getattr(getattr(Settings(), section), key), tuple)


def _nearest(name: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"Did you mean {near[0]}?" if near else f"Known are: {', '.join(sorted(known))}."


def _nearest_variable(section: str, key: str) -> str:
    if _keys(section):
        near = difflib.get_close_matches(key, _keys(section), n=1, cutoff=0.5)
        names = ", ".join(f"{_PREFIX}{section}_{name}".upper() for name in near or _keys(section))
        return f"Did you mean {names}?" if near else f"Known are: {names}."
    # Without the prefix: all names share it, so that any two of them look alike.
    known = [*(f"{s}_{k}" for s in Settings.model_fields for k in _keys(s)), *(name.lower() for name in _RESERVED)]
    near = difflib.get_close_matches(f"{section}_{key}".strip("_"), known, n=1, cutoff=0.6)
    if near:
        return f"Did you mean {_PREFIX}{near[0].upper()}?"
    sections = ", ".join(f"{_PREFIX}{name}_…".upper() for name in Settings.model_fields)
    return f"Remove it. Settings begin with: {sections}."


def _explained(error: ValidationError, where: str) -> SettingsError:
    mistake = error.errors(include_url=False, include_context=False)[0]
    names = [str(part) for part in mistake["loc"]]
    dotted = ".".join(names)
    if mistake["type"] == "extra_forbidden":
        known = [f"{names[0]}.{key}" for key in _keys(names[0])] if len(names) > 1 else list(Settings.model_fields)
        everywhere = [f"{section}.{key}" for section in Settings.model_fields for key in _keys(section)]
        near = difflib.get_close_matches(dotted, known, n=1, cutoff=0.5)
        return SettingsError(
            f"Unknown setting {dotted} in {where}.", _nearest(dotted, known if near or len(names) == 1 else everywhere)
        )
    return SettingsError(f"The setting {dotted} in {where} is wrong: {mistake['msg'].replace('Input', 'it')}.")
