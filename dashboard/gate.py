"""What every request passes: Host, Origin, the session, the size of the body; and the headers of every answer."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard.access import Access

KEY_HEADER = "x-memory-key"
LOGIN_PATH = "/api/login"
MOST_BYTES = 4_000_000

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        # No text becomes markup anywhere, not even by a mistake of ours.
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request goes no further."""

    status: int
    title: str
    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Gate:
    """Lets through what comes from the pages of this server, opened by the person whose daemon it is."""

    app: ASGIApp
    access: Access
    port: int

    @property
    def cookie_name(self) -> str:
        """Cookies know no ports: each server has a name of its own."""
        return f"claude-memory-{self.port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = list(message.get("headers", ()))
                if scope["path"].startswith("/api/"):
                    given.append((b"cache-control", b"no-store"))
                message = {**message, "headers": [*given, *_HEADERS]}
            await send(message)

        refusal = self.refusal(scope)
        if refusal is not None:
            await _respond(with_headers, refusal)
            return
        await self.app(scope, receive, with_headers)

    def refusal(self, scope: Scope) -> Refusal | None:
        """Why this request is refused, or None."""
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        own = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        host = headers.get("host", "").lower()
        if host not in own:
            return Refusal(421, "Wrong address", "This server answers only under its own address.")
        # One name may not speak to the other: the page and what it asks have one origin.
        if headers.get("origin", f"http://{host}").lower() != f"http://{host}":
            return Refusal(403, "Other site", "Requests from other sites are refused.")
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return Refusal(403, "Other site", "Requests from other sites are refused.")
        if not _is_small(headers.get("content-length", "0")) or "transfer-encoding" in headers:
            return Refusal(413, "Too large", "This is more than can be taken.", "The limit is 4 MB.")
        if not scope["path"].startswith("/api/"):
            return None
        if scope["method"] != "GET" and headers.get("content-type", "").partition(";")[0] != "application/json":
            return Refusal(415, "Not JSON", "Requests that change something are JSON.")
        if scope["path"] == LOGIN_PATH:
            return None
        if not self.access.admits(self.cookie(headers), headers.get(KEY_HEADER, "")):
            return Refusal(401, "Not signed in", "This page is not signed in.", "Run `claude-memory dashboard`.")
        return None

    def cookie(self, headers: Mapping[str, str]) -> str:
        """The cookie of this server; empty when there is none."""
        try:
            jar = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return ""
        return jar[self.cookie_name].value if self.cookie_name in jar else ""


def _is_small(length: str) -> bool:
    return length.isascii() and length.isdigit() and len(length) < 12 and int(length) <= MOST_BYTES


async def _respond(send: Send, refusal: Refusal) -> None:
    error: dict[str, Any] = {"title": refusal.title, "message": refusal.message, "hint": refusal.hint}
    body = json.dumps({"error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
