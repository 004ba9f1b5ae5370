"""HTTP to Graph through the SDK's request adapter: its authentication, its middleware, its one replay after a
claims challenge. Answers come back as status, headers and bytes: the SDK's models cost ten times the request.

The SDK's retries are off. Whoever calls decides what is tried again, and when.
"""

import base64
import json
import time
from collections.abc import Callable, Mapping
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

# Seconds. Connecting fails fast (a laptop without network); an answer may take a while (delta after a big change).
_CONNECT, _ANSWER = 10.0, 60.0
_REDIRECTS = 3
_PAUSE = 10.0  # seconds, where the service names none
_USER_AGENT = "ISV|claude-onedrive-memory|claude-memory/0.1"


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

    @property
    def is_web_page(self) -> bool:
        """HTML, where this program never asks for any."""
        return self.headers.get("content-type", "").lower().startswith("text/html")

    def json(self) -> dict[str, Any]:
        """The object in the body. Raises: the error for a failed request, Unreachable for what is no JSON."""
        if 300 <= self.status < 400:
            raise faults.web_page(self.status)
        if not self.ok:
            raise self.error()
        try:
            value = json.loads(self.body)
        except ValueError:
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
        self._adapter: Any = None  # the SDK's annotations deny what a native response handler returns
        self._connections: list[httpx.AsyncBaseTransport] = []
        self._starting = anyio.Lock()

    async def aclose(self) -> None:
        """Close all connections."""
        self._adapter = None
        for connections in self._connections:
            await connections.aclose()
        self._connections = []
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
            if origin_of(location)[0] != "https" and not is_loopback(origin_of(location)[1]):
                raise Unreachable("OneDrive pointed to an address without encryption.")
            answer = replace(await self._send_once("GET", location, {}, None), elsewhere=not self.is_own(location))
        return answer

    async def _send_once(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        adapter = self._adapter or await self._start()
        import httpx
        from kiota_abstractions.method import Method
        from kiota_abstractions.native_response_handler import NativeResponseHandler
        from kiota_abstractions.request_information import RequestInformation
        from kiota_http.middleware.options import ResponseHandlerOption

        request = RequestInformation(Method(method))
        request.url = url
        request.url_template = "{+baseurl}"
        for name, value in headers.items():
            request.headers.add(name, value)
        request.content = body
        request.add_request_options([ResponseHandlerOption(NativeResponseHandler())])
        self.requests += 1
        try:
            response = await adapter.send_primitive_async(request, "bytes", None)
        except httpx.HTTPError as error:
            raise _network_error(error) from error
        if not isinstance(response, httpx.Response):
            raise Unreachable("OneDrive gave no answer.")
        return Answer(response.status_code, dict(response.headers), response.content)

    async def _start(self) -> Any:
        async with self._starting:
            if self._adapter is None:
                # Importing the SDK takes a third of a second of CPU: not on the event loop.
                self._adapter, self._connections = await anyio.to_thread.run_sync(self._build)
            return self._adapter

    def _build(self) -> "tuple[Any, list[httpx.AsyncBaseTransport]]":
        import httpx
        from kiota_http.middleware.options import RedirectHandlerOption, RetryHandlerOption
        from msgraph.graph_request_adapter import GraphRequestAdapter
        from msgraph.graph_request_adapter import options as sdk_options
        from msgraph_core import GraphClientFactory  # type: ignore[import-untyped]

        # `trust_env` (the default) honours proxies and SSL_CERT_FILE. Plain http, on loopback only, needs no CA list.
        client = httpx.AsyncClient(
            timeout=httpx.Timeout(_ANSWER, connect=_CONNECT),
            limits=httpx.Limits(max_connections=10, max_keepalive_connections=10, keepalive_expiry=60),
            headers={"User-Agent": _USER_AGENT, "Accept": "application/json, */*"},
            verify=self.endpoint.origin[0] == "https",
            trust_env=not self.endpoint.is_loopback or self.endpoint.origin[0] == "https",
        )
        options = {
            **sdk_options,
            RetryHandlerOption.get_key(): RetryHandlerOption(should_retry=False),
            # Followed in `fetch`, where a refusal by the other host is told apart from one by Graph.
            RedirectHandlerOption.get_key(): RedirectHandlerOption(should_redirect=False),
        }
        # The SDK wraps these, and its wrapper does not pass on that it is closed.
        connections = [client._transport, *(mount for mount in client._mounts.values() if mount is not None)]
        client = GraphClientFactory.create_with_default_middleware(client=client, options=options)
        adapter = GraphRequestAdapter(_bearer(self.endpoint, self.tokens), client=client)
        adapter.base_url = self.endpoint.url
        return adapter, connections


def _bearer(endpoint: Endpoint, tokens: TokenSource) -> Any:
    """The SDK's bearer authentication over our tokens, which it gets for Graph's own origin and nothing else."""
    from kiota_abstractions.authentication import (
        AccessTokenProvider,
        AllowedHostsValidator,
        BaseBearerTokenAuthenticationProvider,
    )

    class Tokens(AccessTokenProvider):
        def get_allowed_hosts_validator(self) -> AllowedHostsValidator:
            return AllowedHostsValidator([endpoint.origin[1]])

        async def get_authorization_token(
            self,
            uri: str,
            additional_authentication_context: dict[str, Any] = {},  # noqa: B006 - the SDK's signature
        ) -> str:
            if origin_of(uri) != endpoint.origin:
                return ""
            return await tokens.token(_claims(additional_authentication_context.get("claims")))

    return BaseBearerTokenAuthenticationProvider(Tokens())


def _claims(encoded: str | None) -> str | None:
    """The claims challenge as JSON; the header carries it in base64."""
    if not encoded:
        return None
    try:
        return base64.b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except ValueError:
        return encoded


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
