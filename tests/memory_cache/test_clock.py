"""Moments never go backwards when a memory changes."""

from datetime import UTC, datetime, timedelta

from memory_cache.clock import later_than

NOW = datetime(2026, 12, 1, tzinfo=UTC)


def test_a_change_is_later_than_what_it_changes_whatever_the_clock_says() -> None:
    ahead = NOW + timedelta(days=400)
    assert later_than(NOW - timedelta(days=1), NOW) == NOW
    assert later_than(ahead, NOW) > ahead


def test_a_file_of_the_last_moment_there_is_can_be_changed() -> None:
    assert later_than(datetime.max.replace(tzinfo=UTC), NOW) == NOW
