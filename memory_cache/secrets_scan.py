"""Well-known forms of keys and tokens in a text. Only their names are ever told, never the text."""

import re

_PATTERNS: tuple[tuple[str, str], ...] = (
    ("private key", r"-----BEGIN (?:[A-Z]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----"),
    ("Anthropic API key", r"\bsk-ant-[A-Za-z0-9_-]{24,}"),
    ("OpenAI API key", r"\bsk-(?!ant-)(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{32,}"),
    ("GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{40,})"),
    ("GitLab token", r"\bgl(?:pat|dt|rt|cbt|ptt)-[A-Za-z0-9_-]{20,}"),
    ("AWS access key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    ("AWS secret key", r"(?i)\baws_?secret_?(?:access_?)?key\b\W{1,5}[A-Za-z0-9/+]{40}\b"),
    ("Google API key", r"\bAIza[A-Za-z0-9_-]{35}"),
    ("Google OAuth secret", r"\bGOCSPX-[A-Za-z0-9_-]{28}"),
    ("Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("Slack webhook", r"\bhooks\.slack\.com/services/T[A-Za-z0-9_]+/B[A-Za-z0-9_]+/[A-Za-z0-9_]{16,}"),
    ("Discord webhook", r"\bdiscord(?:app)?\.com/api/webhooks/\d{17,20}/[A-Za-z0-9_-]{60,}"),
    ("Stripe key", r"\b[sr]k_live_[A-Za-z0-9]{20,}"),
    ("npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("PyPI token", r"\bpypi-AgEI[A-Za-z0-9_-]{50,}"),
    ("Hugging Face token", r"\bhf_[A-Za-z0-9]{34,}"),
    ("SendGrid key", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    ("DigitalOcean token", r"\bdo[opr]_v1_[a-f0-9]{64}"),
    ("Databricks token", r"\bdapi[a-f0-9]{32}\b"),
    ("Azure storage key", r"\bAccountKey=[A-Za-z0-9+/]{86}=="),
    ("Azure client secret", r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}"),
    ("Telegram bot token", r"\b\d{8,10}:AA[A-Za-z0-9_-]{33}\b"),
    ("JSON web token", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    ("password in a URL", r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@<>{}$]{0,64}:[^\s/:@<>{}$*]{3,128}@[\w.-]+"),
)
_COMPILED = tuple((name, re.compile(pattern)) for name, pattern in _PATTERNS)


def find_secrets(text: str) -> list[str]:
    """The kinds of secrets that the text seems to hold, each once, in a fixed order; empty for none."""
    return [name for name, pattern in _COMPILED if pattern.search(text)]
