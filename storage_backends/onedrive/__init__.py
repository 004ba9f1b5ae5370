"""OneDrive through Microsoft Graph. Importing this costs nothing: the SDK and azure-identity are loaded when used."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from storage_backends.onedrive.check_up import Finding, check_up
from storage_backends.onedrive.login import DeviceCode, LoginState, has_browser, login, login_state, logout
from storage_backends.onedrive.settings import OneDriveSettings, endpoint_of

if TYPE_CHECKING:
    from storage_backends.onedrive.backend import OneDriveStorage

__all__ = [
    "DeviceCode",
    "Finding",
    "LoginState",
    "OneDriveSettings",
    "check_up",
    "has_browser",
    "login",
    "login_state",
    "logout",
    "open_onedrive",
]


def open_onedrive(settings: OneDriveSettings, login_dir: Path, environ: Mapping[str, str]) -> "OneDriveStorage":
    """The storage that the settings describe.

    Args:
        login_dir: private directory of this device for the login and for where the root was found.
        environ: CLAUDE_MEMORY_GRAPH_URL, CLAUDE_MEMORY_GRAPH_TOKEN, AZURE_AUTHORITY_HOST and the
            variables for certificates are read.

    Raises: PermanentError for an address that cannot be used.
    """
    from storage_backends.onedrive.backend import OneDriveStorage
    from storage_backends.onedrive.identity import IdentityTokens
    from storage_backends.onedrive.tokens import GivenToken
    from storage_backends.onedrive.transport import Transport

    endpoint = endpoint_of(environ)
    if endpoint.token:
        tokens: GivenToken | IdentityTokens = GivenToken(endpoint.token)
    else:
        tokens = IdentityTokens(settings, endpoint, login_dir, environ)
    return OneDriveStorage(Transport(endpoint, tokens), settings, login_dir / "root.json")
