"""Whatever programs do to the folder, in whatever order: following the changes ends at what is there."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage_backends.base import Changes, Item
from storage_backends.folder import FolderStorage

from .folder_help import Clock, coarse_times, tree

FOLDERS = ["", "a", "a/b", "c", "é"]
NAMES = ["1.md", "2.md", "日.md"]
PATHS = [f"{folder}/{name}" if folder else name for folder in FOLDERS for name in NAMES]

operations = st.one_of(
    st.tuples(st.just("in place"), st.sampled_from(PATHS), st.sampled_from([b"x", b"y", b"zz"])),
    st.tuples(st.just("over"), st.sampled_from(PATHS), st.sampled_from([b"x", b"y", b"zz"])),
    st.tuples(st.just("move"), st.sampled_from(PATHS), st.sampled_from(PATHS)),
    st.tuples(st.just("move folder"), st.sampled_from(FOLDERS[1:]), st.sampled_from(FOLDERS[1:])),
    st.tuples(st.just("remove"), st.sampled_from(PATHS), st.none()),
    st.tuples(st.just("remove folder"), st.sampled_from(FOLDERS[1:]), st.none()),
    st.tuples(st.just("own create"), st.sampled_from(PATHS), st.sampled_from([b"x", b"y"])),
    st.tuples(st.just("own update"), st.sampled_from(PATHS), st.sampled_from([b"x", b"y", b"zz"])),
    st.tuples(st.just("own delete"), st.sampled_from(PATHS), st.none()),
    st.tuples(st.just("age"), st.none(), st.none()),
    st.tuples(st.just("follow"), st.booleans(), st.none()),
)


class Follower:
    """A caller that follows the changes, and a program that makes some."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = Clock()
        self.device = FolderStorage(root, clock=self.clock)
        self.state = self.device._state
        self.items: dict[str, Item] = {}
        self.hints: set[str] = set()
        page = self.state.page(None, None)
        self.cursor = page.cursor

    def do(self, kind: str, subject: str, argument: object) -> None:
        getattr(self, kind.replace(" ", "_"))(subject, argument)

    def in_place(self, path: str, data: bytes) -> None:
        file = self.root / path
        if file.parent.is_dir():
            self.hints.add(path)  # the system tells of it
            file.write_bytes(data)

    def over(self, path: str, data: bytes) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.with_name("new.tmp").write_bytes(data)
        file.with_name("new.tmp").rename(file)

    def move(self, path: str, new_path: str) -> None:
        if (self.root / path).is_file() and (self.root / new_path).parent.is_dir():
            (self.root / path).rename(self.root / new_path)

    def move_folder(self, folder: str, new_folder: str) -> None:
        target = self.root / new_folder
        fits = not target.exists() and target.parent.is_dir() and not new_folder.startswith(folder)
        if (self.root / folder).is_dir() and fits:
            (self.root / folder).rename(target)

    def remove(self, path: str, _: object) -> None:
        (self.root / path).unlink(missing_ok=True)

    def remove_folder(self, folder: str, _: object) -> None:
        shutil.rmtree(self.root / folder, ignore_errors=True)

    def own_create(self, path: str, data: bytes) -> None:
        if not (self.root / path).exists():
            self.state.create(path, data)

    def own_update(self, path: str, data: bytes) -> None:
        if (self.root / path).exists():
            version = self.device._stat(path).version
            assert self.state.update(path, data, version).size == len(data)

    def own_delete(self, path: str, _: object) -> None:
        if (self.root / path).exists():
            self.state.delete(path, self.device._stat(path).version)

    def age(self, *_: object) -> None:
        self.clock.ahead += 10

    def follow(self, enumerate_all: bool, _: object = None) -> None:
        page = self.state.page(None if enumerate_all else self.cursor, self.hints)
        self.hints = set()
        self.take(page)
        expected = tree(self.root)
        assert {item.path for item in self.items.values()} == expected.keys()
        for item in self.items.values():
            content = self.device._read(item.item_id)
            assert (content.item.version, content.data) == (item.version, expected[item.path])

    def take(self, page: Changes) -> None:
        if page.enumeration:
            self.items = {}
        self.items.update({item.item_id: item for item in page.items})
        for item_id in page.removed:
            self.items.pop(item_id, None)
        self.cursor = page.cursor


def follow_all(disk: Path, steps: list[tuple[str, str, object]]) -> None:
    place = Path(tempfile.mkdtemp(dir=disk))
    try:
        one = Follower(place)
        for step in steps:
            one.do(*step)
        one.follow(False)
        one.age()
        one.follow(False)
        one.follow(True)
    finally:
        shutil.rmtree(place)


@pytest.fixture(scope="module")
def plain_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("disk")


@pytest.fixture(scope="module")
def coarse_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with coarse_times(tmp_path_factory.mktemp("disk")) as place:
        yield place


@given(steps=st.lists(operations, max_size=25))
@settings(max_examples=120, deadline=None)
def test_following_ends_at_what_is_there(plain_disk: Path, steps: list[tuple[str, str, object]]) -> None:
    follow_all(plain_disk, steps)


@given(steps=st.lists(operations.filter(lambda step: step[0] != "age"), max_size=25))
@settings(max_examples=120, deadline=None)
def test_following_ends_at_what_is_there_although_times_stand_still(
    coarse_disk: Path, steps: list[tuple[str, str, object]]
) -> None:
    follow_all(coarse_disk, steps)
