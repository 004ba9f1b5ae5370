"""The word that was meant, where no memory holds any word of a query: a letter too many, missing, wrong or swapped."""

import sqlite3
import string
from collections.abc import Iterator

from memory_cache.search import wordpiece
from memory_cache.search.stemming import stem

_SHORTEST, _LONGEST = 4, 20
_AT_ONCE = 64


def meant(connection: sqlite3.Connection, word: str) -> str | None:
    """The word one slip away that most memories hold; None where there is none, or it is no plain Latin word.

    Args:
        word: folded, not stemmed.
    """
    if not (word.isascii() and word.isalpha() and _SHORTEST <= len(word) <= _LONGEST):
        return None
    by_term: dict[str, str] = {}
    for near in _one_slip_away(word):
        by_term.setdefault(stem(near), near)
    by_term.pop(stem(word), None)
    terms = list(by_term)
    found: list[tuple[int, str]] = []
    for start in range(0, len(terms), _AT_ONCE):
        some = terms[start : start + _AT_ONCE]
        if _documents(connection, some):  # most groups hold nothing, and one look tells
            found.extend((count, by_term[term]) for term in some if (count := _documents(connection, [term])))
    return max(found)[1] if found else None


def _one_slip_away(word: str) -> Iterator[str]:
    """Letters swapped or dropped; put in or replaced only where that gives a common word: all others are too many."""
    halves = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    common = wordpiece.vocabulary()
    for head, tail in halves:
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        if tail:
            yield head + tail[1:]
        for letter in string.ascii_lowercase:
            longer, replaced = head + letter + tail, head + letter + tail[1:]
            if longer in common:
                yield longer
            if replaced in common:
                yield replaced


def _documents(connection: sqlite3.Connection, terms: list[str]) -> int:
    """How many memories hold one of these terms, as far as a hundred."""
    row = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM search_text WHERE search_text MATCH ? LIMIT 100)",
        (" OR ".join(f'"{term}"' for term in terms),),
    ).fetchone()
    return int(row[0])
