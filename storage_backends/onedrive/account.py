"""Who is logged in, as a file of the device. No token and no secret is in it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from storage_backends.onedrive.private_file import write_private
from storage_backends.onedrive.settings import Endpoint, OneDriveSettings
from storage_backends.onedrive.token_cache import TOKENS_FILE

ACCOUNT_FILE = "account.json"


@dataclass(frozen=True, slots=True)
class Account:
    """A login.

    Attributes:
        username: for people.
        record: azure-identity's AuthenticationRecord, serialised.
        client_id, scope: what it was made for; other settings need another login.
        encrypted: the tokens lie in the platform's keyring.
    """

    username: str
    record: str
    client_id: str
    scope: str
    encrypted: bool

    def serves(self, settings: OneDriveSettings, endpoint: Endpoint) -> bool:
        """The login is good for these settings."""
        return self.client_id == settings.client_id and self.scope == endpoint.scope(settings.permission)


def read_account(login_dir: Path) -> Account | None:
    """The login of this device; None when there is none, or none that can be read."""
    try:
        return Account(**json.loads((login_dir / ACCOUNT_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write_account(login_dir: Path, account: Account) -> None:
    """Note the login."""
    write_private(login_dir / ACCOUNT_FILE, json.dumps(asdict(account)).encode())


def fingerprint(login_dir: Path) -> tuple[object, ...]:
    """Changes whenever somebody logs in or out on this device, in whatever process."""
    marks: list[object] = []
    for name in (ACCOUNT_FILE, TOKENS_FILE):
        try:
            status = (login_dir / name).stat()
        except OSError:
            marks.append(None)
        else:
            marks += [status.st_mtime_ns, status.st_size, status.st_ino]
    return tuple(marks)
