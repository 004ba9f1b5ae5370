"""`claude-memory dashboard` with a real daemon: one server, fresh addresses, and an end when the daemon ends."""

import http.client
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.processes import Device, eventually


@pytest.fixture
def device(tmp_path: Path) -> Device:
    return Device(tmp_path)


class Client:
    """A browser without a window."""

    def __init__(self, url: str) -> None:
        self.port = int(url.split(":")[2].partition("/")[0])
        self.headers = {"Content-Type": "application/json"}
        status, answer, cookie = self.ask("POST", "/api/login", {"token": url.partition("#token=")[2]})
        assert status == 200, answer
        self.headers |= {"x-memory-key": answer["key"], "Cookie": (cookie or "").partition(";")[0]}

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any, str | None]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), self.headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read()), answer.getheader("set-cookie")
        finally:
            connection.close()


def test_the_daemon_serves_the_pages_from_when_they_are_wanted_to_its_end(device: Device) -> None:
    with device.daemon():
        device.remember("A fact of this device")
        first, second = device.run("dashboard"), device.run("dashboard")
        assert first["opened"] is False
        assert first["port"] == second["port"]
        assert first["url"] != second["url"]
        client = Client(first["url"])
        assert [each["title"] for each in client.ask("GET", "/api/memories")[1]["memories"]] == [
            "A fact of this device"
        ]
        Client(second["url"])

        (memory,) = client.ask("GET", "/api/memories?q=fact")[1]["memories"]
        version = client.ask("GET", f"/api/memories/{memory['id']}")[1]["version"]
        status, saved, _ = client.ask(
            "PATCH", f"/api/memories/{memory['id']}", {"version": version, "content": "By hand, in a browser"}
        )
        assert (status, saved["title"]) == (200, "By hand, in a browser")
        # What is changed in the page reaches the storage as any other change.
        eventually(lambda: any("in a browser" in path.read_text() for path in device.folder.rglob("*.md")))

        found = client.ask("GET", "/api/status")[1]
        assert found["storage"]["root"] == str(device.folder)
        assert found["daemon"]["running"] is True
        assert client.ask("POST", "/api/sync", {})[0] == 200
        assert device.run("undo")["action"] == "update"
        assert device.titles() == ["A fact of this device"]
        device.run("daemon", "stop")
    with pytest.raises(OSError):
        Client(first["url"])


def test_without_a_daemon_one_is_started_that_lives_as_long_as_somebody_looks(device: Device) -> None:
    device.environment["CLAUDE_MEMORY_DAEMON_IDLE_EXIT_MINUTES"] = "0.03"
    try:
        client = Client(device.run("dashboard")["url"])
        connection = http.client.HTTPConnection("127.0.0.1", client.port, timeout=60)
        connection.request("GET", "/api/events", headers=client.headers)
        stream = connection.getresponse()
        assert device.status()["auto_started"] is True
        pid = device.pid()
        until = time.monotonic() + 4  # longer than a daemon without clients lives
        while time.monotonic() < until:
            device.remember("Something happens")
            while not (line := stream.readline()).startswith(b"event: changed"):
                assert line, "the daemon ended"
        assert device.pid() == pid
        connection.close()
        eventually(lambda: device.pid() is None, "the page is closed, and the daemon ends")
    finally:
        device.end()
