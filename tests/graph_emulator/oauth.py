"""The identity platform: discovery, device code, authorization code, refresh tokens, and their failures."""

import base64
import json
import random
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from tests.graph_emulator.clock import Clock
from tests.graph_emulator.drive import Refused
from tests.graph_emulator.http_server import Request, Response

TENANT = "9188040d-6c67-4c5b-b112-36a304b66dad"  # the tenant of every personal account
USER = "emulated@example.com"


def _segment(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@dataclass
class Grant:
    """One device code in progress. `state`: pending, approved, declined."""

    client_id: str
    scope: str
    user_code: str
    expires: float
    state: str = "pending"


@dataclass
class Access:
    """An access token that was given out."""

    expires: float
    scope: str
    cae: bool


@dataclass
class OAuth:
    """Signs in one user.

    Attributes:
        auto_approve: device codes are approved at once, as if the person were very fast.
        token_lifetime: seconds.
        failure: OAuth error of the next refreshes, such as ("invalid_grant", "AADSTS700082: …"); "" for none.
        down: the token service answers 503.
        unattended_prompts: device codes that nobody asked for show here as a count of /devicecode requests.
    """

    clock: Clock
    rng: random.Random
    fixed_tokens: set[str] = field(default_factory=set)
    refresh_tokens: set[str] = field(default_factory=set)
    access: dict[str, Access] = field(default_factory=dict)
    grants: dict[str, Grant] = field(default_factory=dict)
    auto_approve: bool = True
    token_lifetime: float = 3600.0
    failure: tuple[str, str] | None = None
    down: bool = False
    unattended_prompts: int = 0
    claims_seen: list[str] = field(default_factory=list)
    _codes: dict[str, tuple[str, str, str]] = field(default_factory=dict)

    # --- for tests ---------------------------------------------------------------------------------

    def approve(self, user_code: str, state: str = "approved") -> None:
        """The person enters the code."""
        for grant in self.grants.values():
            if grant.user_code == user_code:
                grant.state = state

    def revoke(self) -> None:
        """Password changed: no token is worth anything any more."""
        self.access.clear()
        self.refresh_tokens.clear()

    def expire_access(self) -> None:
        """Every access token is too old; refresh tokens stay."""
        self.access.clear()

    # --- for Graph -----------------------------------------------------------------------------------

    def scope_of(self, header: str) -> str:
        """The scope of the token in an Authorization header; 401 when it is not valid."""
        scheme, _, token = header.partition(" ")
        if scheme.lower() == "bearer" and token in self.fixed_tokens:
            return "Files.ReadWrite"
        known = self.access.get(token)
        if scheme.lower() != "bearer" or known is None or known.expires <= self.clock.now():
            raise Refused(401, "InvalidAuthenticationToken", "Access token has expired or is not yet valid.")
        return known.scope

    # --- HTTP -----------------------------------------------------------------------------------------

    def serve(self, request: Request) -> Response:
        """Any request to the login host."""
        base = f"{request.scheme}://{request.host}"
        path = request.path
        if "/discovery/instance" in path:
            return Response.of_json({
                "tenant_discovery_endpoint": f"{base}/common/v2.0/.well-known/openid-configuration",
                "api-version": "1.1",
                "metadata": [{"preferred_network": request.host, "preferred_cache": request.host,
                              "aliases": [request.host]}],
            })  # fmt: skip
        if "/.well-known/openid-configuration" in path:
            tenant = path.strip("/").split("/")[0]
            return Response.of_json({
                "issuer": f"{base}/{TENANT}/v2.0",
                "authorization_endpoint": f"{base}/{tenant}/oauth2/v2.0/authorize",
                "token_endpoint": f"{base}/{tenant}/oauth2/v2.0/token",
                "device_authorization_endpoint": f"{base}/{tenant}/oauth2/v2.0/devicecode",
                "jwks_uri": f"{base}/common/discovery/v2.0/keys",
                "response_types_supported": ["code"],
            })  # fmt: skip
        if self.down:
            return Response(503, b"<html>busy</html>", {"Content-Type": "text/html"})
        form = {k: v[-1] for k, v in parse_qs(request.body.decode(), keep_blank_values=True).items()}
        if path.endswith("/devicecode"):
            return self._device_code(form)
        if path.endswith("/authorize"):
            return self._authorize(request)
        if path.endswith("/token"):
            return self._token(form, base)
        return Response(200, b"", {"Content-Type": "text/html"})

    def _device_code(self, form: dict[str, str]) -> Response:
        self.unattended_prompts += 1
        code, user_code = f"dc-{self.rng.getrandbits(64):x}", f"C{self.rng.getrandbits(28):07X}"
        state = "approved" if self.auto_approve else "pending"
        self.grants[code] = Grant(form.get("client_id", ""), form.get("scope", ""), user_code,
                                  self.clock.now() + 900, state)  # fmt: skip
        return Response.of_json({
            "device_code": code, "user_code": user_code, "verification_uri": "https://www.microsoft.com/link",
            "expires_in": 900, "interval": 1, "message": f"Enter {user_code}",
        })  # fmt: skip

    def _authorize(self, request: Request) -> Response:
        query = {k: v[-1] for k, v in parse_qs(urlsplit(request.target).query).items()}
        code = f"ac-{self.rng.getrandbits(64):x}"
        self._codes[code] = (query.get("client_id", ""), query.get("scope", ""), query.get("nonce", ""))
        # azure-identity takes the answer by POST or GET; a redirect is a GET.
        location = f"{query['redirect_uri']}?code={code}&state={quote(query.get('state', ''))}"
        return Response(302, b"", {"Location": location})

    def _token(self, form: dict[str, str], base: str) -> Response:
        grant_type, client_id, scope = form.get("grant_type", ""), form.get("client_id", ""), form.get("scope", "")
        nonce = ""
        if form.get("claims"):
            self.claims_seen.append(form["claims"])
        if grant_type == "refresh_token":
            if self.failure:
                return self._refuse(*self.failure)
            if form.get("refresh_token") not in self.refresh_tokens:
                return self._refuse("invalid_grant", "AADSTS700082: The refresh token has expired.")
        elif grant_type.endswith("device_code"):
            grant = self.grants.get(form.get("device_code", ""))
            if grant is None or grant.expires < self.clock.now():
                return self._refuse("expired_token", "AADSTS70020: The code has expired.")
            if grant.state != "approved":
                error = "authorization_pending" if grant.state == "pending" else "authorization_declined"
                return self._refuse(error, "AADSTS70016: pending")
            client_id, scope = grant.client_id, grant.scope
        elif grant_type == "authorization_code":
            if form.get("code") not in self._codes:
                return self._refuse("invalid_grant", "AADSTS70000: The code is not valid.")
            client_id, scope, nonce = self._codes.pop(form["code"])
        else:
            return self._refuse("unsupported_grant_type", "AADSTS70003")
        return self._tokens(client_id, scope, base, nonce, cae="CP1" in form.get("claims", ""))

    def _refuse(self, error: str, description: str) -> Response:
        return Response.of_json({"error": error, "error_description": description, "error_codes": [0]}, 400)

    def _tokens(self, client_id: str, scope: str, base: str, nonce: str, *, cae: bool) -> Response:
        access, refresh = f"at-{self.rng.getrandbits(96):x}", f"rt-{self.rng.getrandbits(96):x}"
        now = self.clock.now()
        self.access[access] = Access(now + self.token_lifetime, scope, cae)
        self.refresh_tokens.add(refresh)  # using one does not revoke it, as on the real service
        identity = {
            "aud": client_id, "iss": f"{base}/{TENANT}/v2.0", "iat": int(now), "nbf": int(now),
            "exp": int(now) + 3600, "sub": "subject", "tid": TENANT, "oid": "user", "preferred_username": USER,
            "nonce": nonce,
        }  # fmt: skip
        return Response.of_json({
            "token_type": "Bearer", "scope": scope, "expires_in": int(self.token_lifetime),
            "ext_expires_in": int(self.token_lifetime), "access_token": access, "refresh_token": refresh,
            "id_token": f"{_segment({'alg': 'none', 'typ': 'JWT'})}.{_segment(identity)}.c2ln",
            "client_info": _segment({"uid": "user", "utid": TENANT}),
        })  # fmt: skip
