"""The kinds of argument that several tools take, described once.

Clients pass lists as strings now and then; that is understood rather than refused.
"""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from mcp_server.budget import ASKED_TOKENS


def split_list(value: Any) -> Any:
    """A list from "a, b" too; every other value goes on to validation."""
    if isinstance(value, str):
        return [part for part in (part.strip() for part in value.split(",")) if part]
    return value


def _none_is_empty(value: Any) -> Any:
    return [] if value is None else split_list(value)


MemoryId = Annotated[str, Field(description="Memory id, or its first 4 or more characters")]
Category = Annotated[str, Field(description="project, decision, preference, learning, task, or your own word")]
CategoryFilter = Annotated[str | None, Field(description="Only this category")]
Tags = Annotated[list[str], BeforeValidator(_none_is_empty)]
OptionalTags = Annotated[list[str] | None, BeforeValidator(split_list)]
Ids = Annotated[list[str], BeforeValidator(split_list)]
Priority = Literal["high", "normal", "low"]
Ttl = Annotated[str | None, Field(description="Lifetime: number and d, w, m or y, such as 7d")]
ProjectName = Annotated[str | None, Field(description="Other project: name, id, git URL or directory")]
MaxTokens = Annotated[int | None, Field(ge=100, le=ASKED_TOKENS, description="Size of the answer (2000)")]

__all__ = [
    "Category",
    "CategoryFilter",
    "Ids",
    "MaxTokens",
    "MemoryId",
    "OptionalTags",
    "Priority",
    "ProjectName",
    "Tags",
    "Ttl",
]
