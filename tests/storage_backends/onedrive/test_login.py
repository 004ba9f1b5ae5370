"""Logging in with the real azure-identity, against the emulator's login service over TLS."""

import json
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from storage_backends.errors import LoginRequired, PermanentError, StorageError, Unreachable
from storage_backends.onedrive import (
    DeviceCode,
    OneDriveSettings,
    identity,
    login,
    login_state,
    logout,
    open_onedrive,
)
from storage_backends.onedrive.backend import OneDriveStorage
from tests.graph_emulator import Account, Emulator
from tests.graph_emulator.certificate import loopback_tls

CLIENT = "11111111-2222-3333-4444-555555555555"
SETTINGS = OneDriveSettings(client_id=CLIENT, tenant="consumers", push=False, plain_token_cache=True)


@pytest.fixture
def emulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    context, authority = loopback_tls(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    with Emulator(Account.PERSONAL, tls=context) as running:
        yield running


@pytest.fixture
def environ(emulator: Emulator) -> dict[str, str]:
    return {
        "CLAUDE_MEMORY_GRAPH_URL": emulator.url,
        "AZURE_AUTHORITY_HOST": emulator.origin,
        "SSL_CERT_FILE": os.environ["SSL_CERT_FILE"],
    }


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home" / "login"


async def log_in(home: Path, environ: dict[str, str], settings: OneDriveSettings = SETTINGS) -> list[DeviceCode]:
    shown: list[DeviceCode] = []
    state = await login(settings, home, environ, shown.append)
    assert (state.state, state.username, state.encrypted) == ("ok", "emulated@example.com", False)
    return shown


async def works(storage: OneDriveStorage) -> bool:
    await storage.changes(None)
    return True


async def test_a_device_code_is_shown_once_and_the_storage_works_from_then_on(
    emulator: Emulator, environ: dict[str, str], home: Path
) -> None:
    shown = await log_in(home, environ)
    assert [(code.address, bool(code.code)) for code in shown] == [("https://www.microsoft.com/link", True)]
    async with open_onedrive(SETTINGS, home, environ) as storage:
        assert await works(storage)
        item = await storage.create("a.md", b"x")
        assert (await storage.read(item.item_id)).data == b"x"
    assert emulator.oauth.unattended_prompts == 1


async def test_a_restarted_process_needs_no_person_and_no_token_service_while_its_token_lasts(
    emulator: Emulator, environ: dict[str, str], home: Path
) -> None:
    await log_in(home, environ)
    emulator.log.clear()
    async with open_onedrive(SETTINGS, home, environ) as storage:
        assert await works(storage)
    assert emulator.log.counts["token"] == 0
    assert emulator.log.counts["devicecode"] == 0


async def test_an_expired_token_is_renewed_in_silence(emulator: Emulator, environ: dict[str, str], home: Path) -> None:
    await log_in(home, environ)
    async with open_onedrive(SETTINGS, home, environ) as storage:
        assert await works(storage)
        emulator.oauth.expire_access()  # the service refuses what the client believes to be good
        emulator.log.clear()
        assert await works(storage)
        assert emulator.log.counts["token"] == 1
        emulator.log.clear()
        assert await works(storage)
        assert emulator.log.counts["token"] == 0
    async with open_onedrive(SETTINGS, home, environ) as restarted:
        assert await works(restarted)


async def test_a_claims_challenge_is_answered_with_a_token_that_meets_it(
    emulator: Emulator, environ: dict[str, str], home: Path
) -> None:
    await log_in(home, environ)
    challenge = 'Bearer realm="", error="insufficient_claims", claims="eyJhY2Nlc3NfdG9rZW4iOnsibmJmIjp7fX19"'
    async with open_onedrive(SETTINGS, home, environ) as storage:
        assert await works(storage)
        emulator.fault(operations=("delta",), status=401, headers={"WWW-Authenticate": challenge})
        assert await works(storage)
    assert any('"nbf"' in claims for claims in emulator.oauth.claims_seen)


async def test_a_revoked_login_is_told_and_nobody_is_prompted(
    emulator: Emulator, environ: dict[str, str], home: Path
) -> None:
    await log_in(home, environ)
    async with open_onedrive(SETTINGS, home, environ) as storage:
        assert await works(storage)
        emulator.oauth.revoke()
        with pytest.raises(LoginRequired, match="expired"):
            await works(storage)
        emulator.log.clear()
        for _ in range(3):  # and the token service is left alone
            with pytest.raises(LoginRequired):
                await works(storage)
        assert emulator.log.counts["token"] == 0
        assert emulator.oauth.unattended_prompts == 1


async def test_a_new_login_is_taken_without_a_restart(emulator: Emulator, environ: dict[str, str], home: Path) -> None:
    async with open_onedrive(SETTINGS, home, environ) as storage:
        with pytest.raises(LoginRequired, match="Nobody is logged in"):
            await works(storage)
        await log_in(home, environ)
        assert await works(storage)
        emulator.oauth.revoke()
        with pytest.raises(LoginRequired):
            await works(storage)
        await log_in(home, environ)
        assert await works(storage)


async def test_logging_out_leaves_nothing_behind_and_stops_a_running_storage(
    emulator: Emulator, environ: dict[str, str], home: Path
) -> None:
    await log_in(home, environ)
    async with open_onedrive(SETTINGS, home, environ) as storage:
        assert await works(storage)
        await logout(home)
        with pytest.raises(LoginRequired):
            await works(storage)
    assert list(home.iterdir()) == []
    assert login_state(SETTINGS, home, environ).state == "needed"


async def test_files_of_the_login_are_private_and_the_account_file_holds_no_secret(
    environ: dict[str, str], home: Path
) -> None:
    await log_in(home, environ)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    for file in home.iterdir():
        if file.suffix != ".lockfile":
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert "rt-" in (home / "tokens").read_text()
    account = (home / "account.json").read_text()
    assert "rt-" not in account
    assert "at-" not in account.replace("format-", "")


async def test_where_tokens_cannot_be_encrypted_a_plain_file_needs_the_users_word(
    emulator: Emulator, environ: dict[str, str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    refuse = OneDriveSettings(client_id=CLIENT, tenant="consumers")
    with pytest.raises(PermanentError, match="keyring") as caught:
        await login(refuse, home, environ, lambda code: None)
    assert "plain_token_cache" in caught.value.hint
    assert emulator.oauth.unattended_prompts == 0
    assert list(home.iterdir()) == []


async def test_without_an_app_registration_the_way_to_one_is_told(environ: dict[str, str], home: Path) -> None:
    bare = OneDriveSettings()
    with pytest.raises(PermanentError, match="app registration"):
        await login(bare, home, environ, lambda code: None)
    assert login_state(bare, home, environ).state == "needed"
    async with open_onedrive(bare, home, environ) as storage:
        with pytest.raises(LoginRequired, match="app registration"):
            await storage.scope()


async def test_a_token_service_that_is_down_is_no_reason_to_log_in(
    emulator: Emulator, environ: dict[str, str], home: Path
) -> None:
    await log_in(home, environ)
    emulator.oauth.expire_access()
    emulator.oauth.down = True
    async with open_onedrive(SETTINGS, home, environ) as storage:
        with pytest.raises(Unreachable):
            await works(storage)
        emulator.oauth.down = False
        with anyio.fail_after(30):
            while True:
                try:
                    await works(storage)
                    break
                except Unreachable:  # MSAL answers from memory for some seconds
                    await anyio.sleep(0.3)


async def test_a_machine_that_boots_offline_is_offline_and_not_logged_out(
    emulator: Emulator, environ: dict[str, str], home: Path
) -> None:
    await log_in(home, environ)
    away = {**environ, "CLAUDE_MEMORY_GRAPH_URL": "https://127.0.0.1:9", "AZURE_AUTHORITY_HOST": "https://127.0.0.1:9"}
    account = json.loads((home / "account.json").read_text())
    record = json.loads(account["record"])
    record["authority"] = "127.0.0.1:9"
    (home / "account.json").write_text(json.dumps({**account, "record": json.dumps(record)}))
    async with open_onedrive(SETTINGS, home, away) as storage:
        with pytest.raises(Unreachable):
            await storage.scope()
    assert login_state(SETTINGS, home, away).state == "ok"


async def test_a_damaged_token_file_asks_for_a_login_which_mends_it(environ: dict[str, str], home: Path) -> None:
    await log_in(home, environ)
    (home / "tokens").write_text("{ not json")
    async with open_onedrive(SETTINGS, home, environ) as storage:
        with pytest.raises(LoginRequired):
            await works(storage)
        await log_in(home, environ)
        assert await works(storage)


async def test_a_wider_permission_in_the_settings_asks_for_a_new_login(environ: dict[str, str], home: Path) -> None:
    await log_in(home, environ)
    wider = OneDriveSettings(client_id=CLIENT, access="files", push=False, plain_token_cache=True)
    assert login_state(wider, home, environ).state == "needed"
    async with open_onedrive(wider, home, environ) as storage:
        with pytest.raises(LoginRequired, match="another permission"):
            await works(storage)
        await log_in(home, environ, wider)
        assert await works(storage)


async def test_a_declined_and_a_late_code_are_told_as_such(
    emulator: Emulator, environ: dict[str, str], home: Path
) -> None:
    emulator.oauth.auto_approve = False
    with pytest.raises(LoginRequired, match="declined"):
        await login(SETTINGS, home, environ, lambda code: emulator.oauth.approve(code.code, "declined"))
    with pytest.raises(LoginRequired, match="in time"):
        await login(SETTINGS, home, environ, lambda code: emulator.clock.advance(1000))
    assert not (home / "account.json").exists()


async def test_an_abandoned_login_ends_at_once(emulator: Emulator, environ: dict[str, str], home: Path) -> None:
    emulator.oauth.auto_approve = False
    begun = time.monotonic()
    with anyio.move_on_after(0.5):
        await login(SETTINGS, home, environ, lambda code: None)
    assert time.monotonic() - begun < 10
    emulator.oauth.grants.clear()  # ends the thread's polling


async def test_login_by_browser(
    emulator: Emulator, environ: dict[str, str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading
    import urllib.request
    import webbrowser

    def opened(url: str) -> bool:
        # A browser follows the redirect to the waiting program.
        import ssl

        trust = ssl.create_default_context(cafile=environ["SSL_CERT_FILE"])
        threading.Thread(target=lambda: urllib.request.urlopen(url, context=trust).read(), daemon=True).start()
        return True

    monkeypatch.setattr(webbrowser, "open", opened)
    state = await login(SETTINGS, home, environ, lambda code: pytest.fail("no code"), browser=True)
    assert state.state == "ok"
    async with open_onedrive(SETTINGS, home, environ) as storage:
        assert await works(storage)


async def test_the_event_loop_goes_on_while_a_token_is_waited_for(
    emulator: Emulator, environ: dict[str, str], home: Path
) -> None:
    await log_in(home, environ)
    emulator.oauth.expire_access()
    emulator.fault(operations=("token",), delay=1.0)
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await anyio.sleep(0.02)
            beats += 1

    async with open_onedrive(SETTINGS, home, environ) as storage, anyio.create_task_group() as group:
        group.start_soon(beat)
        await works(storage)
        group.cancel_scope.cancel()
    assert beats >= 5


async def test_a_hanging_token_service_is_given_up(
    emulator: Emulator, environ: dict[str, str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await log_in(home, environ)
    emulator.oauth.expire_access()
    emulator.fault(operations=("token",), wire="stall")
    monkeypatch.setattr(identity, "_PATIENCE", 0.5)
    async with open_onedrive(SETTINGS, home, environ) as storage:
        with pytest.raises(Unreachable, match="does not answer"):
            await works(storage)
        monkeypatch.setattr(identity, "_PATIENCE", 30)
        assert await works(storage)


@pytest.mark.parametrize(
    ("number", "words"),
    [("50173", "password"), ("50076", "second factor"), ("700082", "expired"), ("7000218", "public client")],
)
async def test_the_reason_of_a_refused_login_is_told(
    emulator: Emulator, environ: dict[str, str], home: Path, number: str, words: str
) -> None:
    await log_in(home, environ)
    emulator.oauth.expire_access()
    emulator.oauth.failure = ("invalid_grant", f"AADSTS{number}: something for experts")
    async with open_onedrive(SETTINGS, home, environ) as storage:
        with pytest.raises(LoginRequired, match=words) as caught:
            await works(storage)
    assert "AADSTS" not in str(caught.value)


async def test_a_passing_fault_of_the_token_service_is_no_reason_to_log_in(
    emulator: Emulator, environ: dict[str, str], home: Path
) -> None:
    await log_in(home, environ)
    emulator.oauth.expire_access()
    emulator.oauth.failure = ("temporarily_unavailable", "AADSTS90033: transient")
    async with open_onedrive(SETTINGS, home, environ) as storage:
        with pytest.raises(StorageError) as caught:
            await works(storage)
    assert isinstance(caught.value, Unreachable)
