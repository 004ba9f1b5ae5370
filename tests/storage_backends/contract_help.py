"""What the parts of the contract share: names that try a storage out, a caller's view, several calls at once."""

import unicodedata
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import anyio

from storage_backends.base import Item, StorageBackend
from storage_backends.errors import ItemBusy, NotFound, StorageError

NewDevice = Callable[[], StorageBackend]
Move = Callable[[str, str], Awaitable[None]]

ODD_NAMES = [
    "memories/task/2026-01-02-plain-0a1b2c3d.md",
    "index.json",
    "a",
    "deep/er/and/deep/er/x.md",
    "memories/emptyish/ .md".replace(" ", "\u00a0"),
    "memories/with space/a b  c.md",
    "memories/100% #1 & more; it's (1) +x=y@z, [ok] {ok} $HOME `x` ^ ! ~.md",
    "memories/percent/%41%2e%2e%2fescape.md",
    "memories/日本語/設定の書き方.md",
    unicodedata.normalize("NFC", "memories/café/Ångström naïve.md"),
    "memories/한국어/조선글.md",
    "memories/العربية/مرحبا.md",
    "memories/emoji/🧠 memory 👩‍💻.md",
    "memories/dash/-rf.md",
    "memories/dots/a..b...c.md",
    "memories/dots/.hidden.md",
    "memories/copy/note (conflicted copy 2026-01-01).md",
    "memories/copy/note.sync-conflict-20260101-120000-ABCDEFG.md",
    "memories/long/" + "x" * 200 + ".md",
    "memories/long/" + "記" * 80 + ".md",
]

REFUSED_NAMES = [
    "",
    "/etc/passwd",
    "../escape.md",
    "memories/../../escape.md",
    "memories/./x.md",
    "memories//x.md",
    "memories/",
    "..",
    ".",
    "C:\\escape.md",
    "C:escape.md",
    "memories/C:escape.md",
    "a\\..\\..\\escape.md",
    "nul\0byte.md",
    "\ud800.md",
    unicodedata.normalize("NFD", "é.md"),
]

NOT_PORTABLE_NAMES = [
    "memories/CON.md",
    "memories/nul.tar.gz",
    "aux/x.md",
    "com1.md",
    "trailing dot./x.md",
    "trailing space /x.md",
    " leading.md",
    "dot.",
    "what?.md",
    "a:b.md",
    "pipe|.md",
    'quote".md',
    "line\nbreak.md",
    "note.md~",
    ".note.md.swp",
    "~$note.md",
    "note.tmp",
    ".git/config",
    "~folder/x.md",
    "x_vti_x.md",
    "x" * 256,
    "/".join(["d" * 99] * 5),
]


@dataclass
class View:
    """What a caller knows after following the changes."""

    items: dict[str, Item] = field(default_factory=dict)
    cursor: str | None = None

    async def follow(self, device: StorageBackend) -> "View":
        """Take in every page; an enumeration ends with dropping what it did not name."""
        named: set[str] = set()
        enumeration = False
        while True:
            page = await device.changes(self.cursor)
            enumeration = enumeration or page.enumeration
            self.items.update({item.item_id: item for item in page.items})
            for item_id in page.removed:
                self.items.pop(item_id, None)
            named.update(item.item_id for item in page.items)
            self.cursor = page.cursor
            if not page.more:
                break
        if enumeration:
            self.items = {item_id: item for item_id, item in self.items.items() if item_id in named}
        return self

    async def settle(self, device: StorageBackend) -> "View":
        """Follow, and ask about every item that the stream may have kept quiet about."""
        await self.follow(device)
        for item_id in list(self.items):
            try:
                self.items[item_id] = await device.stat(item_id)
            except NotFound:
                del self.items[item_id]
        return self

    @property
    def paths(self) -> set[str]:
        return {item.path for item in self.items.values()}


async def outcomes(calls: Sequence[Callable[[], Awaitable[object]]]) -> list[object]:
    """Run all at once; each one's result or storage error."""
    results: list[object] = [None] * len(calls)

    async def run(number: int, call: Callable[[], Awaitable[object]]) -> None:
        try:
            results[number] = await call()
        except StorageError as error:
            results[number] = error

    async with anyio.create_task_group() as group:
        for number, call in enumerate(calls):
            group.start_soon(run, number, call)
    return results


async def steady_read(device: StorageBackend, item_id: str) -> bytes:
    """The bytes; a busy item is asked for again, as a caller would."""
    while True:
        try:
            return (await device.read(item_id)).data
        except ItemBusy:
            await anyio.sleep(0.001)
