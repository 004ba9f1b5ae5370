"""`claude-memory dashboard`: the memory in a browser, served by the daemon to this machine alone."""

import argparse
import sys

from command_line.arguments import Commands, add_command, wants_json


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "dashboard", run, "look at the memories in a browser")
    parser.add_argument("--no-open", action="store_true", help="print the address, open no browser")


def run(args: argparse.Namespace) -> int:
    """Print an address that works once, and open it. A daemon is started when none runs."""
    from command_line import daemon_client
    from command_line.daemon_commands import start_in_background
    from command_line.errors import CommandFailed
    from command_line.output import Answer, show
    from memory_cache.home import Home

    home = Home.current()
    start_in_background(home, lasting=False)
    try:
        found = daemon_client.dashboard(home)
    except daemon_client.NotRunning:
        hint = f"The end of {home.log_file} says why."
        raise CommandFailed("No dashboard", "The daemon could not open the dashboard.", hint) from None
    opened = not args.no_open and not wants_json(args) and _opened(found["url"])
    text = f"{found['url']}\nThis link works once, within two minutes."
    show(Answer({**found, "opened": opened}, text), as_json=wants_json(args))
    return 0


def _opened(url: str) -> bool:
    import os
    import webbrowser

    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False  # no screen: a browser in the terminal, which webbrowser would take, runs no scripts
    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False
