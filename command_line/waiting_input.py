"""Text that waits on standard input, for a command that can do without."""

import os
import select
import stat
import sys

from command_line.arguments import standard_input

_WAIT_SECONDS = 1.0


def waiting_input() -> str | None:
    """The text of a file or pipe on standard input, or None when there is none.

    A pipe that says nothing for a second is left alone: it was inherited and nobody writes into it. Windows
    cannot tell, so there only `-` reads standard input. Raises: InvalidInput when it is not UTF-8.
    """
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (OSError, ValueError):
        return None  # closed, or replaced by something that is no file
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        if os.name == "nt" or not select.select([descriptor], [], [], _WAIT_SECONDS)[0]:
            return None
    elif not stat.S_ISREG(mode):
        return None
    return standard_input() or None
