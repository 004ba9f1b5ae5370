"""`claude-memory mcp` with options: over HTTP, or the headers for HTTP clients. Without options see `main`."""

import argparse
import os
import sys
from pathlib import Path

from command_line.arguments import Commands, add_command


def register(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "mcp", run, "the MCP server: on stdin and stdout, or over HTTP")
    parser.add_argument("--http", action="store_true", help="serve streamable HTTP on this machine")
    parser.add_argument("--host", help="address to listen on (default: the setting http.host)")
    parser.add_argument("--port", type=int, help="port to listen on (default: the setting http.port)")
    parser.add_argument("--headers", action="store_true", help="print the JSON header object for HTTP clients")


def run(args: argparse.Namespace) -> int:
    """Serve until the client or a signal ends it."""
    from memory_cache.home import Home

    if args.headers:
        import json

        from mcp_server import bearer

        sys.stdout.write(json.dumps(bearer.headers(Home.current().root, os.environ, str(Path.cwd()))) + "\n")
        return 0
    if not args.http:
        from command_line.main import serve_mcp

        del sys.argv[1:]
        return serve_mcp()
    import anyio

    from command_line.companion import Companion
    from mcp_server.http import run_http

    def ready(url: str) -> None:
        sys.stderr.write(f"serving MCP at {url}\n")
        Companion(Home.current(), os.environ).start()

    anyio.run(lambda: run_http(Home.current(), os.environ, host=args.host, port=args.port, ready=ready))
    return 0
