"""`claude-memory login` and `logout`: this device's access to OneDrive."""

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from command_line.arguments import Commands, add_command, wants_json
from command_line.errors import CommandFailed

if TYPE_CHECKING:
    from memory_cache.home import Home
    from storage_backends.onedrive import DeviceCode, OneDriveSettings


def register(commands: Commands) -> None:
    """Add the commands."""
    parser = add_command(commands, "login", run_login, "log in to OneDrive on this device")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--browser", action="store_true", help="in this machine's browser")
    way.add_argument("--device-code", action="store_true", help="by a code that is entered on any machine")
    add_command(commands, "logout", run_logout, "forget the OneDrive login of this device; memories stay")


def run_login(args: argparse.Namespace) -> int:
    """Log in; a daemon that waits for it goes on by itself."""
    lines = login(browser=True if args.browser else False if args.device_code else None)
    _show(args, {"login": "ok"}, lines)
    return 0


def run_logout(args: argparse.Namespace) -> int:
    """Forget the login."""
    import anyio

    from memory_cache.home import Home
    from storage_backends import onedrive

    anyio.run(onedrive.logout, Home.current().login_dir)
    _show(
        args, {"login": "needed"}, ["The login is forgotten on this device. Your memories stay in OneDrive and here."]
    )
    return 0


def login(*, browser: bool | None = None) -> list[str]:
    """Log in as the settings say: in a browser (the default where there is one), or by a code.

    Returns what to tell the user. Raises: CommandFailed when OneDrive is not the storage; StorageError.
    """
    import anyio

    from memory_cache.home import Home
    from storage_backends import onedrive

    home = Home.current()
    options = _options(home)
    in_browser = onedrive.has_browser() if browser is None else browser

    async def main() -> Any:
        return await onedrive.login(options, home.login_dir, os.environ, _tell, browser=in_browser)

    state = anyio.run(main)
    lines = [f"Logged in as {state.username}."]
    if state.encrypted is False:
        lines.append(
            f"The login lies unencrypted in {home.login_dir}, readable by this user only (plain_token_cache = true)."
        )
    return lines


def _options(home: "Home") -> "OneDriveSettings":
    from memory_cache import settings as settings_file
    from storage_backends import onedrive

    settings = settings_file.load(home, os.environ)
    if settings.storage.backend != "onedrive":
        raise CommandFailed(
            "Nothing to log in to", "Memories are kept in a folder, which needs no login.",
            "`claude-memory setup --backend onedrive` changes that.", code=2,
        )  # fmt: skip
    return onedrive.OneDriveSettings(**settings.onedrive.model_dump())


def _tell(code: "DeviceCode") -> None:
    # To stderr: stdout may be JSON for a program.
    until = f"{code.expires.astimezone():%H:%M}"
    sys.stderr.write(f"Open {code.address} on any machine and enter the code {code.code} (valid until {until}).\n")
    sys.stderr.flush()


def _show(args: argparse.Namespace, data: dict[str, Any], lines: list[str]) -> None:
    sys.stdout.write((json.dumps(data) if wants_json(args) else "\n".join(lines)) + "\n")
