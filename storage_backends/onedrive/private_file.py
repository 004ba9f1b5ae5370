"""Small files of this device that nobody else may read."""

import os
import tempfile
from pathlib import Path


def write_private(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, readable by the user alone."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tmp-")  # 0600 from the start
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
