"""Porter's stemmer for words of the Latin script (M. F. Porter, 1980), the rules that SQLite's `porter` applies.

One rule is that of his later stemmer: `y` becomes `i` only after a consonant, so that `deploy`, `deployed` and
`deployment` meet.
It runs here and not inside SQLite so that the index and the query share one analysis on every SQLite version.
"""

from functools import lru_cache

_VOWELS = frozenset("aeiou")

_STEP2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("logi", "log"),
    ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"),
    ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"),
    ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
)  # fmt: skip
_STEP3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ou", "ism", "ate", "iti",
    "ous", "ive", "ize",
)  # fmt: skip


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem of a lower-case ASCII word; words shorter than three letters stay."""
    if len(word) < 3:
        return word
    word = _plurals(word)
    word = _past_and_gerund(word)
    if word.endswith("y") and _has_vowel(word[:-1]) and _consonant(word, len(word) - 2):
        word = word[:-1] + "i"
    word = _replace(word, _STEP2)
    word = _replace(word, _STEP3)
    word = _drop_suffix(word)
    return _final_e_and_l(word)


def _consonant(word: str, index: int) -> bool:
    letter = word[index]
    if letter in _VOWELS:
        return False
    return letter != "y" or index == 0 or not _consonant(word, index - 1)


def _measure(stem_: str) -> int:
    """How many vowel-consonant sequences the stem has."""
    count = 0
    previous_vowel = False
    for index in range(len(stem_)):
        vowel = not _consonant(stem_, index)
        if previous_vowel and not vowel:
            count += 1
        previous_vowel = vowel
    return count


def _has_vowel(stem_: str) -> bool:
    return any(not _consonant(stem_, index) for index in range(len(stem_)))


def _double_consonant(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _consonant(word, len(word) - 1)


def _short_ending(word: str) -> bool:
    """Consonant, vowel, consonant at the end, the last not w, x or y: `hop`, not `snow`."""
    return (
        len(word) > 2
        and _consonant(word, len(word) - 1)
        and not _consonant(word, len(word) - 2)
        and _consonant(word, len(word) - 3)
        and word[-1] not in "wxy"
    )


def _plurals(word: str) -> str:
    if word.endswith("sses") or word.endswith("ies"):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _past_and_gerund(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix):
            stem_ = word[: -len(suffix)]
            if not _has_vowel(stem_):
                return word
            return _restore_e(stem_)
    return word


def _restore_e(word: str) -> str:
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _double_consonant(word) and word[-1] not in "lsz":
        return word[:-1]
    if _measure(word) == 1 and _short_ending(word):
        return word + "e"
    return word


def _replace(word: str, rules: tuple[tuple[str, str], ...]) -> str:
    for suffix, replacement in rules:
        if word.endswith(suffix):
            stem_ = word[: -len(suffix)]
            return stem_ + replacement if _measure(stem_) > 0 else word
    return word


def _drop_suffix(word: str) -> str:
    if word.endswith("ion"):
        stem_ = word[:-3]
        return stem_ if stem_.endswith(("s", "t")) and _measure(stem_) > 1 else word
    for suffix in sorted(_STEP4, key=len, reverse=True):
        if word.endswith(suffix):
            stem_ = word[: -len(suffix)]
            return stem_ if _measure(stem_) > 1 else word
    return word


def _final_e_and_l(word: str) -> str:
    if word.endswith("e"):
        stem_ = word[:-1]
        measure = _measure(stem_)
        if measure > 1 or (measure == 1 and not _short_ending(stem_)):
            word = stem_
    if word.endswith("ll") and _measure(word[:-1]) > 1:
        word = word[:-1]
    return word
