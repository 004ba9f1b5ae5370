"""What recall finds, and what it never shows."""

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory_cache.models import Filter, Scope
from memory_cache.search import query as queries
from memory_cache.search import recall
from tests.memory_cache.search.store import NOW, Store


def test_the_memory_that_says_it_comes_first(store: Store) -> None:
    store.add("We use tabs in the frontend.")
    wanted = store.add("The staging database listens on port 5433.")
    store.add("Release notes are written in March.")
    assert store.find("which port does the staging database use?")[0] == wanted


@pytest.mark.parametrize(
    ("body", "query"),
    [
        ("The useEffect hook runs twice in strict mode", "useEffect"),
        ("error E1234 means the disk is full", "E1234"),
        ("config in src/app/settings.toml", "src/app/settings.toml"),
        ("config in src/app/settings.toml", "settings.toml"),
        ("C# generics are reified", "C#"),
        ("C++17 is the minimum standard", "c++"),
        ("C++17 is the minimum standard", "C++17"),
        ("C# 12 is used", "C#12"),
        ("upgrade to next.js v15.2.1", "next.js"),
        ("upgrade to next.js v15.2.1", "v15.2.1"),
        ("MAX_RETRIES is 5", "max_retries"),
        ("明日の東京の会議は十時", "東京"),
        ("数据库连接池的大小是二十", "库"),
        ("数据库连接池的大小是二十", "连接池大小"),
        ("gen-itgc후 검토", "후"),
        ("Приложения запускаются вечером", "приложение"),
        ("Le déploiement est automatique", "deploiement"),
        ("Die Straße ist gesperrt", "strasse"),
        ("ระบบฐานข้อมูลหลัก", "ฐานข้อมูล"),
    ],
)
def test_words_as_people_type_them_are_found(store: Store, body: str, query: str) -> None:
    wanted = store.add(body)
    for filler in ("tabs over spaces", "the bus leaves at nine", "会社の名前", "обед в полдень"):
        store.add(filler)
    assert store.find(query)[0] == wanted


def test_a_query_of_stop_words_alone_still_finds(store: Store) -> None:
    wanted = store.add("to be or not to be")
    assert store.find("to be or not to be") == [wanted]


@pytest.mark.parametrize("query", ["", "   ", '"', "''", "*", "(", "a AND", "NEAR(", "-", "\x00", "🚀", "%", "'; DROP"])
def test_odd_queries_are_answered(store: Store, query: str) -> None:
    store.add("anything at all")
    store.find(query)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.text(max_size=80), query=st.text(max_size=80))
def test_any_text_is_safe_to_store_and_to_ask(store: Store, body: str, query: str) -> None:
    store.add(body)
    store.find(query)


def test_a_changed_memory_is_found_by_its_new_words_only(store: Store) -> None:
    memory = store.add("The mascot is a walrus")
    store.change(memory, "The mascot is a pelican")
    assert store.find("pelican") == [memory]
    assert store.find("walrus") == []


def test_expired_memories_are_hidden_at_once(store: Store) -> None:
    gone = store.add("standup is at nine", expires=NOW - timedelta(seconds=1))
    kept = store.add("standup is at ten", expires=NOW + timedelta(seconds=1))
    assert store.find("standup") == [kept]
    assert set(store.find("standup", Filter(with_expired=True))) == {gone, kept}


def test_scopes(store: Store) -> None:
    mine = store.add("deploy with make", project="mine")
    other = store.add("deploy with ansible", project="other")
    everywhere = store.add("deploy on Tuesdays")
    assert set(store.find("deploy", Filter(scope=Scope(project_key="mine")))) == {mine, everywhere}
    assert store.find("deploy", Filter(scope=Scope(project_key="mine", with_global=False))) == [mine]
    assert store.find("deploy", Filter(scope=Scope())) == [everywhere]
    assert set(store.find("deploy", Filter(scope=Scope.all()))) == {mine, other, everywhere}


def test_filters_hold_before_the_limit(store: Store) -> None:
    wanted = store.add("deploy notes", category="decisions", tags=("Ops", "prod"), updated=NOW - timedelta(days=2))
    for number in range(400):
        store.add(f"deploy deploy deploy {number}")
    for filter_ in (
        Filter(category="decisions"),
        Filter(tags=("ops",)),
        Filter(tags=("OPS", "Prod")),
        Filter(updated_after=NOW - timedelta(days=3)),
    ):
        assert store.find("deploy", filter_, limit=1) == [wanted]
    assert wanted not in store.find("deploy", Filter(updated_before=NOW - timedelta(days=3)), limit=500)


@pytest.mark.parametrize("query", ["kubernetes", "kubernetes cluster"])
def test_words_that_only_old_memories_hold_often_are_found(
    store: Store, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    """In a large cache frequent words are sought among the newest memories that hold them, not among the newest."""
    monkeypatch.setattr(queries, "MATCHED_ROWS_CAP", 20)
    old = [store.add(f"kubernetes cluster number {count}") for count in range(60)]
    for count in range(300):
        store.add(f"a note on something else, the {count}th")
    assert set(store.find(query)) <= set(old)
    assert len(store.find(query)) == 10


@pytest.mark.parametrize("query", ["tokn", "tokenn", "tokem", "tkoen", "autentication", "authetnication tokns"])
def test_a_slip_of_the_finger_is_forgiven_when_no_memory_holds_the_word(store: Store, query: str) -> None:
    wanted = store.add("Authentication tokens expire after 15 minutes")
    store.add("The birthday of Bob is on 4 May")
    assert store.find(query) == [wanted]
    hit = recall.search(store.connection, query, Filter(), limit=5, now=NOW, explain=True).hits[0]
    assert f"{query.split()[0]} taken as " in hit.why


def test_what_a_memory_holds_is_taken_as_it_is_typed(store: Store) -> None:
    store.add("tokens expire")
    exact = store.add("tokn is the name of our billing tool")
    assert store.find("tokn") == [exact]
