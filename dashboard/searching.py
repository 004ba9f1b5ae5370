"""Searching while somebody types: what recall finds, and what literally holds the beginnings typed so far."""

import sqlite3

from memory_cache import memories
from memory_cache.cache import MemoryCache
from memory_cache.models import Filter, Hit, Memory
from memory_cache.search.filters import conditions
from memory_cache.search.stopwords import STOP_WORDS

_MOST_WORDS = 8


async def search(cache: MemoryCache, query: str, chosen: Filter, limit: int) -> tuple[list[Hit], int]:
    """The memories that fit best, and about how many more there are.

    Recall knows whole words only. A word that is still being typed is found as it stands in titles, texts and tags;
    memories that hold all words so come first, in recall's order where it knows them.
    """
    hits, more = await cache.recall(query, filter=chosen, limit=limit)
    # SQLite's patterns end at a NUL.
    words = _meaningful(query.replace("\0", " ").casefold().split())[:_MOST_WORDS]
    literal = [hit for hit in hits if _holds(hit.memory, words)]
    found: list[Memory] = []
    if words and len(literal) < limit:
        found = await cache.database.read(lambda c: _holding(c, words, chosen, cache, limit))
    known = {hit.memory.id for hit in hits}
    added = [
        Hit(memory=memory, score=0.0, passage=_around(memory, words)) for memory in found if memory.id not in known
    ]
    ordered = [*literal, *added, *(hit for hit in hits if hit not in literal)]
    return ordered[:limit], max(more, len(ordered) - limit, 0)


def _meaningful(words: list[str]) -> list[str]:
    # The last word is not known yet: "the" may become "theme".
    return [word for word in words[:-1] if word not in STOP_WORDS] + words[-1:]


def _holding(
    connection: sqlite3.Connection, words: list[str], chosen: Filter, cache: MemoryCache, limit: int
) -> list[Memory]:
    condition, values = conditions(chosen, cache.now())
    for word in words:
        condition += " AND (m.title LIKE ? ESCAPE '\\' OR m.body LIKE ? ESCAPE '\\' OR m.tags LIKE ? ESCAPE '\\')"
        values += [_anywhere(word)] * 3
    rows = connection.execute(
        f"SELECT m.file_id FROM memories m WHERE {condition} ORDER BY m.updated DESC, m.id DESC LIMIT ?",
        (*values, limit),
    ).fetchall()
    known = memories.by_files(connection, [row[0] for row in rows])
    return [known[row[0]] for row in rows]


def _anywhere(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def _holds(memory: Memory, words: list[str]) -> bool:
    text = f"{memory.title}\n{memory.content}\n{' '.join(memory.tags)}".casefold()
    return all(word in text for word in words)


def _around(memory: Memory, words: list[str]) -> str:
    """The text from shortly before the first place where one of the words stands."""
    folded = memory.content.casefold()
    places = [place for word in words if (place := folded.find(word)) > 80]
    if not places or any(word in folded[:200] for word in words):
        return memory.content
    start = memory.content.rfind(" ", 0, min(places) - 40) + 1
    return f"… {memory.content[start:]}"
