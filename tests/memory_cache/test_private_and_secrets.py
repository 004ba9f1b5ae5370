"""What must not be stored: private parts are cut out, keys and tokens are noticed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_cache.private import strip_private
from memory_cache.secrets_scan import find_secrets


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a <private>SECRET</private> b", "a  b"),
        ("a <PRIVATE>SECRET</Private> b", "a  b"),
        ("a <private >SECRET</private\n> b", "a  b"),
        ("a < private>SECRET< / private > b", "a  b"),
        ('a <private reason="x">SECRET</private> b', "a  b"),
        ("a <private>SECRET <private>SECRET</private> SECRET</private> b", "a  b"),
        ("a <private>SECRET", "a "),
        ("a <private><private>SECRET</private>SECRET", "a "),
        ("<private>SECRET</private>", ""),
        ("a </private> b", "a  b"),
        ("a <private/> b", "a  b"),
        ("a</private><private>SECRET</private>b", "ab"),
        ("<privateer> <private-key> private <b>x</b> 1 < 2", "<privateer> <private-key> private <b>x</b> 1 < 2"),
        ("", ""),
    ],
)
def test_private_parts_are_cut_out(text: str, kept: str) -> None:
    assert strip_private(text) == kept


piece = st.sampled_from(["<private>", "</private>", "<PRIVATE >", "</Private\n>", "public ", "<b>", "<", ">", "\n"])


@given(st.lists(piece, max_size=12))
def test_nothing_behind_an_open_tag_is_kept(pieces: list[str]) -> None:
    depth, expected = 0, 0
    text = ""
    for part in pieces:
        lowered = part.lower()
        if lowered.startswith("<private"):
            depth += 1
        elif lowered.startswith("</private"):
            depth = max(0, depth - 1)
        expected += depth == 0 and part == "public "
        text += part + ("SECRET " if depth else "")
    kept = strip_private(text)
    assert "SECRET" not in kept
    assert kept.count("public") == expected
    assert strip_private(kept) == kept


@given(st.text(max_size=200).filter(lambda text: "private" not in text.lower()))
def test_other_text_stays_as_it_is(text: str) -> None:
    assert strip_private(text) == text


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "text",
    [
        "<private " * 100_000,
        "<private>" * 100_000,
        "< " * 500_000,
        "<private" + " " * 1_000_000,
        "<" + " " * 1_000_000 + "x",
    ],
)
def test_hostile_text_is_handled_in_linear_time(text: str) -> None:
    strip_private(text)


X = "aB3" * 40
SAMPLES = {
    "private key": "-----BEGIN OPENSSH PRIVATE KEY-----\nabc",
    "Anthropic API key": f"sk-ant-api03-{X}",
    "OpenAI API key": f"OPENAI_API_KEY=sk-proj-{X}",
    "GitHub token": f"token ghp_{X[:36]}",
    "GitLab token": f"glpat-{X[:20]}",
    "AWS access key": "AKIA" + "ABCD1234" * 2,
    "AWS secret key": f"aws_secret_access_key = {X[:40]}",
    "Google API key": f"AIza{X[:35]}",
    "Google OAuth secret": f"GOCSPX-{X[:28]}",
    "Slack token": f"xoxb-{X[:30]}",
    "Slack webhook": f"https://hooks.slack.com/services/T000/B000/{X[:24]}",
    "Discord webhook": f"https://discord.com/api/webhooks/{'1' * 18}/{X[:68]}",
    "Stripe key": f"sk_live_{X[:24]}",
    "npm token": f"npm_{X[:36]}",
    "PyPI token": f"pypi-AgEI{X[:60]}",
    "Hugging Face token": f"hf_{X[:34]}",
    "SendGrid key": f"SG.{X[:22]}.{X[:43]}",
    "DigitalOcean token": f"dop_v1_{'ab12' * 16}",
    "Databricks token": f"dapi{'ab12' * 8}",
    "Azure storage key": f"AccountKey={X[:86]}==",
    "Azure client secret": f"abc8Q~{X[:34]}",
    "Telegram bot token": f"123456789:AA{X[:33]}",
    "JSON web token": f"eyJ{X[:20]}.eyJ{X[:20]}.{X[:20]}",
    "password in a URL": "postgres://admin:hunter2@db.example.org/x",
}


@pytest.mark.parametrize(("name", "text"), SAMPLES.items(), ids=SAMPLES.keys())
def test_each_known_form_of_secret_is_noticed_by_name_only(name: str, text: str) -> None:
    assert find_secrets(f"Remember this: {text}\n") == [name]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The commit is 5f0c9f0e6a434a559a570d6f3a1b7c21aabbccdd.",
        "id 5f0c9f0e-6a43-4a55-9a57-0d6f3a1b7c21",
        "Use sk- as prefix; task-based-scheduling-of-the-whole-machine-room-is-nice",
        "https://user:${PASSWORD}@host/ and http://<user>:<password>@host",
        "https://github.com/acme/widget:latest and mail me@example.org",
        "the flag --private-key, BEGIN PUBLIC KEY",
        "port 3001, not 3002",
    ],
)
def test_ordinary_text_raises_no_alarm(text: str) -> None:
    assert find_secrets(text) == []


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "text", ["a" * 1_000_000, "eyJ" * 300_000, "a://" * 250_000, "sk-" * 300_000, "8Q~" * 300_000, "1" * 1_000_000]
)
def test_a_megabyte_is_scanned_in_linear_time(text: str) -> None:
    find_secrets(text)
