"""Logging in and out on this device, and the state of it: what the commands `login`, `logout`, `status` call."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from storage_backends.errors import LoginRequired, PermanentError, Unreachable
from storage_backends.onedrive import token_cache
from storage_backends.onedrive.account import ACCOUNT_FILE, Account, read_account, write_account
from storage_backends.onedrive.identity import NO_CLIENT_ID_HINT, cause_of, credential, in_thread
from storage_backends.onedrive.settings import OneDriveSettings, endpoint_of

ROOT_FILE = "root.json"
_DEVICE_CODE_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """What a person has to do: open `address` on any machine and enter `code` before `expires`."""

    address: str
    code: str
    expires: datetime


@dataclass(frozen=True, slots=True)
class LoginState:
    """Whether this device is logged in, as far as its files tell.

    Attributes:
        state: "ok", or "needed".
        username: whose login it is; empty for a token from outside, or none.
        encrypted: the tokens are in the platform's keyring; None where there are none.
        message, hint: for people; empty when all is well.
    """

    state: Literal["ok", "needed"]
    username: str = ""
    encrypted: bool | None = None
    message: str = ""
    hint: str = ""


def has_browser(environ: Mapping[str, str] = os.environ) -> bool:
    """A browser can probably be opened on this machine, in front of the person."""
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return False
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def login_state(settings: OneDriveSettings, login_dir: Path, environ: Mapping[str, str]) -> LoginState:
    """The state of the login by this device's files alone: quick, and without the network."""
    endpoint = endpoint_of(environ)
    if endpoint.token:
        return LoginState("ok")
    hint = "Run `claude-memory login`."
    if not settings.client_id:
        return LoginState("needed", message="No app registration is set.", hint="See docs/onedrive.md.")
    account = read_account(login_dir)
    if account is None:
        return LoginState("needed", message="Nobody is logged in to OneDrive on this device.", hint=hint)
    if not account.serves(settings, endpoint):
        message = "The settings ask for another permission or app than the login was made for."
        return LoginState("needed", account.username, account.encrypted, message, hint)
    return LoginState("ok", account.username, account.encrypted)


async def login(
    settings: OneDriveSettings,
    login_dir: Path,
    environ: Mapping[str, str],
    prompt: Callable[[DeviceCode], None],
    *,
    browser: bool = False,
) -> LoginState:
    """Log in: by a code that the person enters on any machine, or in this machine's browser.

    Args:
        prompt: shows the code; called once, on the event loop. Not called with `browser`.

    Raises: PermanentError (no app registration, no keyring), LoginRequired (declined, too late, refused),
        Unreachable. A running daemon takes the new login by itself.
    """
    endpoint = endpoint_of(environ)
    if not settings.client_id:
        raise PermanentError("No app registration is set.", NO_CLIENT_ID_HINT)

    def prepare() -> tuple[Any, bool]:
        login_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        return token_cache.choose_persistence(login_dir, plain_allowed=settings.plain_token_cache)

    place, encrypted = await in_thread(prepare, 60)
    loop, scope = asyncio.get_running_loop(), endpoint.scope(settings.permission)

    def show(address: str, code: str, expires: datetime) -> None:
        loop.call_soon_threadsafe(prompt, DeviceCode(address, code, expires))

    def authenticate() -> Any:
        token_cache.mend(place)
        options: dict[str, Any] = {} if browser else {"prompt_callback": show}
        asker = credential(
            settings, endpoint, environ, cache=token_cache.token_cache(place), browser=browser, **options
        )
        with contextlib.closing(asker):
            return asker.authenticate(scopes=[scope], enable_cae=True)

    try:
        record = await in_thread(authenticate, _DEVICE_CODE_SECONDS + 60)
    except TimeoutError:
        raise LoginRequired("The login took too long.", "Run `claude-memory login` again.") from None
    except Exception as error:
        raise _login_error(error) from error
    if not (login_dir / token_cache.TOKENS_FILE).exists():
        raise PermanentError("The login could not be stored on this device.", "Look at the rights of its directory.")
    before = read_account(login_dir)
    if before is not None and before.username != record.username:
        (login_dir / ROOT_FILE).unlink(missing_ok=True)  # another account, another folder
    write_account(login_dir, Account(record.username, record.serialize(), settings.client_id, scope, encrypted))
    return LoginState("ok", record.username, encrypted)


def _login_error(error: Exception) -> LoginRequired | Unreachable:
    text = str(error)
    if "authorization_declined" in text:
        return LoginRequired("The login was declined.", "Run `claude-memory login` again.")
    if "Timed out" in text or "expired_token" in text or "AADSTS70020" in text:
        return LoginRequired("Nobody logged in in time.", "Run `claude-memory login` again.")
    cause = cause_of(error)
    return cause if isinstance(cause, LoginRequired | Unreachable) else LoginRequired(cause.message, cause.hint)


async def logout(login_dir: Path) -> None:
    """Forget the login of this device, and which folder it used. Nothing in OneDrive changes.

    The tokens are erased here; to end them at the service too, remove the app under
    https://account.live.com/consent/Manage (personal) or https://myapps.microsoft.com (work).
    """
    account = read_account(login_dir)
    (login_dir / ACCOUNT_FILE).unlink(missing_ok=True)
    (login_dir / ROOT_FILE).unlink(missing_ok=True)
    encrypted = account is not None and account.encrypted
    await in_thread(lambda: token_cache.erase(login_dir, encrypted=encrypted), 30)
