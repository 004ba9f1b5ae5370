"""Names from outside: nothing leaves the root, and what is accepted can be held everywhere."""

import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage_backends.errors import InvalidName
from storage_backends.folder_temporary import Leftover, Stage, parse, temporary_name
from storage_backends.names import (
    MAX_NAME_BYTES,
    MAX_PATH_CHARACTERS,
    is_temporary,
    same_name_key,
    validate_path,
    validate_safe_path,
)

from .contract import NOT_PORTABLE_NAMES, ODD_NAMES, REFUSED_NAMES

hostile = st.text(st.sampled_from("ab./\\:~ \0CON*?é\u0301\ud800|-_\n"), max_size=12)


@pytest.mark.parametrize("path", ODD_NAMES)
def test_odd_but_legal_paths_are_accepted(path: str) -> None:
    validate_path(path)


@pytest.mark.parametrize("path", [*REFUSED_NAMES, *NOT_PORTABLE_NAMES])
def test_a_refusal_says_why_in_one_printable_sentence(path: str) -> None:
    with pytest.raises(InvalidName) as caught:
        validate_path(path)
    message = caught.value.message
    assert message.isprintable()
    assert message.endswith(".")
    assert len(message) < 200


@given(hostile)
def test_no_accepted_path_leaves_the_root_on_any_system(path: str) -> None:
    try:
        validate_safe_path(path)
    except InvalidName:
        return
    for separators in ("/", "/\\"):
        parts = [path]
        for separator in separators:
            parts = [piece for part in parts for piece in part.split(separator)]
        assert not {"", ".", ".."} & set(parts)
    assert not Path(path).is_absolute()
    assert not any(part[:1].isalpha() and part[1:2] == ":" for part in path.split("/"))
    assert os.path.normpath(path) == path
    path.encode()


@given(hostile)
def test_what_may_be_created_may_be_read_and_is_never_overlooked(path: str) -> None:
    try:
        validate_path(path)
    except InvalidName:
        return
    validate_safe_path(path)
    for name in path.split("/"):
        assert not is_temporary(name)
        assert len(name.encode()) <= MAX_NAME_BYTES
    assert len(path) <= MAX_PATH_CHARACTERS


@given(st.text(max_size=20))
def test_one_key_for_all_spellings_of_one_name(text: str) -> None:
    for form in ("NFC", "NFD"):
        assert same_name_key(unicodedata.normalize(form, text)) == same_name_key(text)


@given(
    st.sampled_from(Stage), st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=300)
)
def test_our_temporary_names_fit_everywhere_and_tell_their_story(stage: Stage, original: str) -> None:
    name = temporary_name(stage, original, seen="0" * 20, ours="f" * 20)
    assert len(name.encode()) <= MAX_NAME_BYTES
    assert is_temporary(name)
    found = parse(name)
    assert isinstance(found, Leftover)
    assert (found.stage, found.seen, found.ours) == (stage, "0" * 20, "f" * 20)
    assert original.startswith(found.original)
    assert found.original == original or len(name.encode()) > MAX_NAME_BYTES - 4
