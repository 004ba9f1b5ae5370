"""Where the login's tokens lie: encrypted by the platform (Keychain, DPAPI, libsecret) in or for the login
directory; or, where that cannot be and the user said so, in a file that only the user can read."""

import contextlib
import json
import logging
import sys
from pathlib import Path
from typing import Any

from storage_backends.errors import PermanentError
from storage_backends.onedrive.private_file import write_private

TOKENS_FILE = "tokens"


def persistence(login_dir: Path, *, encrypted: bool) -> Any:
    """The place for the tokens of one device. Raises whatever the platform's keyring raises."""
    import msal_extensions

    location = str(login_dir / TOKENS_FILE)
    if not encrypted:
        return _plain_file(location)
    # The reasons for a missing keyring are logged by the library with a traceback; the caller tells them.
    logging.getLogger("msal_extensions").setLevel(logging.CRITICAL)
    if sys.platform == "darwin":
        return msal_extensions.KeychainPersistence(location, "claude-memory")
    return msal_extensions.build_encrypted_persistence(location)


def choose_persistence(login_dir: Path, *, plain_allowed: bool) -> tuple[Any, bool]:
    """The place for a new login's tokens, and whether it is encrypted.

    Raises: PermanentError where encryption is impossible and a plain file was not allowed.
    """
    try:
        place = persistence(login_dir, encrypted=True)
        with contextlib.suppress(_not_found()):
            place.load()
    except Exception as error:
        if not plain_allowed:
            raise PermanentError(
                "This machine cannot encrypt the login: it has no usable keyring.",
                "Set `plain_token_cache = true` in section [onedrive] to keep it in a file that only you can read,"
                " or install a keyring (libsecret with gnome-keyring).",
            ) from error
        return persistence(login_dir, encrypted=False), False
    return place, True


def token_cache(place: Any) -> Any:
    """MSAL's cache over a place; several processes may use it."""
    import msal_extensions

    return msal_extensions.PersistedTokenCache(place)


def mend(place: Any) -> None:
    """Empty the place when it cannot be read, so that a new login can be written."""
    try:
        json.loads(place.load())
    except _not_found():
        pass
    except Exception:  # noqa: BLE001 - damaged, or encrypted by another key
        place.save("{}")


def erase(login_dir: Path, *, encrypted: bool) -> None:
    """Remove all tokens."""
    if encrypted:
        with contextlib.suppress(Exception):  # without its keyring there is nothing left to use either
            persistence(login_dir, encrypted=True).save("{}")
    for name in (TOKENS_FILE, f"{TOKENS_FILE}.lockfile"):
        (login_dir / name).unlink(missing_ok=True)


def _not_found() -> type[Exception]:
    from msal_extensions.persistence import PersistenceNotFound

    return PersistenceNotFound  # type: ignore[no-any-return]


def _plain_file(location: str) -> Any:
    import msal_extensions

    class PrivateFile(msal_extensions.FilePersistence):  # type: ignore[misc]
        """Written whole or not at all: a login is not lost to a full disk or a crash."""

        def save(self, content: str) -> None:
            write_private(Path(location), content.encode())

    return PrivateFile(location)
