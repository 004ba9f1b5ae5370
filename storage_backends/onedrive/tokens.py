"""Where bearer tokens come from, as the transport sees it."""

from typing import Protocol

from storage_backends.errors import LoginRequired


class TokenSource(Protocol):
    """Gives bearer tokens for Graph."""

    async def token(self, claims: str | None = None) -> str:
        """A token that should be accepted. `claims`: what the service demanded of it, as JSON.

        Raises: LoginRequired, Unreachable.
        """
        ...

    async def refresh(self) -> None:
        """The last token was refused: get another one, whatever the cache says. Raises as `token`."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


class GivenToken:
    """A token from outside, as `CLAUDE_MEMORY_GRAPH_TOKEN`. It cannot be renewed from here."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self, claims: str | None = None) -> str:
        """The token. Raises: LoginRequired when the service wants more than that."""
        if claims:
            raise LoginRequired(
                "The token in CLAUDE_MEMORY_GRAPH_TOKEN is not accepted any more.", "Set a fresh one there."
            )
        return self._token

    async def refresh(self) -> None:
        """Nothing to renew; the next request decides."""

    def close(self) -> None:
        """Nothing to let go of."""
