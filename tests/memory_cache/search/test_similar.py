"""Near-duplicates are pointed out with what differs."""

from datetime import timedelta

import pytest

from memory_cache.models import Filter, Scope
from memory_cache.search.similar import difference, near_duplicates
from tests.memory_cache.search.store import NOW, Store


def near(store: Store, text: str, **options: object) -> list[tuple[int, str]]:
    options.setdefault("filter_", Filter())
    found = near_duplicates(store.connection, text, now=NOW, **options)  # type: ignore[arg-type]
    return [(hit.file_id, hit.difference) for hit in found]


@pytest.mark.parametrize(
    ("stored", "new", "difference"),
    [
        (
            "The billing service listens on port 3001 in staging",
            "The billing service listens on port 3002 in staging",
            "3001 → 3002",
        ),
        ("On call this quarter: Alice on Monday", "On call this quarter: Alice on Tuesday", "Monday → Tuesday"),
        ("Always run ruff before you commit", "Never run ruff before you commit", "Always → Never"),
        ("数据库连接池的大小是二十", "数据库连接池的大小是三十", "数据库连接池的大小是二十 → 数据库连接池的大小是三十"),
        ("Use Postgres 15 for the shop database", "Use Postgres 15 for the shop database", ""),
    ],
)
def test_two_facts_that_differ_in_a_word_are_shown_with_it(
    store: Store, stored: str, new: str, difference: str
) -> None:
    memory = store.add(stored)
    for filler in ("lunch is at noon", "the wiki moved to a new host", "tabs, not spaces"):
        store.add(filler)
    assert near(store, new) == [(memory, difference)]


def test_a_memory_on_the_same_subject_is_no_duplicate(store: Store) -> None:
    store.add("The billing service is written in Go and owned by the payments team")
    assert near(store, "The billing service listens on port 3002 in staging") == []


def test_the_nearest_come_first_and_are_few(store: Store) -> None:
    rows = [store.add(f"Deploy the shop with make deploy on host number {n} at night") for n in range(10)]
    found = near(store, "Deploy the shop with make deploy on host number 7 at night")
    assert len(found) == 3
    assert found[0] == (rows[7], "")


def test_scope_expiry_and_the_memory_itself_are_left_out(store: Store) -> None:
    text = "Release train leaves every second Thursday"
    store.add(text, project="other")
    store.add(text, expires=NOW - timedelta(days=1))
    itself = store.add(text)
    assert near(store, text, filter_=Filter(scope=Scope()), exclude=itself) == []


@pytest.mark.parametrize("text", ["", "  ", "?!", "🚀", "\x00"])
def test_texts_without_words_have_none(store: Store, text: str) -> None:
    store.add("anything")
    assert near(store, text) == []


def test_a_long_difference_is_cut() -> None:
    shown = difference("same " + "old " * 100, "same " + "new words " * 100)
    assert len(shown) < 200


def test_a_twin_is_found_among_many_that_share_nearly_every_word(store: Store) -> None:
    for number in range(450):
        store.add(f"Deploy the shop with make deploy at night, ticket {number}")
    twin = store.add("Deploy the shop with make deploy at night, ticket pumpernickel")
    for number in range(450, 500):
        store.add(f"Deploy the shop with make deploy at night, ticket {number}")
    assert near(store, "Deploy the shop with make deploy at night, ticket pumpernickel")[0] == (twin, "")
