"""A draft SKILL.md for a pattern. It is written into the home of this device, never into the user's repository."""

import os
from pathlib import Path

import anyio

from memory_cache.home import Home
from memory_cache.paths import slug
from memory_cache.patterns import Pattern
from memory_cache.text_format import title_of

_EXAMPLES = 5


def name_of(pattern: Pattern) -> str:
    """The skill's name: lower case letters, digits and hyphens of any script, unlike that of any other pattern."""
    return f"{slug(title_of(pattern.description))[:40].strip('-')}-{pattern.id[:6]}"


def draft(pattern: Pattern) -> str:
    """The text of the draft."""
    description = " ".join(pattern.description.split())
    quoted = description.replace("\\", "\\\\").replace('"', '\\"')
    examples = [f"### Example {number}\n\n{text}" for number, text in enumerate(pattern.examples[:_EXAMPLES], 1)]
    parts = [
        f'---\nname: {name_of(pattern)}\ndescription: "{quoted}"\n---',
        f"# {title_of(pattern.description)}",
        pattern.description.strip(),
        f"Seen {pattern.count} times in the category {pattern.category}; last on {pattern.last_seen:%Y-%m-%d}.",
        "## When to use it\n\n(Name the situations that call for it.)",
        "## Steps\n\n(Write the steps, from the examples below.)",
    ]
    return "\n\n".join([*parts, *(["## Examples", *examples] if examples else [])]) + "\n"


async def write_draft(home: Home, pattern: Pattern) -> Path:
    """Write the draft, unless a file is there already: someone may have worked on it. Returns its path."""
    path = home.root / "skills" / name_of(pattern) / "SKILL.md"
    await anyio.to_thread.run_sync(_write_new, path, draft(pattern))
    return path


def _write_new(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
