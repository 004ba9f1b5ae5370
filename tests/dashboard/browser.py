"""A real browser, driven over its own protocol; nothing but Chromium itself is needed."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

PATIENCE = 30.0


def chromium() -> str | None:
    """The program, or None. `CHROMIUM` names another one."""
    names = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if name and (found := shutil.which(name))), None)


class Tab:
    """One page of the browser."""

    def __init__(self, line: ClientConnection, session: str) -> None:
        self._line = line
        self._session = session
        self._number = 0
        self.events: list[dict[str, Any]] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command and its result; events that come meanwhile are kept."""
        self._number += 1
        asked = {"id": self._number, "sessionId": self._session, "method": method, "params": parameters}
        self._line.send(json.dumps(asked))
        while True:
            message = json.loads(self._line.recv(timeout=PATIENCE))
            if message.get("sessionId") != self._session:
                continue
            if message.get("id") == self._number:
                assert "error" not in message, (method, message["error"])
                result: dict[str, Any] = message["result"]
                return result
            self.events.append(message)

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression; of a promise, what it comes to."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, script: str) -> Any:
        """The first true value of an expression; while a page is being loaded there is none."""
        deadline = time.monotonic() + PATIENCE
        while True:
            with suppress(AssertionError):
                if value := self.run(script):
                    return value
            assert time.monotonic() < deadline, f"never: {script}\n{self.run('document.body?.innerText')}"
            time.sleep(0.03)

    def sees(self, text: str) -> None:
        """Wait until the page shows this text."""
        self.until(f"document.body.innerText.includes({json.dumps(text)})")

    def open(self, url: str) -> None:
        """Go there."""
        self.call("Page.navigate", url=url)

    def go(self, route: str) -> None:
        """Go to another page of the application."""
        self.run(f"location.hash = {json.dumps(route)}")

    def click(self, selector: str, text: str = "") -> None:
        """Click the first such element that holds this text, once it is there."""
        all_found = f"[...document.querySelectorAll({json.dumps(selector)})]"
        found = f"{all_found}.find(element => element.textContent.includes({json.dumps(text)}))"
        self.until(f"!!{found}")
        self.run(f"{found}.click()")

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.call("Input.insertText", text=text)

    def press(self, key: str, *, code: int = 0, modifiers: int = 0) -> None:
        """Press one key. `modifiers`: 2 is Ctrl."""
        text = {"text": {"Enter": "\r"}.get(key, key)} if (len(key) == 1 or key == "Enter") and not modifiers else {}
        facts = {"key": key, "windowsVirtualKeyCode": code or ord(key[0].upper()), "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown", **facts, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **facts)

    def window(self, width: int, height: int, *, dark: bool = False) -> None:
        """The size of the view, and its colours."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 700
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path: Path) -> None:
        """A PNG of what is seen."""
        path.write_bytes(b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def complaints(self) -> list[str]:
        """What went wrong in the page so far: errors of scripts, of the console, of the policy."""
        self.run("1")
        found = []
        for event in self.events:
            if event["method"] == "Runtime.exceptionThrown":
                found.append(str(event["params"]["exceptionDetails"]))
            elif event["method"] == "Log.entryAdded":
                entry = event["params"]["entry"]
                # A refusal (409 …) is an answer as well; what the page makes of it is looked at otherwise.
                if entry["level"] in ("error", "warning") and entry["source"] != "network":
                    found.append(str(entry))
            elif event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "warning"):
                found.append(str(event["params"]["args"]))
        return found


class Browser:
    """A running Chromium."""

    def __init__(self, line: ClientConnection) -> None:
        self._line = line
        self._number = 0

    def tab(self) -> Tab:
        """A new tab that shares nothing with the others: no cookie, no storage."""
        context = self._ask("Target.createBrowserContext")["browserContextId"]
        target = self._ask("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        return Tab(self._line, self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])

    def _ask(self, method: str, **parameters: Any) -> Any:
        self._number -= 1
        self._line.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while (message := json.loads(self._line.recv(timeout=PATIENCE))).get("id") != self._number:
            pass
        return message["result"]


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser of its own; it ends with the block."""
    program = chromium()
    assert program is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        arguments = [
            program, "--headless=new", "--remote-debugging-port=0", f"--user-data-dir={profile}", "--no-first-run",
            "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server",
            "--no-sandbox",  # root and some systems allow none; these are our own pages
            "about:blank",
        ]  # fmt: skip
        process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with connect(_address(Path(profile), process), max_size=None, open_timeout=PATIENCE, proxy=None) as line:
                yield Browser(line)
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()


def _address(profile: Path, process: "subprocess.Popen[bytes]") -> str:
    file, deadline = profile / "DevToolsActivePort", time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(FileNotFoundError):
            lines = file.read_text().split()
            if len(lines) == 2:
                return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        time.sleep(0.03)
    raise AssertionError("the browser does not start")
