"""The dashboard over 10,000 memories: `python -m benchmarks.dashboard_speed [COUNT]`.

How long an answer to a search takes while a query is typed letter by letter, over HTTP from a real daemon; and, where
Chromium is installed, when the page is first painted, when its list stands, and how long a keystroke takes to show.
"""

import http.client
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.devices import Device, cpu_milliseconds_so_far, percentile, report
from benchmarks.folder_scale import memories_in, write_store
from tests.dashboard.browser import Tab, browser, chromium

QUERIES = (
    "deploy cluster",
    "rollback of the migration",
    "flaky network test",
    "invoice customer",
    "note 4711",
    "zebra",
)
LOADS = 15
_NOTICE_LIST = """
new MutationObserver((_, observer) => {
  if (document.querySelector('.hits a')) { observer.disconnect(); window.listed = performance.now(); }
}).observe(document, { childList: true, subtree: true });
"""
_KEYSTROKE = """
(async () => {
  const field = document.querySelector('#search');
  const began = performance.now();
  field.value = %s;
  field.dispatchEvent(new Event('input', { bubbles: true }));
  while (document.querySelector('.hits').getAttribute('aria-busy') !== 'true') {
    await new Promise(requestAnimationFrame);
    if (performance.now() - began > 200) break;
  }
  while (document.querySelector('.hits').getAttribute('aria-busy') === 'true') await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  return performance.now() - began;
})()
"""


def typed() -> list[str]:
    """What stands in the field after each letter."""
    return [query[:length] for query in QUERIES for length in range(1, len(query) + 1)]


class Client:
    """One kept connection that is signed in."""

    def __init__(self, url: str) -> None:
        host = url.partition("://")[2].partition("/")[0]
        self._connection = http.client.HTTPConnection(host, timeout=60)
        self._headers = {"Content-Type": "application/json"}
        body = json.dumps({"token": url.partition("#token=")[2]})
        answer = self._answer("POST", "/api/login", body)
        self._headers |= {"x-memory-key": json.loads(answer[1])["key"], "Cookie": answer[0].partition(";")[0]}

    def get(self, path: str) -> float:
        """Milliseconds until the whole answer is there."""
        started = time.perf_counter()
        self._answer("GET", path)
        return 1000 * (time.perf_counter() - started)

    def _answer(self, method: str, path: str, body: str | None = None) -> tuple[str, bytes]:
        self._connection.request(method, path, body, self._headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {content[:200]!r}")
        return answer.getheader("set-cookie") or "", content


def over_http(url: str, pid: int) -> dict[str, float]:
    """How long answers take, and what they cost the daemon, which tells more on a machine that is busy."""
    client, figures = Client(url), {}
    steps = {
        "search while typing": [f"/api/memories?limit=20&q={text.replace(' ', '%20')}" for text in typed()],
        "list": ["/api/memories"] * 30,
        "filters": ["/api/filed"] * 10,
        "growth": ["/api/growth"] * 10,
    }
    for name, paths in steps.items():
        client.get(paths[0])
        spent = cpu_milliseconds_so_far(pid)
        times = [client.get(path) for path in paths]
        figures[f"{name} CPU ms"] = (cpu_milliseconds_so_far(pid) - spent) / len(paths)
        figures |= {f"{name} p50 ms": percentile(times, 0.5), f"{name} p95 ms": percentile(times, 0.95)}
    return figures


def in_a_browser(tab: Tab, url: str) -> dict[str, float]:
    """When things are seen."""
    tab.window(1280, 900)
    tab.call("Page.addScriptToEvaluateOnNewDocument", source=_NOTICE_LIST)
    tab.open(url)
    tab.until("window.listed")
    painted, listed = [], []
    for _ in range(LOADS):
        tab.call("Page.reload", ignoreCache=True)
        time.sleep(0.3)
        listed.append(float(tab.until("window.listed")))
        painted.append(float(tab.until("performance.getEntriesByName('first-contentful-paint')[0]?.startTime")))
    strokes = [float(tab.run(_KEYSTROKE % json.dumps(text))) for text in typed()]
    return {
        "first paint p50 ms": percentile(painted, 0.5),
        "first paint worst ms": max(painted),
        "list of memories shown p50 ms": percentile(listed, 0.5),
        "list of memories shown worst ms": max(listed),
        "keystroke to result p50 ms": percentile(strokes, 0.5),
        "keystroke to result p95 ms": percentile(strokes, 0.95),
    }


def measure(count: int) -> dict[str, Any]:
    """All figures."""
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "store"
        write_store(folder, count)
        device = Device.over_folder(Path(base), "home", folder)
        figures: dict[str, Any] = {"memories": count}
        with device.daemon() as daemon:
            while memories_in(device) < count:
                time.sleep(0.5)
            device.run("sync")
            figures |= over_http(device.run("dashboard")["url"], daemon.pid)
            if chromium() is not None:
                with browser() as running:
                    figures |= in_a_browser(running.tab(), device.run("dashboard")["url"])
        return {name: round(value, 1) if isinstance(value, float) else value for name, value in figures.items()}


def main() -> None:
    """Print the table and write the JSON."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    figures = measure(count)
    report("dashboard_speed", [(name, f"{value:g}") for name, value in figures.items()], figures)


if __name__ == "__main__":
    main()
