"""Run the emulator: `python -m tests.graph_emulator` prints its base URL and serves until it is ended.

Environment: ACCOUNT (personal, business), DRIVE_ID, REFRESH_TOKEN, PORT; and TLS_CERT, TLS_KEY, TLS_HOST,
TLS_PORT for clients that insist on https://graph.microsoft.com: its links then name the hosts of the service.
"""

import asyncio
import os
import signal
import ssl
import sys

from tests.graph_emulator.emulator import TOKEN, Emulator
from tests.graph_emulator.switches import Account


def configured() -> Emulator:
    """An emulator as the environment wants it."""
    emulator = Emulator(
        account=Account(os.environ.get("ACCOUNT", "personal")),
        drive_id=os.environ.get("DRIVE_ID", ""),
        refresh_token=os.environ.get("REFRESH_TOKEN", "refresh-token"),
        port=int(os.environ.get("PORT", "0")),
    )
    if certificate := os.environ.get("TLS_CERT"):
        emulator.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        emulator.tls.load_cert_chain(certificate, os.environ.get("TLS_KEY"))
        emulator.host = os.environ.get("TLS_HOST", "127.0.0.1")
        emulator.port = int(os.environ.get("TLS_PORT", "443"))
        emulator.fixed_base = True
    return emulator


async def serve() -> None:
    """Serve until SIGINT or SIGTERM."""
    emulator = configured()
    await emulator.start()
    print(emulator.url, flush=True)
    print(f"token: {TOKEN}   account: {emulator.account}   drive: {emulator.drive_id}", file=sys.stderr, flush=True)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    await ended.wait()
    await emulator.stop()


if __name__ == "__main__":
    asyncio.run(serve())
