"""Who may use the pages: one-time tokens, and the sessions they are exchanged for.

A session has two secrets. The cookie cannot be read by scripts, but browsers send it to every port of this machine;
the key lies in the page's own storage, which belongs to this port alone, and travels as a header, which no other
site can set. A request needs both.
"""

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

TOKEN_SECONDS = 120.0
SESSION_SECONDS = 12 * 3600.0
_MOST_TOKENS, _MOST_SESSIONS = 16, 32


@dataclass(slots=True)
class Session:
    """One browser that was let in."""

    cookie: str
    key: str
    until: float


class Access:
    """Tokens and sessions of one daemon; they live as long as its process."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._tokens: dict[str, float] = {}
        self._sessions: list[Session] = []

    def new_token(self) -> str:
        """A token that opens one session, soon."""
        token = secrets.token_urlsafe(32)
        self._tokens[token] = self._now() + TOKEN_SECONDS
        while len(self._tokens) > _MOST_TOKENS:
            del self._tokens[next(iter(self._tokens))]
        return token

    def exchange(self, token: str) -> Session | None:
        """A session for this token, which is used up; None for one that is wrong, old or used."""
        found = [known for known in self._tokens if _equal(known, token)]
        if not found or self._tokens.pop(found[0]) < self._now():
            return None
        session = Session(secrets.token_urlsafe(32), secrets.token_urlsafe(32), self._now() + SESSION_SECONDS)
        self._sessions = [*self._sessions[1 - _MOST_SESSIONS :], session]
        return session

    def admits(self, cookie: str, key: str) -> bool:
        """Whether both secrets are those of one session; it lasts longer by being used."""
        now = self._now()
        self._sessions = [session for session in self._sessions if session.until > now]
        # No early end: how long this takes does not tell which of the two was wrong.
        matching = [s for s in self._sessions if _equal(s.cookie, cookie) & _equal(s.key, key)]
        for session in matching:
            session.until = now + SESSION_SECONDS
        return bool(matching)

    def leave(self, cookie: str) -> None:
        """End the session of this cookie."""
        self._sessions = [session for session in self._sessions if not _equal(session.cookie, cookie)]


def _equal(known: str, given: str) -> bool:
    return hmac.compare_digest(known.encode(), given.encode("utf-8", "replace"))
