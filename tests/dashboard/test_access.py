"""Who gets in: only the person whose daemon it is, from the page of this server."""

import asyncio
import http.client
import socket
from pathlib import Path

import anyio.to_thread
import httpx
import pytest

from dashboard.access import SESSION_SECONDS, TOKEN_SECONDS, Access
from dashboard.server import listen
from tests.dashboard.pages import Pages, served, sign_in


async def test_a_token_opens_one_session_and_no_second(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        token = pages.dashboard.url().partition("#token=")[2]
        assert (await pages.web.post("/api/login", json={"token": token})).status_code == 200
        again = await pages.web.post("/api/login", json={"token": token})
        assert again.status_code == 401
        assert "claude-memory dashboard" in again.json()["error"]["hint"]
        assert "set-cookie" not in again.headers


async def test_a_wrong_token_opens_nothing(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        for token in ["", "x" * 43, "é", "null"]:
            pages.dashboard.url()
            assert (await pages.web.post("/api/login", json={"token": token})).status_code == 401


def test_a_token_is_short_lived_and_so_is_a_session_that_nobody_uses() -> None:
    time = 0.0
    access = Access(lambda: time)
    late = access.new_token()
    time = TOKEN_SECONDS + 1
    assert access.exchange(late) is None
    session = access.exchange(access.new_token())
    assert session is not None
    time += SESSION_SECONDS - 1
    assert access.admits(session.cookie, session.key)
    time += SESSION_SECONDS - 1
    assert access.admits(session.cookie, session.key)
    time += SESSION_SECONDS + 1
    assert not access.admits(session.cookie, session.key)


def test_the_secrets_of_two_sessions_do_not_mix() -> None:
    access = Access()
    one, other = access.exchange(access.new_token()), access.exchange(access.new_token())
    assert one is not None
    assert other is not None
    assert access.admits(one.cookie, one.key)
    assert not access.admits(one.cookie, other.key)
    assert not access.admits(other.cookie, "")
    assert not access.admits("", "")
    access.leave(one.cookie)
    assert not access.admits(one.cookie, one.key)
    assert access.admits(other.cookie, other.key)


def test_forgotten_tokens_and_sessions_are_bounded() -> None:
    access = Access()
    first = access.new_token()
    sessions = [access.exchange(access.new_token()) for _ in range(100)]
    for _ in range(20):
        last = access.new_token()
    assert access.exchange(first) is None
    assert access.exchange(last) is not None
    kept = [session for session in sessions if session and access.admits(session.cookie, session.key)]
    assert len(kept) == 31


async def test_without_cookie_or_without_key_nothing_is_told(tmp_path: Path) -> None:
    async with served(tmp_path) as pages, httpx.AsyncClient(base_url=pages.origin, trust_env=False) as stranger:
        memory = await pages.remember("A secret of mine")
        paths = ["memories", f"memories/{memory.id}", "filed", "trash", "conflicts", "graph", "growth", "documents",
                 "patterns", "status", "events", "no-such-thing"]  # fmt: skip
        key, cookie = pages.web.headers["x-memory-key"], dict(pages.web.cookies)
        for path in paths:
            for headers, cookies in (
                ({}, {}),
                ({"x-memory-key": key}, {}),
                ({}, cookie),
                ({"x-memory-key": "x"}, cookie),
            ):
                stranger.cookies = httpx.Cookies(cookies)
                answer = await stranger.get(f"/api/{path}", headers=headers)
                assert answer.status_code == 401, path
                assert "secret" not in answer.text


async def test_the_cookie_is_seen_by_no_script_and_sent_from_no_other_site(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        answer = await pages.web.post("/api/login", json={"token": pages.dashboard.url().partition("=")[2]})
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith(f"claude-memory-{pages.dashboard.port}=")
        assert {"HttpOnly", "SameSite=strict", "Path=/api"} <= set(cookie.split("; "))
        assert answer.headers["cache-control"] == "no-store"


async def test_signing_out_ends_the_session(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        await pages.send("POST", "/api/logout", {})
        await pages.get("/api/memories", 401)
        await sign_in(pages.web, pages.dashboard.url())
        await pages.get("/api/memories")


async def test_another_name_is_refused_on_every_route(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        for host in [
            "evil.example",
            "127.0.0.1",
            "127.0.0.1:1",
            "localhost.evil.example",
            "",
            "[::1]:{port}",
            "0.0.0.0:{port}",
        ]:
            for path in ("/", "/static/js/app.js", "/api/memories"):
                named = host.format(port=pages.dashboard.port)
                assert (await pages.web.get(path, headers={"Host": named})).status_code == 421
            local = f"localhost:{pages.dashboard.port}"
            assert (await pages.web.get("/", headers={"Host": local})).status_code == 200


async def test_another_origin_is_refused(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        for origin in [
            "https://evil.example",
            "null",
            "http://127.0.0.1",
            "http://127.0.0.1:1",
            "https://127.0.0.1:{port}",
            "",
        ]:
            headers = {"Origin": origin.format(port=pages.dashboard.port)}
            assert (await pages.web.get("/api/memories", headers=headers)).status_code == 403
            token = pages.dashboard.url().partition("#token=")[2]
            assert (await pages.web.post("/api/login", json={"token": token}, headers=headers)).status_code == 403
            # The token was not used up by the other site.
            own = {"Origin": pages.origin}
            assert (await pages.web.post("/api/login", json={"token": token}, headers=own)).status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_what_the_browser_says_to_come_from_elsewhere_is_refused(tmp_path: Path, site: str) -> None:
    async with served(tmp_path) as pages:
        assert (await pages.web.get("/api/memories", headers={"Sec-Fetch-Site": site})).status_code == 403


async def test_a_form_cannot_change_anything(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
            answer = await pages.web.post("/api/sync", content=b"{}", headers={"Content-Type": kind})
            assert answer.status_code == 415
        assert pages.daemon.rounds == 0


async def test_a_body_beyond_the_limit_is_not_read(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        for headers in ({"Content-Length": "9" * 10}, {"Content-Length": "9" * 40}, {"Transfer-Encoding": "chunked"}):
            answer = await anyio.to_thread.run_sync(raw, pages, "POST", "/api/sync", headers)
            assert answer in (400, 413)


async def test_no_path_leads_out_of_the_pages(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        for path in [
            "/static/../access.py",
            "/static/..%2faccess.py",
            "/static/%2e%2e/access.py",
            "/static//etc/passwd",
            "/..%2f..%2f..%2fetc/passwd",
            "/static/js",
            "/static/js/",
            "/static/vendor/LICENSES.txt",
            "/static/\\..\\access.py",
            "/static/js/../../server.py",
            "/static/%00",
            "//etc/passwd",
            "/index.html",
        ]:
            assert await anyio.to_thread.run_sync(raw, pages, "GET", path, {}) == 404


def raw(pages: Pages, method: str, path: str, headers: dict[str, str]) -> int:
    """The status of a request whose path nobody tidies."""
    connection = http.client.HTTPConnection("127.0.0.1", pages.dashboard.port or 0, timeout=30)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    sent = {"Host": f"127.0.0.1:{pages.dashboard.port}", "Content-Type": "application/json"}
    sent |= {"Cookie": "; ".join(f"{name}={value}" for name, value in pages.web.cookies.items())}
    sent |= {"x-memory-key": pages.web.headers["x-memory-key"], **headers}
    for name, value in sent.items():
        connection.putheader(name, value)
    connection.endheaders()
    try:
        return connection.getresponse().status
    finally:
        connection.close()


async def test_every_answer_carries_the_policy(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        for path in ("/", "/static/style.css", "/static/js/app.js", "/nothing", "/api/memories", "/api/nothing"):
            headers = (await pages.web.get(path)).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert "http" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert "server" not in headers


async def test_the_pages_name_no_other_host(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        page = (await pages.web.get("/")).text
        assert "http://" not in page
        assert "https://" not in page
        assert "<style" not in page
        assert "style=" not in page
        assert "onclick" not in page.lower()


async def test_it_listens_on_loopback_only(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        own = socket.gethostbyname(socket.gethostname())
        if own.startswith("127."):
            pytest.skip("this machine has no other address")
        with pytest.raises(OSError):
            socket.create_connection((own, pages.dashboard.port or 0), timeout=5).close()


async def test_answers_are_sent_without_waiting_for_a_receipt() -> None:
    """asyncio turns Nagle's algorithm off only where the socket says that it is TCP."""
    accepted: list[int] = []

    def served_by(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection: socket.socket = writer.get_extra_info("socket")
        accepted.append(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    with listen() as listening:
        server = await asyncio.start_server(served_by, sock=listening)
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        await reader.read()
        writer.close()
        server.close()
    assert accepted
    assert all(accepted)


async def test_an_unchanged_page_is_not_sent_again(tmp_path: Path) -> None:
    async with served(tmp_path) as pages:
        first = await pages.web.get("/static/js/app.js")
        assert first.headers["content-type"].startswith("text/javascript")
        again = await pages.web.get("/static/js/app.js", headers={"If-None-Match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
