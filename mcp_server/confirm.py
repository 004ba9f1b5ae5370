"""Asking the user before something far-reaching is done, where the client can ask.

A client that cannot ask goes on: nothing here deletes for good, and what changes many memories shows first
what it would do unless told otherwise.
"""

from typing import Any

from mcp.server.elicitation import AcceptedElicitation, ElicitationResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, Field


class Confirmation(BaseModel):
    """The user's answer."""

    confirm: bool = Field(description="Go on")


GO_ON = Confirmation(confirm=True)


def ask(ctx: Context[Any, Any], question: str) -> Confirmation | Elicit[Confirmation]:
    """The question for the user, or consent where the client cannot ask."""
    return Elicit(question, Confirmation) if can_ask(ctx) else GO_ON


def can_ask(ctx: Context[Any, Any]) -> bool:
    """Whether the client shows forms to its user."""
    capabilities = ctx.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    if elicitation is None or (elicitation.form is None and elicitation.url is not None):
        return False
    return ctx.protocol_version in MODERN_PROTOCOL_VERSIONS or ctx.session.can_send_request


def consented(answer: ElicitationResult[Confirmation]) -> bool:
    """Whether the user said yes."""
    return isinstance(answer, AcceptedElicitation) and answer.data.confirm


DECLINED = "Nothing was changed: the user did not agree."
