"""Words into the pieces of BERT's uncased vocabulary: greedy, longest first. Plain Python, no model needed."""

import re
import unicodedata
from functools import cache, lru_cache
from importlib import resources

UNKNOWN, CLASSIFY, SEPARATE = 100, 101, 102
_LONGEST_WORD = 100
_CJK = re.compile("([\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])")
_WORD = re.compile(r"[^\W_]+|_|[^\w\s]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@cache
def vocabulary() -> dict[str, int]:
    """Piece to number; pieces that continue a word begin with `##`."""
    text = (resources.files("memory_cache.search") / "data" / "wordpieces.txt").read_text("utf-8")
    return {piece: number for number, piece in enumerate(text.split("\n")) if piece}


def words(text: str, *, split_identifiers: bool) -> list[str]:
    """Lower-case words without accents, and punctuation marks one by one, as BERT's uncased models are fed.

    Args:
        split_identifiers: `useEffect` becomes two words first. The static table is fed so, transformers are not.
    """
    if split_identifiers:
        text = _CAMEL.sub(" ", text)
    text = text.lower()
    if not text.isascii():
        decomposed = unicodedata.normalize("NFD", text)
        text = "".join(c for c in decomposed if unicodedata.category(c) not in ("Mn", "Cf"))
        text = _CJK.sub(r" \1 ", text)
    return _WORD.findall(text)


@lru_cache(maxsize=32768)
def pieces(word: str) -> tuple[int, ...]:
    """The pieces of one word; (UNKNOWN,) when the vocabulary cannot spell it."""
    if len(word) > _LONGEST_WORD:
        return (UNKNOWN,)
    known = vocabulary()
    found: list[int] = []
    start = 0
    while start < len(word):
        for end in range(len(word), start, -1):
            number = known.get(("##" if start else "") + word[start:end])
            if number is not None:
                found.append(number)
                start = end
                break
        else:
            return (UNKNOWN,)
    return tuple(found)
