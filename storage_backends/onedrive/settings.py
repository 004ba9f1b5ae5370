"""What the OneDrive backend is told: plain settings, the addresses of the cloud, what may be asked for."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from storage_backends.errors import PermanentError

DEFAULT_GRAPH_URL = "https://graph.microsoft.com/v1.0"
DEFAULT_FOLDER = "Apps/ClaudeMemory"
APP_FOLDER, FILES = "app-folder", "files"

# Where people of each national cloud log in, by the host of its Graph.
_AUTHORITIES = {
    "graph.microsoft.com": "https://login.microsoftonline.com",
    "graph.microsoft.us": "https://login.microsoftonline.us",
    "dod-graph.microsoft.us": "https://login.microsoftonline.us",
    "microsoftgraph.chinacloudapi.cn": "https://login.chinacloudapi.cn",
}


@dataclass(frozen=True, slots=True)
class OneDriveSettings:
    """The section `onedrive` of the settings.

    Attributes:
        client_id: application id of the app registration; empty when there is none.
        tenant: "common", "consumers", "organizations" or a tenant's id.
        access: "app-folder" (only the app's own folder) or "files" (all files of the account).
        drive: id of another drive, such as a document library's; empty for the account's own.
        folder: path below that drive, or a sharing link; empty for the app folder.
        push: listen for notifications.
        plain_token_cache: where tokens cannot be encrypted, keep them in a file that only the user can read.
    """

    client_id: str = ""
    tenant: str = "common"
    access: str = APP_FOLDER
    drive: str = ""
    folder: str = ""
    push: bool = True
    plain_token_cache: bool = False

    @property
    def permission(self) -> str:
        """The one Graph permission this needs."""
        # Another drive, or a folder elsewhere in one's own, is out of reach for the app folder's permission.
        if self.drive or self.is_link:
            return "Files.ReadWrite.All"
        return "Files.ReadWrite" if self.access == FILES or self.folder else "Files.ReadWrite.AppFolder"

    @property
    def is_link(self) -> bool:
        """`folder` is a sharing link."""
        return self.folder.startswith(("https://", "http://"))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The addresses of one cloud.

    Attributes:
        url: base of Graph, without a slash at the end.
        authority: where people log in.
        token: a bearer token given from outside; empty when azure-identity logs in.
    """

    url: str
    authority: str
    token: str = ""

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port. Tokens go there and nowhere else."""
        return origin_of(self.url)

    @property
    def is_loopback(self) -> bool:
        """Graph is on this machine, as in tests."""
        return is_loopback(self.origin[1])

    def scope(self, permission: str) -> str:
        """A permission in the words of the login."""
        host = "graph.microsoft.com" if self.is_loopback else self.origin[1]
        return f"https://{host}/{permission}"


def endpoint_of(environ: Mapping[str, str]) -> Endpoint:
    """The addresses that the environment names, by default those of the public cloud.

    Raises: PermanentError for an address that would send the token in the clear.
    """
    url = environ.get("CLAUDE_MEMORY_GRAPH_URL", "").strip().rstrip("/") or DEFAULT_GRAPH_URL
    parts = urlsplit(url)
    if not parts.path:
        url += "/v1.0"
    secure = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname or ""))
    if not secure or not parts.hostname or parts.username is not None:
        raise PermanentError(
            "CLAUDE_MEMORY_GRAPH_URL must be an https address (http only on this machine itself).",
            f"Unset it to use {DEFAULT_GRAPH_URL}.",
        )
    # AZURE_AUTHORITY_HOST is azure-identity's own variable for sovereign clouds.
    authority = environ.get("AZURE_AUTHORITY_HOST", "").strip() or _AUTHORITIES.get(
        parts.hostname, "https://login.microsoftonline.com"
    )
    if "://" not in authority:
        authority = f"https://{authority}"
    return Endpoint(url, authority.rstrip("/"), environ.get("CLAUDE_MEMORY_GRAPH_TOKEN", "").strip())


def origin_of(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of an address; all empty for what is none, so that it equals no other."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "", "", 0
    return parts.scheme, (parts.hostname or "").lower(), parts.port or (443 if parts.scheme == "https" else 80)


def is_loopback(host: str) -> bool:
    """The host is this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
