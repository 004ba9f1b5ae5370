"""Windows can wait for sockets only: a thread copies the client's pipe into one."""

import os
import socket
import threading


class SocketClient:
    """The reading end, with the face of `mcp_server.relay_types.Client`."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def fileno(self) -> int:
        return self._connection.fileno()

    def read(self, size: int) -> bytes:
        """At most `size` bytes; none at the end."""
        return self._connection.recv(size)


def as_socket(descriptor: int) -> SocketClient:
    """What can be read from `descriptor`, through a socket."""
    ours, theirs = socket.socketpair()

    def copy() -> None:
        with theirs:
            while data := os.read(descriptor, 1 << 16):
                theirs.sendall(data)

    threading.Thread(target=copy, daemon=True).start()
    return SocketClient(ours)
