"""How much text an answer may hold.

Answers are counted in estimated tokens: UTF-8 bytes / 3.5. That is a little more than English prose needs
and about right for code, Cyrillic and CJK, so a budget is rather undershot than passed.
"""

import math

DEFAULT_TOKENS = 2000
"""What an answer holds when the caller names no other budget."""

MAX_TOKENS = 13_000
"""The most that one answer holds: with headings it stays below `HARD_CHARACTERS`."""

ASKED_TOKENS = 25_000
"""The most that a caller can ask for, and what clients refuse above; more than `MAX_TOKENS` gets that much."""

HARD_CHARACTERS = 48_000
"""Above 50,000 characters Claude Code replaces an answer by the name of a file."""

_BYTES_PER_TOKEN = 3.5


def tokens(text: str) -> int:
    """Estimated tokens of `text`."""
    return math.ceil(len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN)


def allowed(asked: int | None, default: int = DEFAULT_TOKENS) -> int:
    """The budget of an answer."""
    return min(asked or default, MAX_TOKENS)


def cut(text: str, budget: int) -> tuple[str, int]:
    """`text` shortened to about `budget` tokens at a line or word end, and how many characters were left out."""
    if tokens(text) <= budget:
        return text, 0
    room = max(int(budget * _BYTES_PER_TOKEN), 1)
    kept = text.encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
    for separator in ("\n", " "):
        position = kept.rfind(separator)
        if position > len(kept) * 0.7:
            kept = kept[:position]
            break
    return kept.rstrip(), len(text) - len(kept.rstrip())


def guard(text: str) -> str:
    """The last line of defence: no answer passes what clients accept, whatever a tool did."""
    if len(text) <= HARD_CHARACTERS and tokens(text) <= MAX_TOKENS + 1000:
        return text
    kept, left_out = cut(text[:HARD_CHARACTERS], MAX_TOKENS)
    left_out += max(len(text) - HARD_CHARACTERS, 0)
    return f"{kept}\n\n[{left_out} characters left out; ask for less, or for one memory by its id]"
