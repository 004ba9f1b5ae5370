"""Edits of `config.toml` that leave every other line, comments included, as it is."""

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memory_cache.errors import SettingsError


def edited(text: str, section: str, key: str, value: Any) -> str:
    """The TOML text with `section.key` set to `value` (a string, number, boolean or list of strings).

    Raises: SettingsError when the file is written in a way that cannot be edited safely.
    """
    before = tomllib.loads(text.replace("\r\n", "\n"))
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.replace("\r\n", "\n").split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    _set(lines, section, key, f"{key} = {_spelled(value)}")
    result = "\n".join(lines) + "\n"
    before.setdefault(section, {})[key] = list(value) if isinstance(value, (list, tuple)) else value
    try:
        unchanged = tomllib.loads(result) == before
    except (tomllib.TOMLDecodeError, RecursionError):
        unchanged = False
    if not unchanged:
        raise SettingsError(f"config.toml cannot be edited automatically to set {section}.{key}.", "Edit it by hand.")
    return result.replace("\n", newline)


def _set(lines: list[str], section: str, key: str, entry: str) -> None:
    header = next((n for n, line in enumerate(lines) if re.match(rf"\s*\[\s*{section}\s*\]", line)), None)
    if header is None:
        lines += ([""] if lines else []) + [f"[{section}]", entry]
        return
    end = next((n for n in range(header + 1, len(lines)) if re.match(r"\s*\[[^\]]*\]\s*(#.*)?$", lines[n])), len(lines))
    for number in range(header + 1, end):
        if re.match(rf"\s*{key}\s*=", lines[number]):
            last = _last_line(lines, number, end)
            lines[number : last + 1] = [entry + _comment(lines[last])]
            return
    while end > header + 1 and not lines[end - 1].strip():
        end -= 1
    lines.insert(end, entry)


def _last_line(lines: Sequence[str], first: int, end: int) -> int:
    """The last line of a value that may span several."""
    for last in range(first, end):
        try:
            tomllib.loads("\n".join(lines[first : last + 1]))
        except tomllib.TOMLDecodeError:
            continue
        return last
    return first


def _comment(line: str) -> str:
    match = re.fullmatch(r"""(?:[^"'#]|"(?:[^"\\]|\\.)*"|'[^']*')*?(\s*#.*)""", line)
    return match[1] if match else ""


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_spelled, value))}]"
    if isinstance(value, str):
        # JSON strings are TOML basic strings, but for DEL.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def write_private(path: Path, text: str) -> None:
    """Replace a file at once, readable by its owner only."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
