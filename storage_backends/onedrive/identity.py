"""Tokens from azure-identity: never on the event loop, never with a prompt, and with the cause when there is none.

azure-identity and MSAL work synchronously, and block for seconds while the token service is away; so they run in a
thread that nobody has to wait for. What they raise says little by its type: a machine that boots offline looks
like a failed login. `cause_of` tells the two apart.
"""

import asyncio
import concurrent.futures
import contextlib
import json
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from storage_backends.errors import LoginRequired, StorageError, Unreachable
from storage_backends.onedrive.account import Account, fingerprint, read_account
from storage_backends.onedrive.settings import Endpoint, OneDriveSettings
from storage_backends.onedrive.token_cache import persistence, token_cache

T = TypeVar("T")

_PATIENCE = 40.0  # seconds for one token
_EARLY = 120.0  # seconds before its end that a token is not used any more
_ASK_AGAIN = 900.0  # seconds until a refused login is tried again without anybody having logged in

_PERSON_NEEDED = frozenset(("invalid_grant", "interaction_required", "consent_required", "login_required"))
_KNOWN_AUTHORITIES = ("login.microsoftonline.com", "login.microsoftonline.us", "login.chinacloudapi.cn")

# Numbers of the identity platform's errors that tell a person what to do about them.
_REASONS = {
    "50173": "The password was changed since the last login.",
    "50076": "Your organisation wants a second factor.",
    "50079": "Your organisation wants a second factor.",
    "65001": "The app was not given its permission yet.",
    "65005": "The app was not given its permission yet.",
    "70008": "The login was not used for a long time and has expired.",
    "700082": "The login was not used for a long time and has expired.",
    "700016": "The app is not known in this tenant: look at `client_id` and `tenant`.",
    "7000218": 'The app registration does not allow public clients: set "Allow public client flows" to Yes.',
    "50194": "The app registration belongs to one tenant: set `tenant` to it.",
    "9002346": 'The app registration is for personal accounts: set `tenant = "consumers"`.',
    "9002331": 'The app registration is for personal accounts: set `tenant = "consumers"`.',
}
HINT = "Run `claude-memory login`."
NO_CLIENT_ID_HINT = (
    "Register one (free, see docs/onedrive.md), set `client_id` under [onedrive] in config.toml, then log in."
)


async def in_thread(work: Callable[[], T], patience: float) -> T:
    """Run in a thread that neither the event loop nor the end of the program waits for.

    Raises: TimeoutError after `patience` seconds; the thread is left to itself.
    """
    future: concurrent.futures.Future[T] = concurrent.futures.Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            with contextlib.suppress(concurrent.futures.InvalidStateError):
                future.set_exception(error)
        else:
            with contextlib.suppress(concurrent.futures.InvalidStateError):
                future.set_result(result)

    threading.Thread(target=run, name="onedrive-login", daemon=True).start()
    return await asyncio.wait_for(asyncio.wrap_future(future), patience)


class IdentityTokens:
    """Tokens for one device's login. Follows logins and logouts of other processes."""

    def __init__(
        self,
        settings: OneDriveSettings,
        endpoint: Endpoint,
        login_dir: Path,
        environ: Mapping[str, str],
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings, self._endpoint, self._login_dir, self._environ = settings, endpoint, login_dir, dict(environ)
        self._clock, self._monotonic = clock, monotonic
        self._lock = asyncio.Lock()
        self._seen: tuple[object, ...] = ()
        self._account: Account | None = None
        self._credential: Any = None
        self._token, self._expires = "", 0.0
        self._refused: tuple[LoginRequired, float] | None = None

    async def token(self, claims: str | None = None) -> str:
        """A token. `claims` as in `TokenSource`. Raises: LoginRequired, Unreachable."""
        async with self._lock:
            account = self._follow_files()
            if self._token and not claims and self._expires - _EARLY > self._clock():
                return self._token
            if self._refused is not None and self._monotonic() < self._refused[1]:
                raise self._refused[0]
            return await self._fetch(account, claims)

    async def refresh(self) -> None:
        """Another token than the last one, from the token service. Raises: LoginRequired, Unreachable."""
        # A demand that only a token issued from now on can meet makes MSAL pass its cache by.
        demand = {"access_token": {"nbf": {"essential": True, "value": str(int(self._clock()))}}}
        await self.token(json.dumps(demand))

    def close(self) -> None:
        """Let go of connections."""
        if self._credential is not None:
            self._credential.close()
            self._credential = None

    def _follow_files(self) -> Account:
        """The login as it is in the files right now."""
        marks = fingerprint(self._login_dir)
        if marks != self._seen:
            account = read_account(self._login_dir)
            if account != self._account or self._refused is not None:
                self.close()
                self._token, self._refused = "", None
            self._seen, self._account = marks, account
        if not self._settings.client_id:
            raise LoginRequired(
                "No app registration is set.",
                NO_CLIENT_ID_HINT,
            )
        if self._account is None:
            raise LoginRequired("Nobody is logged in to OneDrive on this device.", HINT)
        if not self._account.serves(self._settings, self._endpoint):
            raise LoginRequired("The settings ask for another permission or app than the login was made for.", HINT)
        return self._account

    async def _fetch(self, account: Account, claims: str | None) -> str:
        try:
            self._token, self._expires = await in_thread(lambda: self._ask(account, claims), _PATIENCE)
        except TimeoutError:
            self._credential = None  # its thread may still be at it
            raise Unreachable("The login service does not answer.", "Check the network.") from None
        except Exception as error:
            # MSAL answers for a while from its memory of the failure, even when the service is back.
            self.close()
            cause = cause_of(error)
            if isinstance(cause, LoginRequired):
                self._refused = (cause, self._monotonic() + _ASK_AGAIN)
            raise cause from error
        self._refused, self._seen = None, fingerprint(self._login_dir)  # our own refresh rewrote the tokens
        return self._token

    def _ask(self, account: Account, claims: str | None) -> tuple[str, float]:
        if self._credential is None:
            self._credential = credential(
                self._settings,
                self._endpoint,
                self._environ,
                cache=token_cache(persistence(self._login_dir, encrypted=account.encrypted)),
                record=account.record,
            )
        found = self._credential.get_token(account.scope, claims=claims, enable_cae=True)
        return found.token, float(found.expires_on)


def credential(
    settings: OneDriveSettings,
    endpoint: Endpoint,
    environ: Mapping[str, str],
    *,
    cache: Any,
    record: str = "",
    browser: bool = False,
    **options: Any,
) -> Any:
    """An azure-identity credential of this app. With `record` it serves that login and never asks anybody."""
    from azure.identity import AuthenticationRecord, DeviceCodeCredential, InteractiveBrowserCredential

    for library in ("azure", "msal", "msal_extensions"):  # they log what fails, with the account's name in it
        logging.getLogger(library).setLevel(logging.CRITICAL)
    host = endpoint.authority.removeprefix("https://")
    kind = InteractiveBrowserCredential if browser else DeviceCodeCredential
    # The tenant as it was at login, not the one in the record: tokens are cached under it.
    options["tenant_id"] = settings.tenant
    if record:
        options["authentication_record"] = AuthenticationRecord.deserialize(record)
    else:
        options |= {"client_id": settings.client_id, "authority": endpoint.authority}
    # SSL_CERT_FILE is what httpx follows; the library under azure-identity has a variable of its own.
    if environ.get("SSL_CERT_FILE") and not environ.get("REQUESTS_CA_BUNDLE"):
        options["connection_verify"] = environ["SSL_CERT_FILE"]
    return kind(
        disable_automatic_authentication=True,
        disable_instance_discovery=host not in _KNOWN_AUTHORITIES,
        # Tokens with continuous access evaluation are kept apart from others: always ask for them, here and at login.
        _cae_cache=cache,
        retry_total=1,
        connection_timeout=10,
        read_timeout=20,
        **options,
    )


def cause_of(error: BaseException) -> StorageError:
    """Whether a failed token needs a person, or only time."""
    chain = _chain(error)
    numbers = [n for link in chain for n in re.findall(r"AADSTS(\d+)", str(link))]
    said = next((code for link in chain if (code := _oauth_error(link))), "")
    if any(_is_network(link) for link in chain) or (said and said not in _PERSON_NEEDED and not _is_setup(numbers)):
        return Unreachable("The login service cannot be reached right now.", "Check the network.")
    reason = next((_REASONS[number] for number in numbers if number in _REASONS), "")
    if not reason and any(isinstance(link, ValueError | OSError) for link in chain):
        reason = "The stored login cannot be read."
    return LoginRequired(f"OneDrive needs a new login. {reason}".strip(), HINT)


def _chain(error: BaseException) -> list[BaseException]:
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links:
        links.append(link)
        link = link.__cause__ or link.__context__
    return links


def _is_network(error: BaseException) -> bool:
    from azure.core.exceptions import ServiceRequestError, ServiceResponseError

    if isinstance(error, ServiceRequestError | ServiceResponseError | ConnectionError | TimeoutError):
        return True
    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(status, int) and (status >= 500 or status == 429):
        return True
    return type(error).__name__ in ("MsalServiceError", "ConnectionError", "SSLError", "Timeout", "ConnectTimeout")


def _is_setup(numbers: list[str]) -> bool:
    return any(number in _REASONS for number in numbers)


def _oauth_error(error: BaseException) -> str:
    """The `error` field of the token service's answer."""
    response = getattr(error, "response", None)
    try:
        return str(json.loads(response.text()).get("error", "")) if response is not None else ""
    except Exception:  # noqa: BLE001 - anything but such an answer
        return ""
