"""Merging two versions of a memory by hand, in the user's editor."""

import difflib
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from command_line.errors import CommandFailed
from memory_cache.errors import InvalidInput
from memory_cache.models import Conflict

_MARKER = re.compile(r"^(?:<<<<<<< mine|>>>>>>> theirs)", re.MULTILINE)


def with_markers(conflict: Conflict) -> str:
    """Both whole files as one text; where they differ, both versions stand between the usual conflict markers."""
    mine, theirs = conflict.mine.splitlines(), conflict.theirs.splitlines()
    lines: list[str] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += mine[a:b]
        else:
            lines += ["<<<<<<< mine (in the memory now)", *mine[a:b], "=======", *theirs[c:d]]
            lines.append(f">>>>>>> theirs ({conflict.device or 'another device'})")
    return "\n".join(lines) + "\n"


def without_markers(text: str) -> str:
    """The text. Raises: InvalidInput when it is empty, or a conflict marker is left in it."""
    if not text.strip():
        raise InvalidInput("The merged text is empty; nothing was changed.", "Use forget to delete a memory.")
    if _MARKER.search(text):
        raise InvalidInput(
            "The text still holds conflict markers; nothing was changed.",
            "Take out the lines that begin with <<<<<<<, ======= and >>>>>>>.",
        )
    return text


def edited(conflict: Conflict, environ: Mapping[str, str] = os.environ) -> str:
    """The text as the user leaves it in the editor.

    Raises: CommandFailed when there is no editor, or it fails; InvalidInput when nothing was settled.
    """
    command = _editor(environ)
    with tempfile.TemporaryDirectory(prefix="claude-memory-") as folder:  # readable by its owner only
        path = Path(folder) / f"{conflict.id}.md"
        path.write_bytes(with_markers(conflict).encode("utf-8", "surrogateescape"))
        try:
            code = subprocess.run([*command, str(path)], check=False).returncode
        except OSError as error:
            raise CommandFailed("No editor", f"{command[0]} cannot be started: {error.strerror}.", _HINT) from error
        if code:
            raise CommandFailed("Editor failed", f"{command[0]} ended with code {code}; nothing was changed.")
        return without_markers(path.read_bytes().decode("utf-8-sig", "replace").replace("\r\n", "\n"))


_HINT = "Set VISUAL or EDITOR to your editor, for example: export EDITOR=nano"


def _editor(environ: Mapping[str, str]) -> list[str]:
    named = environ.get("VISUAL") or environ.get("EDITOR")
    if named:
        # On Windows backslashes are parts of paths, so quotes are all that is understood there.
        words = shlex.split(named, posix=os.name != "nt")
        return [word.strip('"') for word in words] if os.name == "nt" else words
    return ["notepad"] if os.name == "nt" else ["vi"]
