"""`claude-memory up`: choose a storage without asking, run the daemon in the foreground, show how it is going."""

import argparse
import os
import shlex
import sys
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from command_line.arguments import Commands, add_command, wants_json

if TYPE_CHECKING:
    from daemon.service import Service
    from memory_cache.home import Home
    from memory_cache.settings import Settings

_LOOK_SECONDS = 0.5


def register(commands: Commands) -> None:
    """Add the command."""
    add_command(commands, "up", run, "set up with defaults, run the daemon here, show its state; Ctrl-C ends it")


def run(args: argparse.Namespace) -> int:
    """Run until Ctrl-C; where a daemon runs already, show its state."""
    from command_line import daemon_client
    from memory_cache.home import Home

    home = Home.current()
    running = daemon_client.status(home)
    if running is not None and not running.get("auto_started"):
        return _show_running(args, home)
    settings = prepared(home, os.environ)
    if running is not None:
        daemon_client.stop(home)
    return _be_the_daemon(args, home, settings)


def _show_running(args: argparse.Namespace, home: "Home") -> int:
    import anyio

    from command_line.output import Answer, show
    from command_line.status_command import gather, in_words

    status = anyio.run(gather, home)
    status["connect"] = shlex.join(connect_command(os.environ))
    text = f"A daemon is running already.\n{in_words(status)}\n\nConnect Claude Code:\n  {status['connect']}"
    show(Answer(status, text), as_json=wants_json(args))
    return 0


def prepared(home: "Home", environ: Mapping[str, str]) -> "Settings":
    """The settings, with a storage chosen where none was. Raises: SettingsError, OSError."""
    from command_line.storage_choice import offered_folder
    from memory_cache import settings as settings_file

    home.ensure()
    settings = settings_file.load(home, environ)
    if settings.storage.backend != "folder" or settings.storage.path:
        return settings
    folder = offered_folder(environ)
    folder.mkdir(parents=True, exist_ok=True)
    settings_file.save(home, {"storage": {"backend": "folder", "path": str(folder)}})
    return settings_file.load(home, environ)


def connect_command(environ: Mapping[str, str]) -> list[str]:
    """The command that makes this installation known to Claude Code, in every project."""
    from command_line.registration import claude_code_command

    return claude_code_command(program(), environ)


def program() -> list[str]:
    """This program by absolute paths."""
    from command_line import service_install
    from command_line.errors import CommandFailed

    try:
        return [service_install.program()]
    except CommandFailed:  # not installed: run from a checkout
        return [sys.executable, "-m", "command_line"]


def _be_the_daemon(args: argparse.Namespace, home: "Home", settings: "Settings") -> int:
    from command_line.daemon_commands import serve
    from command_line.errors import CommandFailed
    from daemon.lock import AlreadyLocked
    from daemon.logging_setup import set_up

    set_up(home.log_file)
    view = _View(home, settings, as_json=wants_json(args))
    try:
        serve(home, on_ready=view.show)
    except AlreadyLocked as held:
        raise CommandFailed("In use", str(held), "Try again when it has ended.") from None
    view.end()
    return 0


class _View:
    """What a person sees while the daemon runs: a live panel on a terminal, a line per change in a pipe."""

    def __init__(self, home: "Home", settings: "Settings", *, as_json: bool) -> None:
        self._home = home
        self._settings = settings
        self._as_json = as_json

    async def show(self, service: "Service") -> None:
        """Show the state of the service until cancelled."""
        connect = shlex.join(connect_command(os.environ))
        if not self._as_json and sys.stdout.isatty():
            await self._live(service, connect)
            return
        if self._as_json:
            self._line({"connect": connect, "home": str(self._home.root), "log": str(self._home.log_file)})
        else:
            sys.stdout.write(f"Connect Claude Code:\n  {connect}\n\nCtrl-C ends the daemon.\n")
            sys.stdout.flush()
        await self._lines(service)

    def end(self) -> None:
        """The daemon has ended."""
        if not self._as_json:
            sys.stdout.write("The daemon has ended.\n")

    async def _lines(self, service: "Service") -> None:
        from command_line.status_command import in_words

        shown: Any = None
        async for status in self._states(service):
            # What moves all the time is no news.
            news = {key: status[key] for key in ("storage", "conflicts", "cache", "login")}
            news = {**news, "pending": status["sync"]["pending"], "sessions": service.sessions.count}
            news["cache"] = {key: value for key, value in news["cache"].items() if key != "bytes"}
            if news != shown:
                shown = news
                if self._as_json:
                    self._line(status)
                else:
                    sys.stdout.write(f"\n{in_words(status)}\n")
                    sys.stdout.flush()

    def _line(self, data: Mapping[str, Any]) -> None:
        import json

        sys.stdout.write(json.dumps(data, ensure_ascii=False) + "\n")
        sys.stdout.flush()

    async def _live(self, service: "Service", connect: str) -> None:
        from rich.live import Live

        with Live(auto_refresh=False) as live:
            async for status in self._states(service):
                live.update(_panel(status, connect, service), refresh=True)

    async def _states(self, service: "Service") -> AsyncIterator[dict[str, Any]]:
        """The status, whenever something may have changed."""
        import anyio

        from command_line.status_command import describe

        seen: Any = None
        while True:
            now = (await service.cache.database.data_version(), service.sync.running, service.sessions.count)
            if now != seen:
                seen = now
                yield await describe(self._home, self._settings, service.cache, service.status())
            await anyio.sleep(_LOOK_SECONDS)


def _panel(status: dict[str, Any], connect: str, service: "Service") -> Any:
    from rich.console import Group
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    from command_line.status_command import STATES

    storage, sync, cache = status["storage"], status["sync"], status["cache"]
    table = Table.grid(padding=(0, 2))
    good = storage["state"] == "ok"
    state = "syncing" if service.sync.running else STATES.get(storage["state"], storage["state"])
    table.add_row(Text("storage", "dim"), Text(storage["root"] or storage["backend"]))
    table.add_row(Text("state", "dim"), Text(state, "green" if good else "yellow"))
    if storage.get("message"):
        table.add_row("", Text(f"{storage['message']} {storage.get('hint', '')}".strip(), "yellow"))
    table.add_row(Text("memories", "dim"), Text(f"{cache['memories']}, {cache['trash']} in the trash"))
    last = sync["last"] or "not yet"
    table.add_row(Text("pending", "dim"), Text(f"{sync['pending']}, {sync['held']} held, last sync {last}"))
    conflicts = status["conflicts"]
    table.add_row(Text("conflicts", "dim"), Text(str(conflicts), "yellow" if conflicts else ""))
    table.add_row(Text("sessions", "dim"), Text(str(service.sessions.count)))
    for device in status["devices"]:
        own = device.get("id") == status["device"]["id"]
        told = "this device" if own else f"told at {device.get('last_round')}"
        table.add_row(Text("device", "dim"), Text(f"{device.get('name')}, {told}"))
    hint = Text("Ctrl-C ends the daemon. Connect Claude Code:", "dim")
    # Not in the panel: a border would end up in what people copy.
    return Group(Panel(table, title="claude-memory", title_align="left"), hint, Text(connect, "bold", no_wrap=False))
