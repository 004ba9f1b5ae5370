"""The entry points of `claude-memory`.

A session starts `mcp`, every event of a session starts `hook`: these two leave here before anything is
imported that costs milliseconds. For any other command only the module that holds it is imported.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing it from `typing` costs what `mcp` has not got
if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_server.relay_types import Started


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `claude-memory` with these arguments (those of the process when None). Returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given == ["mcp"]:
        return serve_mcp()
    if given[:1] == ["hook"]:
        from command_line import hooks

        return hooks.run(given[1] if len(given) > 1 else "")
    from command_line.dispatch import dispatch

    return dispatch(given)


def serve_mcp() -> int:
    """Serve the client on stdin and stdout: `claude-memory mcp`, `claude-onedrive-memory`."""
    if len(sys.argv) > 1 and sys.argv[1] != "mcp":
        # `claude-onedrive-memory --version` and the like: the other command's business.
        from command_line.dispatch import dispatch

        return dispatch(["mcp", *sys.argv[1:]])
    import os

    from mcp_server import relay
    from memory_cache import endpoint

    home = endpoint.home_directory(os.environ)

    def start_daemon() -> Started:
        from command_line.launch import start_detached

        return start_detached(home, os.environ, auto_started=True)

    return relay.run(home, os.environ, start_daemon)
