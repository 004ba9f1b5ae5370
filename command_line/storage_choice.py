"""Which folder is offered for memories when the user has named none."""

import json
from collections.abc import Mapping
from pathlib import Path

from memory_cache.home import onedrive_roots, user_home

APP_FOLDER = Path("Apps") / "ClaudeMemory"


def offered_folder(environ: Mapping[str, str]) -> Path:
    """The older server's folder where one was set up; else OneDrive's app folder when exactly one OneDrive is
    found; else `~/ClaudeMemory`. The folder need not exist."""
    home = user_home(environ)
    older = older_servers_folder(home)
    if older is not None:
        return older
    roots = onedrive_roots(environ, home)
    return roots[0] / APP_FOLDER if len(roots) == 1 else home / "ClaudeMemory"


def found_folders(environ: Mapping[str, str]) -> list[Path]:
    """Where memories could be kept, for each place that is found on this machine: none of them need exist."""
    home = user_home(environ)
    older = older_servers_folder(home)
    found = [older] if older is not None else []
    return list(dict.fromkeys([*found, *(root / APP_FOLDER for root in onedrive_roots(environ, home))]))


def older_servers_folder(home: Path) -> Path | None:
    """Where claude-onedrive-memory 0.2 kept its memories, if it was set up for this user and the folder exists."""
    try:
        config = json.loads((home / ".claude" / "odsp-memory" / "config.json").read_text("utf-8-sig"))
        chosen = Path(config["oneDrivePath"]).expanduser()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    for folder in (chosen / APP_FOLDER, chosen):
        if (folder / "memories").is_dir() or (folder / "index.json").is_file():
            return folder
    return None
