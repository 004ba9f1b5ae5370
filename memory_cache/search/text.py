"""Text into search terms: one analysis for what is indexed and for what is asked.

A term holds letters, digits, marks and `_` only, so that it can stand in an FTS5 query between quotes.

- Accents are folded, case is dropped, Latin words are stemmed.
- Scripts that write without spaces (Chinese, Japanese, Thai …) and Hangul give single characters and pairs.
- What developers type stays one term beside its parts: `useEffect`, `snake_case`, `next.js`, `C#`, `src/app.py`.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Literal

from memory_cache.search.stemming import stem

LONGEST_TERM = 64
_LONGEST_TEXT = 400_000  # characters; what comes after is not indexed

# Scripts without spaces between words, and Hangul, whose particles are glued to the word.
_UNSPACED = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3131-\u318e\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003134f"
)
_MARKS = "\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0981-\u0dff"
_WORD = rf"(?:[^\W{_UNSPACED}]|[{_MARKS}])"
_SEGMENT = re.compile(r"[/\\:@&]+")
_PART = re.compile(r"[.\-_+#’']+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LETTERS_DIGITS = re.compile(r"(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
_DROPPED_MARKS = re.compile("[\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670]")
_SPECIAL_NAMES = {"c#": "csharp", "f#": "fsharp", "c++": "cpp", "c/c++": "cpp"}
_VERSION_OF_A_NAME = re.compile(r"([cC]\+\+|[cCfF]#)\d[\w.]*")  # `C++17`
_APOSTROPHES = ("'", "’")

Kind = Literal["word", "part", "compound", "pair", "character"]


@dataclass(frozen=True, slots=True)
class Term:
    """One search term.

    Attributes:
        text: as it stands in the index.
        kind: `compound`: an identifier as a whole; `part`: a piece of one; `pair` and `character`: unspaced scripts.
        plain: folded but not stemmed; what stop words are compared with.
    """

    text: str
    kind: Kind
    plain: str


def fold(text: str) -> str:
    """Lower case, compatible forms united, accents dropped: `Café` and `cafe` are one."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", _DROPPED_MARKS.sub("", decomposed))


@cache
def _runs() -> re.Pattern[str]:
    # Compiled at first use: milliseconds that no start has to wait for.
    return re.compile(
        rf"(?P<unspaced>[{_UNSPACED}]+)"
        rf"|(?P<word>{_WORD}+(?:[.\-/:@+#&’'\\]+{_WORD}+)*(?:\+\+|\#)?)"
    )


def terms(text: str) -> Iterator[Term]:
    """The search terms of a text in the order of the text."""
    text = text[:_LONGEST_TEXT]
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    for unspaced, word in _runs().findall(text):
        if word:
            yield from _word_terms(word)
        else:
            yield from _unspaced(fold(unspaced))


def texts(text: str) -> tuple[list[str], int]:
    """The terms of a text without what is told of each, and how many of them come from unspaced scripts; the fast way
    for whole texts."""
    text = text[:_LONGEST_TEXT]
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    found: list[str] = []
    unspaced_terms = 0
    for unspaced, word in _runs().findall(text):
        if word:
            found += _word_texts(word)
        else:
            run = fold(unspaced)
            for first, second in pairwise(run):
                found += (first, first + second)
            found += run[-1:]
            unspaced_terms += max(2 * len(run) - 1, 0)
    return found, unspaced_terms


@lru_cache(maxsize=32768)
def _word_texts(word: str) -> tuple[str, ...]:
    return tuple(term.text for term in _word_terms(word))


def index_text(text: str) -> str:
    """The terms of a text as one string for the index."""
    return " ".join(texts(text)[0])


@lru_cache(maxsize=32768)
def _word_terms(word: str) -> tuple[Term, ...]:
    found: tuple[Term, ...]
    if word.isalpha() and (word.islower() or word.istitle() or word.isupper()):
        found = (_plain_word(fold(word), "word"),)
    else:
        found = tuple(_compound_terms(word))
    return tuple(term for term in found if term.text)


def _plain_word(plain: str, kind: Kind) -> Term:
    plain = plain[:LONGEST_TERM]
    return Term(stem(plain) if plain.isascii() and plain.isalpha() else plain, kind, plain)


def _compound_terms(word: str) -> Iterator[Term]:
    special = _SPECIAL_NAMES.get(word.lower())
    if special:
        yield Term(special, "compound", special)
        return
    with_version = _VERSION_OF_A_NAME.fullmatch(word)
    if with_version:
        yield from _word_terms(with_version[1])
    seen: set[str] = set()
    segments = [segment for segment in _SEGMENT.split(word) if segment]
    if len(segments) > 1:
        yield from _whole(word, seen)
    for segment in segments:
        plain = segment.isalpha() and segment.islower()
        yield from _word_terms(segment) if plain else _segment_terms(segment, seen)


def _segment_terms(segment: str, seen: set[str]) -> Iterator[Term]:
    pieces = [piece for piece in _PART.split(segment) if piece]
    names = [name for piece in pieces for name in _CAMEL.split(piece)]
    possessive = len(pieces) > 1 and any(mark in segment for mark in _APOSTROPHES)
    if len(names) == 1:
        plain = fold(names[0])
        yield _plain_word(plain, "word")
        if not plain.isalpha():
            yield from _letters_and_digits(plain)
        return
    if not possessive:
        yield from _whole(segment, seen)
    for name in names:
        if possessive and len(fold(name)) == 1:
            continue
        yield from _name_terms(name, "word" if possessive else "part")


@lru_cache(maxsize=32768)
def _name_terms(name: str, kind: Kind) -> tuple[Term, ...]:
    plain = fold(name)
    pieces = () if plain.isalpha() else tuple(_letters_and_digits(plain))
    return (_plain_word(plain, kind), *pieces)


def _letters_and_digits(plain: str) -> Iterator[Term]:
    """`e1234` is also found by `1234`, `utf8` by `utf`."""
    pieces = _LETTERS_DIGITS.split(plain)
    if len(pieces) > 1:
        yield from (_plain_word(piece, "part") for piece in pieces if len(piece) > 1)


def _whole(text: str, seen: set[str]) -> Iterator[Term]:
    """The identifier as one term: separators dropped, so that `next.js` is `nextjs` and `snake_case` is `snakeCase`.

    Digits keep theirs: 1.23 is not 12.3.
    """
    plain = fold(text)
    parts = [part for part in re.split(r"\W+|_", plain) if part]
    whole = ""
    for part in parts:
        whole += ("_" if whole and whole[-1].isdigit() and part[0].isdigit() else "") + part
        if len(whole) >= LONGEST_TERM:
            break
    whole = whole[:LONGEST_TERM]
    if whole and whole not in seen and len(parts) + len(_CAMEL.split(text)) > 2:
        seen.add(whole)
        yield _plain_word(whole, "compound")


def _unspaced(run: str) -> Iterator[Term]:
    # A character beyond the first of a pair of letters and marks is kept: Thai vowels matter.
    for index, character in enumerate(run):
        yield Term(character, "character", character)
        if index + 1 < len(run):
            pair = run[index : index + 2]
            yield Term(pair, "pair", pair)
