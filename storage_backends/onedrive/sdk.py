"""The SDK as this program uses it: request adapter, bearer authentication with its one replay after a claims
challenge, telemetry. Importing this module loads the SDK: a third of a second, so it is done in a thread.

Answers are taken as they come from the wire. Reading a page of 200 items through the SDK's models takes 1,700 ms of
CPU, against 3 ms from bytes (`benchmarks/onedrive_pull.py`).
"""

import base64
from collections.abc import Mapping
from typing import Any

import httpx
from kiota_abstractions.authentication import (
    AccessTokenProvider,
    AllowedHostsValidator,
    BaseBearerTokenAuthenticationProvider,
)
from kiota_abstractions.method import Method
from kiota_abstractions.native_response_handler import NativeResponseHandler
from kiota_abstractions.request_information import RequestInformation
from kiota_http.middleware import UserAgentHandler
from kiota_http.middleware.options import ResponseHandlerOption
from msgraph.graph_request_adapter import GraphRequestAdapter
from msgraph.graph_request_adapter import options as sdk_options
from msgraph_core import GraphClientFactory
from msgraph_core.middleware import GraphTelemetryHandler
from msgraph_core.middleware.options import GraphTelemetryHandlerOption

from storage_backends.onedrive.settings import Endpoint, origin_of
from storage_backends.onedrive.tokens import TokenSource

# Seconds. Connecting fails fast (a laptop without network); an answer may take a while (delta after a big change).
_CONNECT, _ANSWER = 10.0, 60.0
_CONNECTIONS = 8
_USER_AGENT = "ISV|claude-onedrive-memory|claude-memory/0.1"

_AS_IT_IS = ResponseHandlerOption(NativeResponseHandler())


class Sdk:
    """Connections to one Graph, and to the hosts that it redirects to."""

    def __init__(self, endpoint: Endpoint, tokens: TokenSource) -> None:
        client = _client(endpoint)
        # The SDK wraps these, and its wrapper does not pass on that it is closed.
        self._inner = [client._transport, *(mount for mount in client._mounts.values() if mount is not None)]
        # Of the SDK's handlers those that would have something to do. Its retries do not fit ours (no uploads, pauses
        # slept through inside a call); redirects are followed where a refusal by the other host can be told apart.
        handlers = [UserAgentHandler(), GraphTelemetryHandler(sdk_options[GraphTelemetryHandlerOption.get_key()])]
        client = GraphClientFactory.create_with_custom_middleware(handlers, client=client)
        self._adapter = GraphRequestAdapter(BaseBearerTokenAuthenticationProvider(_Tokens(endpoint, tokens)), client)
        self._adapter.base_url = endpoint.url
        self._elsewhere = _client(endpoint)

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> httpx.Response:
        """One request to Graph, with the token. Raises: httpx.HTTPError, and what the token source raises."""
        request = RequestInformation(Method(method))
        request.url = url
        request.url_template = "{+baseurl}"
        for name, value in headers.items():
            request.headers.add(name, value)
        request.content = body
        request.add_request_options([_AS_IT_IS])
        adapter: Any = self._adapter  # its annotations deny what a native response handler returns
        response: httpx.Response = await adapter.send_primitive_async(request, "bytes", None)
        return response

    async def download(self, url: str) -> httpx.Response:
        """A GET to where Graph points, without a token. Raises: httpx.HTTPError."""
        return await self._elsewhere.get(url)

    async def aclose(self) -> None:
        """Close all connections."""
        for transport in self._inner:
            await transport.aclose()
        await self._elsewhere.aclose()


class _Tokens(AccessTokenProvider):  # type: ignore[misc]
    """Our tokens, for Graph's own origin and nothing else."""

    def __init__(self, endpoint: Endpoint, tokens: TokenSource) -> None:
        self._endpoint, self._tokens = endpoint, tokens

    def get_allowed_hosts_validator(self) -> AllowedHostsValidator:
        return AllowedHostsValidator([self._endpoint.origin[1]])

    async def get_authorization_token(
        self,
        uri: str,
        additional_authentication_context: dict[str, Any] = {},  # noqa: B006 - the SDK's signature
    ) -> str:
        if origin_of(uri) != self._endpoint.origin:
            return ""
        return await self._tokens.token(_claims(additional_authentication_context.get("claims")))


def _client(endpoint: Endpoint) -> httpx.AsyncClient:
    encrypted = endpoint.origin[0] == "https"
    return httpx.AsyncClient(
        timeout=httpx.Timeout(_ANSWER, connect=_CONNECT),
        limits=httpx.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS, keepalive_expiry=60),
        headers={"User-Agent": _USER_AGENT, "Accept": "application/json, */*"},
        # Plain http, which is loopback, needs neither certificates nor proxies; else the environment names them.
        verify=encrypted,
        trust_env=encrypted,
    )


def _claims(encoded: str | None) -> str | None:
    """The claims challenge as JSON; the header carries it in base64."""
    if not encoded:
        return None
    try:
        return base64.b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except ValueError:
        return encoded
