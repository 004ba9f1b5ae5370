"""Near-duplicates of a text: pointed out when something is remembered, never refused and never united."""

import json
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher

from memory_cache.models import Filter
from memory_cache.search import candidates, query, text

LEAST_SCORE = 0.5
_RAREST_TERMS = 12
_LOOKED_AT = 40
_READ = 6000  # characters that are compared
_DIFFERENCES, _DIFFERENCE_LENGTH = 5, 60
_WORD = re.compile(r"[\w’'+#.\-/:@]*\w[#+]*|[^\s\w]")


@dataclass(frozen=True, slots=True)
class Similar:
    """A memory that says nearly the same. `difference` shows the words that differ: theirs → ours."""

    file_id: int
    score: float
    difference: str = ""


def near_duplicates(
    connection: sqlite3.Connection,
    text_: str,
    filter_: Filter,
    *,
    now: datetime,
    limit: int = 3,
    exclude: int | None = None,
) -> list[Similar]:
    """Memories whose text is nearly `text_`, most similar first; the score is the share of words in common.

    Args:
        exclude: the `file_id` of the memory that the text belongs to, if it is stored already.
    """
    # A long text is compared by its beginning: where that is the same, the rest is worth a look as well.
    ours = _terms(text_)
    if not ours:
        return []
    rarest = _rarest(connection, text_)
    if not rarest.expression:
        return []
    conditions = candidates.Conditions.of(filter_, now)
    near = [
        file_id for file_id in candidates.by_words(connection, rarest, conditions, _LOOKED_AT) if file_id != exclude
    ]
    scored = sorted(((_likeness(ours, _terms(body)), file_id, body) for file_id, body in _bodies(connection, near)),
                    key=lambda found: (-found[0], found[1]))  # fmt: skip
    return [
        Similar(file_id, round(score, 3), difference(body, text_))
        for score, file_id, body in scored[:limit]
        if score >= LEAST_SCORE
    ]


def _rarest(connection: sqlite3.Connection, text_: str) -> query.AskedQuery:
    """The text as a query of its rarest terms: what nearly all of them share is nearly the same."""
    return query.analyse(connection, text_[:_READ], rarest=_RAREST_TERMS)


def _bodies(connection: sqlite3.Connection, file_ids: list[int]) -> Iterator[tuple[int, str]]:
    cursor = connection.execute(
        "SELECT file_id, body FROM memories WHERE file_id IN (SELECT value FROM json_each(?))",
        (json.dumps(file_ids),),
    )
    yield from ((row[0], row[1]) for row in cursor)


def _terms(text_: str) -> frozenset[str]:
    return frozenset(text.texts(text_[:_READ])[0])


def _likeness(ours: frozenset[str], theirs: frozenset[str]) -> float:
    """Jaccard; a text of two words is like another one only when both are the same."""
    union = len(ours | theirs)
    common = len(ours & theirs)
    return common / union if union > 3 or common == union else 0.0


def difference(theirs: str, ours: str) -> str:
    """The words that differ, as `3001 → 3002`; `+` what only the new text has, `-` what it lacks. Empty: none."""
    before, after = _WORD.findall(theirs[:_READ]), _WORD.findall(ours[:_READ])
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    found: list[str] = []
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind == "equal":
            continue
        gone, new = _shown(before[a:b]), _shown(after[c:d])
        found.append(f"{gone} → {new}" if gone and new else (f"+ {new}" if new else f"- {gone}"))
    more = len(found) - _DIFFERENCES
    return ", ".join(found[:_DIFFERENCES]) + (f", {more} more" if more > 0 else "")


def _shown(words: list[str]) -> str:
    joined = " ".join(words)
    return joined if len(joined) <= _DIFFERENCE_LENGTH else joined[: _DIFFERENCE_LENGTH - 1] + "…"
