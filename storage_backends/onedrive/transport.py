"""Requests to Graph: answers as status, headers and bytes; failures of the network as storage errors; the token
renewed once. Nothing is tried again here: whoever calls decides that.
"""

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from storage_backends.errors import StorageError, Throttled, Unreachable
from storage_backends.onedrive import faults
from storage_backends.onedrive.settings import Endpoint, is_loopback, origin_of
from storage_backends.onedrive.tokens import TokenSource

if TYPE_CHECKING:
    import httpx

    from storage_backends.onedrive.sdk import Sdk

_REDIRECTS = 3
_PAUSE = 10.0  # seconds, where the service names none


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. Header names are in lower case. `elsewhere`: it came from a host that a redirect named."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    elsewhere: bool = False

    @property
    def ok(self) -> bool:
        """A success."""
        return 200 <= self.status < 300

    def json(self) -> dict[str, Any]:
        """The object in the body. Raises: the error for a failed request, Unreachable for what is no JSON."""
        if 300 <= self.status < 400:
            raise faults.web_page(self.status)
        if not self.ok:
            raise self.error()
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            raise faults.web_page(self.status) from None
        if not isinstance(value, dict):
            raise faults.web_page(self.status)
        return value

    def error(self) -> StorageError:
        """What a failed request means."""
        return faults.error_of(self.status, self.headers, self.body)


class BrokenOff(Unreachable):
    """The connection ended before the whole answer was there."""


class Transport:
    """Requests to one Graph.

    Attributes:
        skew: seconds by which this machine's clock is ahead of the service's, from the last answer; None before.
        requests: how many were sent.
    """

    def __init__(self, endpoint: Endpoint, tokens: TokenSource, *, clock: Callable[[], float] = time.time) -> None:
        self.endpoint, self.tokens = endpoint, tokens
        self.skew: float | None = None
        self.requests = 0
        self._paused_until = 0.0
        self._clock = clock
        self._sdk: Sdk | None = None
        self._starting = anyio.Lock()

    async def aclose(self) -> None:
        """Close all connections."""
        if self._sdk is not None:
            sdk, self._sdk = self._sdk, None
            await sdk.aclose()
        self.tokens.close()

    def url(self, path: str) -> str:
        """The address of a path below Graph's base. `path` is percent-encoded already."""
        return f"{self.endpoint.url}{path}"

    def is_own(self, url: str) -> bool:
        """The address is Graph's; no other link is ever followed."""
        return origin_of(url) == self.endpoint.origin

    async def send(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> Answer:
        """One request; after a refused token once more with a fresh one.

        Raises: Unreachable (also when it is not known whether the service did what was asked), LoginRequired.
        """
        answer = await self._send_once(method, url, headers or {}, body)
        if answer.status == 401:
            await self.tokens.refresh()
            answer = await self._send_once(method, url, headers or {}, body)
        self.skew = faults.clock_skew_of(answer.headers, self._clock())
        if not answer.ok and isinstance(error := answer.error(), Throttled):
            self._paused_until = time.monotonic() + (error.retry_after or _PAUSE)
        return answer

    @property
    def pause_left(self) -> float:
        """Seconds for which the service asked to be left alone. Callers see to it; nothing waits here."""
        return max(self._paused_until - time.monotonic(), 0.0)

    async def fetch(self, url: str) -> Answer:
        """A GET that may be redirected to where the bytes are; no token goes there. Raises as `send`."""
        answer = await self.send("GET", url)
        for _ in range(_REDIRECTS):
            location = answer.headers.get("location", "")
            if answer.status not in (301, 302, 303, 307, 308) or not location:
                break
            scheme, host, _ = origin_of(location)
            if scheme != "https" and not (scheme == "http" and is_loopback(host)):
                raise Unreachable("OneDrive pointed to an address without encryption.")
            sdk = await self._start()
            answer = replace(await self._answer(sdk.download(location)), elsewhere=True)
        return answer

    async def _send_once(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        sdk = self._sdk or await self._start()
        return await self._answer(sdk.send(method, url, headers, body))

    async def _answer(self, response: "Awaitable[httpx.Response]") -> Answer:
        import httpx

        self.requests += 1
        try:
            arrived = await response
        except httpx.HTTPError as error:
            raise _network_error(error) from error
        return Answer(arrived.status_code, dict(arrived.headers), arrived.content)

    async def _start(self) -> "Sdk":
        async with self._starting:
            if self._sdk is None:
                self._sdk = await anyio.to_thread.run_sync(self._build)
            return self._sdk

    def _build(self) -> "Sdk":
        from storage_backends.onedrive.sdk import Sdk

        return Sdk(self.endpoint, self.tokens)


def _network_error(error: "httpx.HTTPError") -> Unreachable:
    text = f"{error} {error.__cause__ or ''}"
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return Unreachable(
            "The certificate of OneDrive is not trusted.",
            "Look at the clock of this machine; behind a company's proxy, name its certificates in SSL_CERT_FILE.",
        )
    name = type(error).__name__
    if name in ("RemoteProtocolError", "ReadError"):
        return BrokenOff(f"The connection to OneDrive broke off ({name}).")
    return Unreachable(f"OneDrive cannot be reached ({name}).", "Check the network.")
