"""Names of files: legal everywhere, never colliding, and never taken for something else."""

import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_cache import paths
from memory_cache.errors import InvalidInput
from memory_cache.models import FileKind

DAY = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
FORBIDDEN = set('"*:<>?/\\|')


@given(st.text(max_size=300))
def test_a_slug_is_never_empty_and_always_a_legal_name(title: str) -> None:
    slug = paths.slug(title)
    assert 1 <= len(slug) <= 57
    assert not FORBIDDEN & set(slug)
    assert slug == slug.strip(" .-")
    assert slug.isprintable()
    assert unicodedata.is_normalized("NFC", slug)
    assert not unicodedata.category(slug[0]).startswith("M")
    slug.encode("utf-8")
    assert len(f"2026-01-01-{slug}-01234567.md".encode()) <= 255


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Use PostgreSQL 16!", "use-postgresql-16"),
        ("日本語のメモ", "日本語のメモ"),
        ("Ключ: значение", "ключ-значение"),
        ("हिन्दी नोट", "हिन्दी-नोट"),
        ("e\u0301te\u0301", "été"),
        ("!!!", "memory"),
        ("🎉🎉", "memory"),
        ("CON", "memory-con"),
        ("nul", "memory-nul"),
        ("../../etc/passwd", "etc-passwd"),
    ],
)
def test_slugs_keep_every_script_and_nothing_else(title: str, slug: str) -> None:
    assert paths.slug(title) == slug


def test_two_memories_of_one_title_and_day_get_two_paths() -> None:
    first = paths.memory_path("task", DAY, "Same", "aaaaaaaa-1111", lambda _: False)
    second = paths.memory_path("task", DAY, "Same", "bbbbbbbb-1111", lambda _: False)
    assert first == "memories/task/2026-03-01-same-aaaaaaaa.md"
    assert first != second


def test_a_taken_path_is_never_chosen() -> None:
    taken: set[str] = set()
    for _ in range(5):
        path = paths.memory_path("task", DAY, "Same", "aaaaaaaa-1111", taken.__contains__)
        assert path not in taken
        assert paths.kind_of(path) is FileKind.MEMORY
        taken.add(path)


@pytest.mark.parametrize(
    "bad",
    [
        "",
        " ",
        "..",
        ".",
        "../../x",
        "a/b",
        "a\\b",
        "c:",
        "NUL",
        "con.txt",
        "x.",
        ".git",
        "a\nb",
        "~$x",
        "x" * 61,
        "a\u202eb",
    ],
)
def test_a_category_that_is_no_folder_name_is_refused(bad: str) -> None:
    with pytest.raises(InvalidInput):
        paths.valid_category(bad)


@given(st.text(max_size=70))
def test_a_category_either_stays_one_segment_or_is_refused(text: str) -> None:
    try:
        category = paths.valid_category(text)
    except InvalidInput:
        return
    path = paths.memory_path(category, DAY, "t", "aaaaaaaa", lambda _: False)
    assert path.split("/")[1] == category
    assert len(path.split("/")) == 3
    assert paths.kind_of(path) is FileKind.MEMORY


def test_known_categories_ignore_case_and_others_are_kept() -> None:
    assert paths.valid_category("Decision ") == "decision"
    assert paths.valid_category("Rezepte für Gäste") == "Rezepte für Gäste"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("memories/task/x.md", FileKind.MEMORY),
        ("memories/loose.md", FileKind.MEMORY),
        ("memories/#ideas.md", FileKind.MEMORY),
        ("memories/a/b/c/Deep Note.MD", FileKind.MEMORY),
        ("documents/x.md", FileKind.DOCUMENT),
        ("patterns/x.md", FileKind.PATTERN),
        ("conflicts/x.json", FileKind.CONFLICT),
        ("devices/laptop.json", FileKind.DEVICE),
        ("index.json", FileKind.INDEX),
    ],
)
def test_files_of_the_store_are_recognised(path: str, kind: FileKind) -> None:
    assert paths.kind_of(path) is kind
    assert paths.in_scope(path)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "readme.md",
        "memories",
        "memories/task/x.txt",
        "memories/task/.x.md.swp",
        "memories/.obsidian/x.md",
        "memories/task/~$x.md",
        "memories/task/x.md~",
        "memories/task/x.md.tmp",
        "memories/task/.#x.md",
        "memories/task/#x.md#",
        "documents/sub/x.md",
        "index-HOST.json",
        "notes/x.md",
        "cache.sqlite3",
    ],
)
def test_everything_else_is_left_alone(path: str) -> None:
    assert not paths.in_scope(path)
    with pytest.raises(ValueError, match="not a file"):
        paths.kind_of(path)


ORIGINAL = "memories/task/2026-03-01-use-postgres-1a2b3c4d.md"
OLD = "memories/task/2026-03-01-use-postgres.md"


@pytest.mark.parametrize(
    ("copy", "original"),
    [
        ("memories/task/2026-03-01-use-postgres-1a2b3c4d-DESKTOP-4F2K9.md", ORIGINAL),
        ("memories/task/2026-03-01-use-postgres-1a2b3c4d-annas-air.md", ORIGINAL),
        ("memories/task/2026-03-01-use-postgres-1a2b3c4d-host-host-host.md", ORIGINAL),
        ("memories/task/2026-03-01-use-postgres-1a2b3c4d-MacBook Pro de X-2.md", ORIGINAL),
        ("memories/task/2026-03-01-use-postgres-1a2b3c4d (1).md", ORIGINAL),
        ("memories/task/2026-03-01-use-postgres-1a2b3c4d.sync-conflict-20260301-101112-ABCDEF7.md", ORIGINAL),
        ("memories/task/2026-03-01-use-postgres-1a2b3c4d (Anna's conflicted copy 2026-03-02).md", ORIGINAL),
        ("memories/task/2026-03-01-use-postgres-1a2b3c4d (In Konflikt stehende Kopie von PC 2026-03-02).md", ORIGINAL),
        ("memories/task/2026-03-01-use-postgres-1a2b3c4d (conflicted copy 2026-03-02 101112) (1).md", ORIGINAL),
        ("memories/task/2026-03-01-use-postgres-1a2b3c4d_conflict-20260301-101112.md", ORIGINAL),
        ("memories/task/2026-03-01-use-postgres-DESKTOP-4F2K9.md", OLD),
        ("memories/task/note-LAPTOP-AB12C.md", "memories/task/note.md"),
    ],
)
def test_conflict_copies_of_every_sync_client_are_recognised(copy: str, original: str) -> None:
    assert paths.conflict_copy_of(copy) == original


@pytest.mark.parametrize(
    "path", [ORIGINAL, OLD, "memories/task/my-note.md", "memories/DESKTOP-4F2K9/x.md", "memories/a.md"]
)
def test_ordinary_names_are_no_conflict_copies(path: str) -> None:
    assert paths.conflict_copy_of(path) is None


def test_a_copy_with_any_host_name_has_its_original_among_the_possible_ones() -> None:
    found = list(paths.possible_originals("memories/task/my-note-MacBook Pro de X-2.md"))
    assert "memories/task/my-note.md" in found


def test_a_name_without_end_has_few_possible_originals() -> None:
    assert len(list(paths.possible_originals(f"memories/{'a-' * 500_000}.md"))) <= 33


@given(st.text(max_size=40))
def test_copy_recognition_never_fails_and_always_shortens(name: str) -> None:
    path = f"memories/{name}.md"
    original = paths.conflict_copy_of(path)
    assert original is None or len(original) < len(path)
    assert all(len(other) < len(path) for other in paths.possible_originals(path))


def test_the_date_of_a_path() -> None:
    assert paths.date_of(OLD) == datetime(2026, 3, 1, tzinfo=UTC)
    assert paths.date_of("memories/task/2026-13-01-x.md") is None
    assert paths.date_of("memories/task/note.md") is None


def test_derived_ids_are_the_same_on_every_device() -> None:
    assert paths.derived_id("a", "p") == paths.derived_id("a", "p")
    assert len({paths.derived_id("a", "p"), paths.derived_id("a", "q"), paths.derived_id("b", "p")}) == 3
    assert paths.new_id() != paths.new_id()
