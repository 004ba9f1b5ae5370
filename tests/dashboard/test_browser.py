"""The pages in a real browser, before a real daemon: what a person sees, types and clicks.

`AXE_CORE`, a path to axe-core's `axe.min.js` (npm), adds a look at each page with it.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_cache import files
from memory_cache.cache import MemoryCache
from memory_cache.clock import utc_now
from memory_cache.conflicts import ConflictRecord, encode, path_of
from memory_cache.models import Change, Draft
from tests.daemon.processes import Device
from tests.dashboard.browser import Browser, Tab, browser, chromium

pytestmark = pytest.mark.skipif(chromium() is None, reason="no Chromium is installed")

HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
ROUTES = ("#/", "#/conflicts", "#/graph", "#/growth", "#/documents", "#/patterns", "#/trash", "#/sync")


@pytest.fixture(scope="module")
def device(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Device]:
    device = Device(tmp_path_factory.mktemp("dashboard"))
    with device.daemon():
        yield device


@pytest.fixture(scope="module")
def chrome() -> Iterator[Browser]:
    with browser() as running:
        yield running


@pytest.fixture(scope="module")
def window(device: Device, chrome: Browser) -> Tab:
    tab = chrome.tab()
    tab.window(1280, 900)
    tab.open(device.run("dashboard")["url"])
    tab.sees("Memories")
    return tab


@pytest.fixture
def tab(window: Tab) -> Iterator[Tab]:
    """The signed-in page, at its start; whatever a test does, the page must have had no fault."""
    window.window(1280, 900)
    window.go("#/")
    window.until("location.hash === '#/' && !!document.querySelector('#search')")
    window.events.clear()
    yield window
    assert window.complaints() == []


def remember(device: Device, text: str, **fields: object) -> str:
    """Store a memory as another process does; its id."""

    async def work(cache: MemoryCache) -> str:
        return (await cache.remember(Draft(content=text, category="learning", **fields))).memory.id  # type: ignore[arg-type]

    return str(device.cache(work))


def content(device: Device, memory_id: str) -> str:
    return str(device.cache(lambda cache: cache.get(memory_id)).content)


def test_the_link_works_once_and_leaves_no_token_behind(device: Device, chrome: Browser) -> None:
    url = device.run("dashboard")["url"]
    first, late = chrome.tab(), chrome.tab()
    first.open(url)
    first.sees("Memories")
    assert first.run("location.href").endswith("/#/")
    assert first.run("document.cookie") == ""
    assert url.partition("=")[2] not in json.dumps(first.run("Object.entries(localStorage)"))
    first.call("Page.reload")
    first.until("!!document.querySelector('#search')")
    late.open(url)
    late.sees("This link was used before")
    late.sees("claude-memory dashboard")


def test_a_memory_is_found_opened_changed_and_saved_by_keys_alone(device: Device, tab: Tab) -> None:
    memory = remember(device, "# Staging database\n\nIt listens on port 3000.")
    remember(device, "# Breakfast\n\nPorridge")
    tab.sees("Staging database")
    tab.press("/")
    tab.type("stagi")
    tab.until("document.querySelectorAll('.hits a').length === 1")
    tab.press("Enter", code=13)
    tab.until("document.querySelector('.memory h1')?.textContent === 'Staging database'")
    tab.run("document.activeElement.blur()")
    tab.press("e")
    tab.until("document.activeElement.id === 'content'")
    tab.run("document.activeElement.select()")
    tab.type("# Staging database\n\nIt listens on port 3001.")
    tab.press("s", modifiers=2)
    tab.sees("port 3001")
    assert content(device, memory) == "# Staging database\n\nIt listens on port 3001."
    assert tab.run("document.title") == "Staging database · Claude memory"
    tab.press("?")
    tab.until("!!document.querySelector('dialog[open]')")
    tab.press("Escape", code=27)
    tab.until("!document.querySelector('dialog[open]')")


def test_a_hostile_memory_is_text(device: Device, tab: Tab) -> None:
    memory = remember(
        device, f"# {HOSTILE}\n\n{HOSTILE}\n\n[x](javascript:alert(1)) [y](https://example.org)", tags=(HOSTILE,)
    )
    for route in ("#/", "#/?q=onerror", f"#/memories/{memory}", "#/graph", "#/growth", "#/?tag=x"):
        tab.go(route)
        time.sleep(0.1)
    tab.go(f"#/memories/{memory}")
    tab.until(f"document.querySelector('.memory h1')?.textContent === {json.dumps(HOSTILE)}")
    assert tab.run("document.querySelectorAll('main img, main script, main iframe').length") == 0
    assert tab.run("[...document.querySelectorAll('.text a')].map(a => a.href)") == ["https://example.org/"]
    assert "taken" not in tab.run("document.title").replace(HOSTILE, "")
    # Even a mistake of ours could not make markup of it.
    assert tab.run("(() => { try { document.body.innerHTML = 'x' } catch (e) { return e.name } })()") == "TypeError"
    tab.events.clear()


def test_what_others_store_appears_by_itself(device: Device, tab: Tab) -> None:
    remember(device, "# Comes from another process")
    tab.sees("Comes from another process")
    tab.go("#/sync")
    tab.sees("Sync now")
    tab.until("document.querySelector('.chip').textContent.includes('in step')")
    device.folder.rename(device.base / "away")
    try:
        tab.click("main button", "Sync now")
        tab.until("document.querySelector('.chip').textContent.includes('not reachable')")
    finally:
        (device.base / "away").rename(device.folder)
    tab.click("main button", "Sync now")
    tab.until("document.querySelector('.chip').textContent.includes('in step')")


def test_a_long_list_stays_as_long_when_something_is_stored(device: Device, tab: Tab) -> None:
    async def fill(cache: MemoryCache) -> None:
        for number in range(85):
            await cache.remember(Draft(content=f"Lap {number}", category="laps"))

    device.cache(fill)
    tab.go("#/?category=laps")
    tab.until("document.querySelectorAll('.hits a').length === 40")
    tab.click("button.more")
    tab.until("document.querySelectorAll('.hits a').length === 80")

    async def one_more(cache: MemoryCache) -> None:
        await cache.remember(Draft(content="The last lap", category="laps"))

    device.cache(one_more)
    tab.sees("The last lap")
    tab.until("document.querySelectorAll('.hits a').length === 80")
    tab.click("button.more", "6")
    tab.until("document.querySelectorAll('.hits a').length === 86")
    assert tab.run("new Set([...document.querySelectorAll('.hits a')].map(each => each.dataset.id)).size") == 86


def test_what_is_not_there_is_told(tab: Tab) -> None:
    tab.go("#/memories/00000000-0000-4000-8000-000000000000")
    tab.sees("This memory is not there any more")
    tab.go("#/no-such-page/x")
    tab.until("document.querySelector('h1')?.textContent === 'Memories'")


def test_a_change_in_between_is_told_and_what_was_typed_stays(device: Device, tab: Tab) -> None:
    memory = remember(device, "# Shared\n\nBefore")
    tab.go(f"#/memories/{memory}")
    tab.click(".memory button", "Edit")
    tab.until("document.activeElement.id === 'content'")
    tab.run("document.activeElement.select()")
    tab.type("# Shared\n\nMine")
    device.cache(lambda cache: cache.update(memory, Change(content="# Shared\n\nTheirs")))
    tab.sees("Changed meanwhile")
    assert tab.run("document.querySelector('#content').value") == "# Shared\n\nMine"
    assert tab.run("document.querySelector('#theirs').value") == "# Shared\n\nTheirs"
    tab.click(".editor button", "Save")
    time.sleep(0.3)
    assert content(device, memory) == "# Shared\n\nTheirs"
    tab.click(".editor button", "I have taken over")
    tab.click(".editor button", "Save")
    tab.sees("Mine")
    assert content(device, memory) == "# Shared\n\nMine"
    assert device.cache(lambda cache: cache.history(memory))[0].content == "# Shared\n\nTheirs"


def test_tag_link_trash_undo_and_an_earlier_text(device: Device, tab: Tab) -> None:
    memory, other = remember(device, "# Lighthouse\n\nOld"), remember(device, "# Harbour")
    device.cache(lambda cache: cache.update(memory, Change(content="# Lighthouse\n\nNew")))
    tab.go(f"#/memories/{memory}")
    tab.click(".tags button", "+ Tag")
    tab.until("document.activeElement.id === 'tag'")
    tab.type("coast")
    tab.press("Enter", code=13)
    tab.until("!!document.querySelector('.memory .tag')")
    tab.click(".related button", "+ Link")
    tab.until("!!document.querySelector('#link')")
    tab.run("document.querySelector('#link').focus()")
    tab.type("harb")
    tab.click(".link-search li button", "Harbour")
    tab.until("!!document.querySelector('.related li a')")
    stands = device.cache(lambda cache: cache.get(memory))
    assert (stands.tags, stands.related_to) == (("coast",), (other,))
    tab.go("#/graph")
    tab.until("document.querySelectorAll('svg.graph a').length === 2")
    tab.go(f"#/memories/{memory}")
    tab.click(".memory .danger")
    tab.sees("is in the trash")
    tab.click(".toast button", "Undo")
    tab.until("document.querySelector('.memory h1')?.textContent === 'Lighthouse'")
    tab.run("document.querySelector('.earlier').open = true")
    tab.until("document.querySelectorAll('.history button').length > 0")
    tab.run("[...document.querySelectorAll('.history button')].at(-1).click()")
    tab.sees("The earlier text is back")
    assert content(device, memory) == "# Lighthouse\n\nOld"


def conflicting(device: Device, title: str) -> str:
    """A memory that a laptop changed on the same line; its id."""

    async def work(cache: MemoryCache) -> str:
        memory = (
            await cache.remember(Draft(content=f"# {title}\n\nport: 3001\n\nhost: one", category="project"))
        ).memory
        record = await cache.database.read(lambda c: files.by_path(c, memory.path))
        assert record is not None
        assert record.content is not None
        base = record.content.replace(b"3001", b"3000")
        theirs = base.replace(b"3000", b"3010").replace(b"host: one", b"host: two")
        lost = ConflictRecord(memory.id, memory.path, "laptop", utc_now(), base, theirs)
        await cache.database.write(lambda c: files.add(c, path_of(lost), encode(lost)))
        return memory.id

    return str(device.cache(work))


def test_a_conflict_stands_side_by_side_and_is_settled_with_one_click(device: Device, tab: Tab) -> None:
    memory = conflicting(device, "One click")
    tab.go("#/conflicts")
    tab.sees("laptop")
    cells = tab.run("[...document.querySelectorAll('.cell pre')].map(each => each.textContent)")
    assert cells == ["port: 3001", "port: 3000", "port: 3010", "host: one", "host: one", "host: two"]
    tab.click(".conflict button", "Keep theirs")
    tab.sees("is settled")
    tab.sees("No open conflicts")
    assert content(device, memory) == "# One click\n\nport: 3010\n\nhost: two"


def test_a_conflict_is_merged_line_by_line(device: Device, tab: Tab) -> None:
    memory = conflicting(device, "Line by line")
    tab.go("#/conflicts")
    tab.sees("laptop")
    tab.click(".choices label", "both")
    tab.click("summary", "Merge by hand")
    assert "port: 3001\nport: 3010\n\nhost: two" in tab.until("document.querySelector('.by-hand textarea').value")
    tab.click(".by-hand button", "Save")
    tab.sees("No open conflicts")
    assert content(device, memory) == "# Line by line\n\nport: 3001\nport: 3010\n\nhost: two"


def test_a_merge_loses_no_line_of_either_side(tab: Tab) -> None:
    script = """
    import('/static/js/diff.js').then(({ merged, threeWay, twoWay }) => {
      let seed = 7;
      const next = (most) => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed % most; };
      const text = () => Array.from({ length: next(9) }, () => 'abcd'[next(4)]);
      for (let turn = 0; turn < 3000; turn++) {
        const [base, mine, theirs] = [text(), text(), text()];
        for (const chunks of [threeWay(base, mine, theirs), twoWay(mine, theirs)]) {
          for (const [side, whole] of [['mine', mine], ['theirs', theirs]]) {
            const back = chunks.flatMap((chunk) => chunk[side]);
            if (back.join() !== whole.join()) return [base, mine, theirs, side, back].join(' | ');
          }
        }
        const all = (side) => new Proxy({}, { get: () => side });
        if (merged(threeWay(base, mine, base), all('mine')) !== mine.join('\\n')) return 'only mine changed';
        if (merged(threeWay(base, base, theirs), all('mine')) !== theirs.join('\\n')) return 'only theirs changed';
        if (merged(twoWay(mine, theirs), all('theirs')) !== theirs.join('\\n')) return 'all theirs';
      }
      return 'well';
    })
    """
    assert tab.run(script) == "well"


def test_nothing_is_wider_than_a_phone(device: Device, tab: Tab) -> None:
    memory = remember(device, "# Wide\n\n" + "x" * 300 + "\n\n```\n" + "y" * 300 + "\n```\n\n| a | b |\n|---|---|\n")
    conflicting(device, "Narrow " + "z" * 90)
    tab.window(390, 844)
    for route in (*ROUTES, f"#/memories/{memory}"):
        tab.go(route)
        tab.until("!!document.querySelector('main h1')")
        time.sleep(0.15)
        assert tab.run("document.documentElement.scrollWidth <= innerWidth"), route
    tab.click("a.back", "All memories")
    tab.until("document.querySelector('.side')?.offsetWidth > 0")
    tab.window(1280, 900)
    tab.go("#/conflicts")
    tab.click(".conflict button", "Keep mine")
    tab.sees("No open conflicts")


@pytest.mark.skipif(not os.environ.get("AXE_CORE"), reason="AXE_CORE names no axe.min.js")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_no_serious_fault(device: Device, tab: Tab, width: int, dark: bool) -> None:
    memory = remember(device, "# Headings\n\n## Second\n\n- a list\n\n`code` and https://example.org", tags=("one",))
    conflicting(device, "For axe")
    tab.window(width, 900, dark=dark)
    tab.run(Path(os.environ["AXE_CORE"]).read_text("utf-8") + ";1")
    found = {}
    for route in (*ROUTES, f"#/memories/{memory}", "#/?q=head"):
        tab.go(route)
        tab.until("!!document.querySelector('main h1')")
        time.sleep(0.4)
        faults = tab.run(
            "axe.run(document).then(result => result.violations"
            ".filter(each => ['serious', 'critical'].includes(each.impact)).map(each => each.id))"
        )
        if faults:
            found[route] = faults
    assert found == {}


def test_when_the_daemon_ends_the_page_says_so(tmp_path: Path, chrome: Browser) -> None:
    own, tab = Device(tmp_path), chrome.tab()
    with own.daemon():
        tab.open(own.run("dashboard")["url"])
        tab.until("document.querySelector('.chip')?.textContent.includes('step')")
        own.run("daemon", "stop")
        tab.sees("The daemon does not answer")
