"""The analysis of text: identifiers, scripts, accents, stems."""

import json
import sqlite3
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_cache.search.stemming import stem
from memory_cache.search.text import fold, index_text, terms, texts


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("useEffect", "useeffect"),
        ("useEffect", "effect"),
        ("snake_case_name", "snakeCaseName"),
        ("snake_case_name", "snake-case-name"),
        ("next.js", "nextjs"),
        ("Node.js", "node.js"),
        ("C#", "c#"),
        ("C++", "c++"),
        ("E1234", "1234"),
        ("src/app/main.py", "main.py"),
        ("C:\\Users\\me\\notes.txt", "notes.txt"),
        ("v1.2.3", "1.2.3"),
        ("XMLHttpRequest", "http"),
        ("@types/node", "types/node"),
        ("Café", "cafe"),
        ("naïve", "naive"),
        ("Straße", "strasse"),
        ("ёлка", "елка"),
        ("don’t", "don't"),
        ("Caroline's", "caroline"),
        ("deployments", "deployed"),
        ("deploy", "deployment"),
        ("retry", "retries"),
        ("ＦＵＬＬ", "full"),
    ],
)
def test_written_forms_of_one_thing_share_a_term(written: str, asked: str) -> None:
    written_terms = set(index_text(written).split())
    assert written_terms & set(index_text(asked).split())


def test_an_identifier_keeps_its_whole() -> None:
    assert "useeffect" in index_text("the useEffect hook").split()
    assert not set(index_text("1.23").split()) >= {"12_3"}
    assert set(index_text("1.2.3").split()) & {"1_2_3"}
    assert index_text("C#") != index_text("C")


@pytest.mark.parametrize("word", ["東", "東京", "京都", "会議"])
def test_chinese_and_japanese_words_are_terms(word: str) -> None:
    assert word in index_text("明日の東京都と京都の会議").split()


@given(st.text(max_size=200))
def test_terms_are_safe_to_quote_and_short(text: str) -> None:
    for term in terms(text):
        assert 0 < len(term.text) <= 130
        assert all(c == "_" or unicodedata.category(c)[0] in "LNMC" for c in term.text), term
        assert not any(c in '"*^:(){}\x00 ' for c in term.text)


@given(st.text(max_size=100))
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


_WORDS = """relational conditional rational valenci digitizer conformabli radically differently vileli analogousli
vietnamization predication operator feudalism decisiveness hopefulness callousness formaliti sensitiviti
triplicate formative formalize electriciti electrical hopeful goodness revival allowance inference airliner
gyroscopic adjustable defensible irritant replacement adjustment dependent adoption homologou communism
activate angulariti homologous effective bowdlerize probate rate cease controll roll caresses ponies ties
caress cats feed agreed plastered bled motoring sing conflated troubled sized hopping tanned falling hissing
fizzed failing filing happy sky configuration databases caching retries memories merging synced"""


def test_stems_are_those_of_sqlite_but_for_y_after_a_vowel() -> None:
    words = _WORDS.split()
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE f USING fts5(a, tokenize='porter ascii')")
    connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab(f, 'instance')")
    connection.executemany("INSERT INTO f (rowid, a) VALUES (?, ?)", enumerate(words))
    theirs = {words[row]: term for term, row in connection.execute("SELECT term, doc FROM v")}
    connection.close()
    assert {word: stem(word) for word in words} == theirs, json.dumps(theirs)


@pytest.mark.parametrize(
    "text", ["useEffect in next.js, C# or c++", "数据库连接池 and ไทย", "don’t  stop", "", "Привет мир"]
)
def test_the_fast_way_gives_the_same_terms(text: str) -> None:
    found = list(terms(text))
    expected = [term.text for term in found], sum(term.kind in ("pair", "character") for term in found)
    assert texts(text) == expected
