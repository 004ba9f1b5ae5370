"""OneDrive through Microsoft Graph. Importing this costs nothing: the SDK and azure-identity are loaded when used."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from storage_backends.onedrive.settings import OneDriveSettings, endpoint_of

if TYPE_CHECKING:
    from storage_backends.base import StorageBackend

__all__ = ["OneDriveSettings", "open_onedrive"]


def open_onedrive(settings: OneDriveSettings, login_dir: Path, environ: Mapping[str, str]) -> "StorageBackend":
    """The storage that the settings describe.

    Args:
        login_dir: private directory of this device for the login and for where the root was found.
        environ: CLAUDE_MEMORY_GRAPH_URL, CLAUDE_MEMORY_GRAPH_TOKEN and AZURE_AUTHORITY_HOST are read.

    Raises: PermanentError for an address that cannot be used.
    """
    from storage_backends.onedrive.backend import OneDriveStorage
    from storage_backends.onedrive.tokens import GivenToken
    from storage_backends.onedrive.transport import Transport

    endpoint = endpoint_of(environ)
    tokens = GivenToken(endpoint.token)
    return OneDriveStorage(Transport(endpoint, tokens), settings, login_dir / "root.json")
