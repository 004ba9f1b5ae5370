"""What lifts a match, what makes none, and how an answer explains itself."""

from datetime import UTC, datetime, timedelta

import pytest

from memory_cache.models import Filter, Scope
from memory_cache.search import recall
from memory_cache.search.passage import best
from memory_cache.search.query import wanted
from tests.memory_cache.search.store import NOW, Store


def find(store: Store, query: str, **options: object) -> list[int]:
    return store.find(query, vectors=store.vectors, **options)  # type: ignore[arg-type]


def test_high_priority_lifts_a_match(store: Store) -> None:
    plain = store.add("the deploy script lives in tools")
    low = store.add("the deploy script lives in bin", priority="low")
    high = store.add("the deploy script lives in scripts", priority="high")
    assert find(store, "deploy script") == [high, plain, low]


def test_high_priority_never_makes_a_match(store: Store) -> None:
    wanted = store.add("The staging database is reset every Sunday")
    for number in range(20):
        store.add(f"Sandwich recipe number {number} with cucumber", priority="high")
    assert find(store, "when is the staging database reset?")[0] == wanted
    assert find(store, "xyzzy plugh") == []


def test_of_two_equal_matches_the_newer_comes_first(store: Store) -> None:
    old = store.add("the mascot of the team is a walrus", created=NOW - timedelta(days=900))
    new = store.add("the mascot of the team is a pelican", created=NOW - timedelta(days=1))
    assert find(store, "mascot of the team") == [new, old]


def test_an_old_memory_that_answers_beats_a_new_one_that_does_not(store: Store) -> None:
    old = store.add("The VPN needs certificate profile B", created=NOW - timedelta(days=2000))
    for number in range(30):
        store.add(f"The coffee machine was cleaned, round {number}", created=NOW - timedelta(hours=number))
    assert find(store, "which certificate profile does the VPN need")[0] == old


def test_the_askers_project_is_lifted(store: Store) -> None:
    store.add("build with make all", project="other")
    mine = store.add("build with make all", project="mine")
    store.add("build with make all", project="third")
    assert find(store, "build with make", project_key="mine")[0] == mine


def test_a_tag_is_found_like_a_word(store: Store) -> None:
    tagged = store.add("Rotate every ninety days", tags=("credentials",))
    for number in range(5):
        store.add(f"Paint the fence {number}")
    assert find(store, "credentials") == [tagged]


def test_near_duplicates_do_not_fill_the_answer(store: Store) -> None:
    for number in range(12):
        store.add(
            "The nightly backup of the shop database runs at two in the morning on the old server"
            f" and takes an hour {'a' * number}"
        )
    other = store.add("The nightly backup is checked by a restore every month")
    assert other in find(store, "nightly backup of the shop database", limit=5)


def test_paraphrases_are_found_by_meaning(store: Store) -> None:
    wanted = store.add("The car would not start this morning because its battery was dead")
    for body in (
        "Lunch menus are posted on the intranet on Fridays",
        "The quarterly report is due in two weeks",
        "Use four spaces for indentation in Python",
        "The printer on the second floor is out of paper",
    ):
        store.add(body)
    assert store.find("vehicle trouble") == []
    assert find(store, "vehicle trouble")[0] == wanted


def test_a_question_in_another_script_is_answered_by_words_alone(store: Store) -> None:
    wanted = store.add("Пароль от роутера лежит в сейфе")
    store.add("The router password is in the safe")
    assert find(store, "где пароль от роутера?") == [wanted]


def test_a_fragment_is_found_by_what_stands_beside_it_in_time(store: Store) -> None:
    moment = NOW - timedelta(days=10)
    store.add("We talked about the payment gateway timeout with Dana", created=moment)
    fragment = store.add("Dana set it to thirty seconds", created=moment + timedelta(minutes=1))
    elsewhere = store.add("Dana set it to the side table", created=moment + timedelta(days=3))
    found = find(store, "what did Dana set the payment gateway timeout to?")
    assert found.index(fragment) < found.index(elsewhere)


@pytest.mark.parametrize("moment", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC)])
def test_the_ends_of_time_have_neighbours_too(store: Store, moment: datetime) -> None:
    store.add("We talked about the payment gateway timeout with Dana", created=moment)
    fragment = store.add("Dana set it to thirty seconds", created=moment)
    elsewhere = store.add("Dana set it to the side table", created=NOW)
    found = find(store, "what did Dana set the payment gateway timeout to?")
    assert found.index(fragment) < found.index(elsewhere)


def test_a_linked_memory_counts_as_context(store: Store) -> None:
    subject = store.add("Payment gateway timeout policy", created=NOW - timedelta(days=300))
    linked = store.add("Dana set it to thirty seconds", related=(f"id-{subject:06d}",), created=NOW - timedelta(days=9))
    alone = store.add("Dana set it to thirty kelvin", created=NOW - timedelta(days=5))
    found = find(store, "what did Dana set the payment gateway timeout to?")
    assert found.index(linked) < found.index(alone)


def test_context_does_not_leak_from_memories_that_the_filter_hides(store: Store) -> None:
    moment = NOW - timedelta(days=10)
    store.add("Payment gateway timeout with Dana", created=moment, expires=NOW - timedelta(days=1))
    fragment = store.add("Dana set it to thirty seconds", created=moment + timedelta(minutes=1))
    result = recall.search(
        store.connection, "payment gateway timeout", Filter(), limit=5, now=NOW, vectors=store.vectors, explain=True
    )
    assert all(hit.file_id != fragment or "words 0.00" in hit.why for hit in result.hits)


def test_an_explanation_names_the_parts_and_what_lifted(store: Store) -> None:
    store.add("the deploy script lives in scripts", priority="high", project="mine", created=NOW - timedelta(days=1))
    result = recall.search(
        store.connection,
        "deploy script in November",
        Filter(scope=Scope(project_key="mine")),
        limit=5,
        now=NOW,
        project_key="mine",
        vectors=store.vectors,
        explain=True,
    )
    why = result.hits[0].why
    for part in ("words", "likeness", "meaning", "date", "high priority", "recency", "this project"):
        assert part in why
    plain = recall.search(store.connection, "deploy", Filter(), limit=5, now=NOW)
    assert plain.hits[0].why == ""


def test_more_counts_the_matches_that_are_not_shown(store: Store) -> None:
    for number in range(30):
        store.add(f"deploy note {number}")
    result = recall.search(store.connection, "deploy", Filter(), limit=10, now=NOW, vectors=store.vectors)
    assert len(result.hits) == 10
    assert result.more == 20


def test_a_long_memory_is_shown_by_its_best_passage(store: Store) -> None:
    filler = "The committee met again and spoke about chairs, tables and the colour of the walls. " * 30
    store.add(f"# Minutes of the house meeting\n\n{filler}\nThe alarm code of the side door is 4711.\n{filler}")
    result = recall.search(store.connection, "alarm code side door", Filter(), limit=1, now=NOW)
    passage = result.hits[0].passage
    assert "4711" in passage
    assert passage.startswith("# Minutes of the house meeting")
    assert len(passage) < 640


@pytest.mark.parametrize("body", ["", "\n", "a" * 5000, "字" * 3000, "é " * 2000, "word " * 9000])
def test_passages_of_odd_texts_are_short(body: str) -> None:
    assert len(best(body, wanted("word 字 a"))) < 640
