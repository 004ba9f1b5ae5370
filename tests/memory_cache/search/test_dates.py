"""Dates in a query."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_cache.search import dates
from memory_cache.search.dates import NamedDate
from tests.memory_cache.search.store import NOW, Store


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "start", "end"),
    [  # now is Monday, 30 November 2026
        ("what did I do today", "2026-11-30", "2026-12-01"),
        ("Yesterday's decision", "2026-11-29", "2026-11-30"),
        ("deploys last week", "2026-11-23", "2026-11-30"),
        ("deploys this week", "2026-11-30", "2026-12-01"),
        ("Entscheidung letzte Woche", "2026-11-23", "2026-11-30"),
        ("上周的决定", "2026-11-23", "2026-11-30"),
        ("решение на прошлой неделе", "2026-11-23", "2026-11-30"),
        ("last month", "2026-10-01", "2026-11-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("in the last 3 days", "2026-11-27", "2026-12-01"),
        ("since Thursday", "2026-11-26", "2026-12-01"),
        ("last friday", "2026-11-27", "2026-11-28"),
        ("two weeks ago", "2026-11-13", "2026-11-20"),
    ],
)
def test_spans(query: str, start: str, end: str) -> None:
    span = dates.span(query, NOW)
    assert span is not None
    assert (span.start, span.end) == (day(start), day(end))


@pytest.mark.parametrize("query", ["the weekly report", "daylight", "what to do next", "lastweek", "2 days of holiday"])
def test_other_words_are_no_spans(query: str) -> None:
    assert dates.span(query, NOW) is None


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("what did we decide in March?", [NamedDate(None, 3, None)]),
        ("in March 2025", [NamedDate(2025, 3, None)]),
        ("on 21 January, 2022", [NamedDate(2022, 1, 21)]),
        ("January 21st", [NamedDate(None, 1, 21)]),
        ("on May 5", [NamedDate(None, 5, 5)]),
        ("im Dezember", [NamedDate(None, 12, None)]),
        ("в марте", [NamedDate(None, 3, None)]),
        ("2025-02-14", [NamedDate(2025, 2, 14)]),
        ("in 2024", [NamedDate(2024, None, None)]),
        ("this may fail", []),
        ("march forward", []),
        ("port 2024", []),
        ("31 February", [NamedDate(None, 2, None)]),
    ],
)
def test_named_dates(query: str, named: list[NamedDate]) -> None:
    assert dates.named(query) == named


@given(st.text(max_size=60))
def test_any_query_is_read(query: str) -> None:
    dates.named(query)
    dates.span(query, NOW)


def test_a_span_filters(store: Store) -> None:
    store.add("decided to deploy with helm", created=NOW - timedelta(days=40))
    recent = store.add("decided to deploy with kustomize", created=NOW - timedelta(days=5))
    assert store.find("what did we decide on deploy last week") == [recent]


def test_an_old_memory_that_was_changed_in_the_span_is_in_it(store: Store) -> None:
    changed = store.add("deploy with helm", created=NOW - timedelta(days=40), updated=NOW - timedelta(days=4, hours=3))
    store.add("deploy with make", created=NOW - timedelta(days=41))
    assert store.find("deploy last week") == [changed]


def test_a_span_without_memories_hides_nothing(store: Store) -> None:
    old = store.add("last week of the sprint is for tests", created=NOW - timedelta(days=40))
    assert store.find("last week of the sprint") == [old]


@pytest.mark.parametrize("query", ["yesterday", "what did we do yesterday?", "gestern"])
def test_a_span_alone_lists_what_was_written_then(store: Store, query: str) -> None:
    store.add("deploy with helm", created=NOW - timedelta(days=40))
    first = store.add("the mascot is a pelican", created=NOW - timedelta(days=1, hours=2))
    second = store.add("lunch is at noon", created=NOW - timedelta(days=1))
    assert store.find(query) == [second, first]


def test_a_named_month_lifts_what_was_written_then_and_hides_none(store: Store) -> None:
    for month in (1, 2, 4, 5, 6):
        store.add("we decided on the cache layout", created=datetime(2026, month, 5, tzinfo=UTC))
    march = store.add("we decided on the cache keys", created=datetime(2026, 3, 5, tzinfo=UTC))
    found = store.find("what did we decide on the cache in March?")
    assert found[0] == march
    assert len(found) == 6
