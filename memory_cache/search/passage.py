"""The passage of a memory that fits a query best: the whole text when it is short, else a window of sentences."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from memory_cache.search.query import AskedTerm

LONGEST = 480  # characters, about 120 tokens
_READ = 40_000  # characters of a memory that are looked at
_MOST_PLACES = 50  # of one term
_BOUNDARY = re.compile(r"[.!?]\s|[。！？\n]")
_ELLIPSIS = "…"


def best(body: str, terms: Sequence[AskedTerm]) -> str:
    """At most about `LONGEST` characters of `body`, cut at sentences where possible; `…` marks what was left out."""
    body = body.strip()
    if len(body) <= LONGEST:
        return body
    start = _window(_places(body[:_READ], terms))
    if start > 0:
        start = _sentence_start(body, start)
    end = min(start + LONGEST, len(body))
    passage = body[start:end].strip()
    # A heading says what the passage is about.
    heading = body.partition("\n")[0].strip()[:100] if body.startswith("#") and start > 0 else ""
    front = f"{heading}\n{_ELLIPSIS} " if heading else (f"{_ELLIPSIS} " if start > 0 else "")
    return front + passage + (f" {_ELLIPSIS}" if end < len(body) else "")


def _places(body: str, terms: Sequence[AskedTerm]) -> list[tuple[int, int, float]]:
    """(position, number of the term, its IDF) of the query's terms, by the beginnings of words."""
    plain = body.lower() if body.isascii() else "".join(map(_bare, body))
    found: list[tuple[int, int, float]] = []
    for number, term in enumerate(terms):
        beginning = term.text[: max(3, len(term.text) - 1)]
        within = not term.text.isascii()  # an ASCII term stands at the beginning of a word
        count, place = 0, plain.find(beginning)
        while place >= 0 and count < _MOST_PLACES:
            if within or not place or not (plain[place - 1].isalnum() or plain[place - 1] == "_"):
                found.append((place, number, term.idf))
                count += 1
            place = plain.find(beginning, place + 1)
    return sorted(found)


@lru_cache(maxsize=4096)
def _bare(character: str) -> str:
    """One character for one: lower case, no accent."""
    return unicodedata.normalize("NFD", character.lower())[:1] or character


def _window(places: list[tuple[int, int, float]]) -> int:
    """Where the window begins that holds the most different terms, weighed by IDF; the first of equals."""
    best_score, best_start = 0.0, 0
    for first, (start, _, _) in enumerate(places):
        held: dict[int, float] = {}
        for position, number, idf in places[first:]:
            if position - start > LONGEST - 80:
                break
            held[number] = idf
        score = sum(held.values())
        if score > best_score * 1.001:
            best_score, best_start = score, start
    return best_start


def _sentence_start(body: str, position: int) -> int:
    """The beginning of the sentence around a position, when it is near; else a few words before it."""
    near = max(0, position - 120)
    ends = [match.end() for match in _BOUNDARY.finditer(body, near, position)]
    if near == 0:
        return ends[-1] if ends and position > 80 else 0
    if ends:
        return ends[-1]
    space = body.find(" ", max(0, position - 40), position)
    return space + 1 if space >= 0 else position
