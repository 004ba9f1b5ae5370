"""Which folders can hold the memories: the OneDrive folders of this machine, or one that the user names."""

from collections.abc import Mapping
from pathlib import Path

from memory_cache.errors import InvalidInput
from memory_cache.home import onedrive_roots, user_home

APP_FOLDER = Path("Apps") / "ClaudeMemory"


def offered(environ: Mapping[str, str]) -> list[Path]:
    """The application's folder in each OneDrive of this machine, the likeliest first."""
    return [root / APP_FOLDER for root in onedrive_roots(environ, user_home(environ))]


def default_folder(environ: Mapping[str, str]) -> Path:
    """The OneDrive folder when there is exactly one, else `~/ClaudeMemory`."""
    folders = offered(environ)
    return folders[0] if len(folders) == 1 else user_home(environ) / "ClaudeMemory"


def by_index(environ: Mapping[str, str], index: int | None) -> Path:
    """The offered folder with this number, counted from 1. Raises: InvalidInput."""
    folders = offered(environ)
    if not folders:
        raise InvalidInput("No OneDrive folder was found on this machine.", "Use action=custom with a path.")
    if index is None or not 1 <= index <= len(folders):
        listed = "; ".join(f"{number}. {folder}" for number, folder in enumerate(folders, 1))
        raise InvalidInput(f"There is no folder number {index}.", f"Give an index of: {listed}.")
    return folders[index - 1]


def custom(environ: Mapping[str, str], path: str | None, home_root: Path) -> Path:
    """The folder that the user named. Raises: InvalidInput with what would do."""
    text = (path or "").strip()
    if not text:
        raise InvalidInput("action=custom needs a path.", "Give the absolute path of a folder.")
    user = user_home(environ)
    folder = user / text[2:] if text.startswith(("~/", "~\\")) else user if text == "~" else Path(text)
    if not folder.is_absolute():
        raise InvalidInput(f"{text!r} is not an absolute path.", "Give the path from the root, or from ~.")
    folder = Path(*folder.parts)
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder} is a file.", "Give the path of a folder.")
    if folder in (Path(folder.anchor), user):
        raise InvalidInput(
            f"{folder} itself is too wide.", f"Give a folder of its own, such as {folder / 'ClaudeMemory'}."
        )
    if folder.is_relative_to(home_root) or home_root.is_relative_to(folder):
        raise InvalidInput(f"{folder} holds this device's cache.", "Give another folder.")
    if not folder.exists() and not folder.parent.is_dir():
        raise InvalidInput(f"{folder.parent} does not exist.", "Create it first, or give another path.")
    return folder


def create(folder: Path) -> None:
    """Make the folder where it is missing; in a OneDrive also the `Apps` above it. Raises: InvalidInput."""
    try:
        if folder.parent.name == APP_FOLDER.parts[0]:
            folder.parent.mkdir(exist_ok=True)
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InvalidInput(
            f"{folder} cannot be made: {error.strerror}.", "Choose a folder that you may write to."
        ) from error
