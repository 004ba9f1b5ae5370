"""Addresses and permissions: tokens go to Graph and nowhere else, never in the clear."""

import subprocess
import sys

import pytest

from storage_backends.errors import PermanentError
from storage_backends.onedrive import OneDriveSettings
from storage_backends.onedrive.settings import Endpoint, endpoint_of
from storage_backends.onedrive.tokens import GivenToken
from storage_backends.onedrive.transport import Transport
from tests.graph_emulator import Emulator


@pytest.mark.parametrize(
    ("given", "url", "authority"),
    [
        ("", "https://graph.microsoft.com/v1.0", "https://login.microsoftonline.com"),
        ("https://graph.microsoft.us/v1.0/", "https://graph.microsoft.us/v1.0", "https://login.microsoftonline.us"),
        ("https://dod-graph.microsoft.us", "https://dod-graph.microsoft.us/v1.0", "https://login.microsoftonline.us"),
        (
            "https://microsoftgraph.chinacloudapi.cn/v1.0",
            "https://microsoftgraph.chinacloudapi.cn/v1.0",
            "https://login.chinacloudapi.cn",
        ),
        ("http://127.0.0.1:8080/v1.0", "http://127.0.0.1:8080/v1.0", "https://login.microsoftonline.com"),
        ("http://[::1]:80/v1.0", "http://[::1]:80/v1.0", "https://login.microsoftonline.com"),
        ("http://localhost:1", "http://localhost:1/v1.0", "https://login.microsoftonline.com"),
    ],
)
def test_clouds_have_their_own_addresses(given: str, url: str, authority: str) -> None:
    endpoint = endpoint_of({"CLAUDE_MEMORY_GRAPH_URL": given})
    assert (endpoint.url, endpoint.authority) == (url, authority)


@pytest.mark.parametrize(
    "given",
    [
        "http://graph.microsoft.com/v1.0",
        "http://127.0.0.1.example.org/v1.0",
        "http://localhost.example.org",
        "ftp://127.0.0.1/",
        "graph.microsoft.com",
        "https://user:secret@graph.microsoft.com/v1.0",
        "https://",
    ],
)
def test_addresses_without_encryption_are_refused_except_on_this_machine(given: str) -> None:
    with pytest.raises(PermanentError):
        endpoint_of({"CLAUDE_MEMORY_GRAPH_URL": given})


def test_only_the_permission_that_is_needed_is_asked_for() -> None:
    endpoint = endpoint_of({})
    asked = {
        OneDriveSettings(): "Files.ReadWrite.AppFolder",
        OneDriveSettings(access="files"): "Files.ReadWrite",
        OneDriveSettings(folder="Notes/Memory"): "Files.ReadWrite",
        OneDriveSettings(drive="b!x"): "Files.ReadWrite.All",
        OneDriveSettings(folder="https://1drv.ms/f/x"): "Files.ReadWrite.All",
    }
    for settings, permission in asked.items():
        assert endpoint.scope(settings.permission) == f"https://graph.microsoft.com/{permission}"
    other = endpoint_of({"CLAUDE_MEMORY_GRAPH_URL": "https://graph.microsoft.us"})
    assert other.scope("Files.ReadWrite") == "https://graph.microsoft.us/Files.ReadWrite"


async def test_no_other_host_port_or_scheme_ever_gets_the_token(emulator: Emulator) -> None:
    transport = Transport(Endpoint(emulator.url, "https://login.example", "secret"), GivenToken("secret"))
    try:
        for base in (emulator.origin, f"http://127.0.0.1:{emulator.content_port}", f"http://localhost:{emulator.port}"):
            with emulator.counting() as log:
                await transport.fetch(f"{base}/download/x/y")
            assert {entry.authorized for entry in log.entries} == {base == emulator.origin}
    finally:
        await transport.aclose()


def test_importing_the_backend_loads_neither_the_sdk_nor_azure_identity() -> None:
    code = (
        "import sys, storage_backends.onedrive; from storage_backends.onedrive import *;"
        "heavy = {'msgraph', 'msgraph_core', 'azure', 'msal', 'msal_extensions', 'kiota_http', 'kiota_abstractions',"
        " 'httpx', 'requests', 'websockets', 'cryptography', 'opentelemetry'};"
        "print(sorted(heavy & {name.split('.')[0] for name in sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_opening_the_backend_loads_them_neither() -> None:
    code = (
        "import sys; from pathlib import Path; from storage_backends.onedrive import *;"
        "open_onedrive(OneDriveSettings(client_id='x'), Path('/nonexistent'), {});"
        "print(sorted({'msgraph', 'azure', 'msal', 'kiota_http', 'httpx', 'websockets'}"
        " & {name.split('.')[0] for name in sys.modules}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
