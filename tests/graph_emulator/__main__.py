"""Run the emulator: `python -m tests.graph_emulator` prints its base URL and serves until it is ended.

Environment: ACCOUNT (personal, business), DRIVE_ID, REFRESH_TOKEN, PORT, MEMORIES (how many to begin with, in the
folder of the app); and TLS_CERT, TLS_KEY, TLS_HOST,
TLS_PORT for clients that insist on https://graph.microsoft.com: its links then name the hosts of the service.
"""

import asyncio
import os
import random
import signal
import ssl
import sys
import uuid

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
    for number in range(int(os.environ.get("MEMORIES", "0"))):
        name, text = memory(number)
        emulator.drive.write(f"Apps/ClaudeMemory/memories/{name}", text.encode())
    if certificate := os.environ.get("TLS_CERT"):
        emulator.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        emulator.tls.load_cert_chain(certificate, os.environ.get("TLS_KEY"))
        emulator.host = os.environ.get("TLS_HOST", "127.0.0.1")
        emulator.port = int(os.environ.get("TLS_PORT", "443"))
        emulator.fixed_base = True
    return emulator


def memory(number: int) -> tuple[str, str]:
    """Path below `memories/` and text of one of many memories of about 60 words."""
    chosen = random.Random(number)
    memory_id = str(uuid.UUID(int=chosen.getrandbits(128), version=4))
    category = ("learning", "decision", "preference", "reference")[number % 4]
    stamp = f"2026-{1 + number % 12:02}-{1 + number % 28:02}T10:00:00.000Z"
    words = " ".join(f"w{chosen.randrange(4000)}" for _ in range(60))
    front = f'id: {memory_id}\ncategory: {category}\ntags:\n  - bench\ncreated: "{stamp}"\nupdated: "{stamp}"'
    return (
        f"{category}/{stamp[:10]}-note-{number}-{memory_id[:8]}.md",
        f"---\n{front}\n---\n# Note {number}\n\n{words}\n",
    )


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
