"""What a request says, checked; and errors as the pages are told them."""

import json
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from memory_cache.errors import CacheUnusable, EditedMeanwhile, InvalidInput, MemoryCacheError, UnknownMemory
from memory_cache.models import Change, Filter, Priority, Scope
from memory_cache.resolving import Keep

_MOST = 200


class Body(BaseModel):
    """Base of what is sent; an unknown field is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")


B = TypeVar("B", bound=Body)


class LoginBody(Body):
    """The one-time token."""

    token: str


class ChangeBody(Body):
    """A change of the memory that was read as `version`."""

    version: str
    content: str | None = None
    title: str | None = None
    tags: tuple[str, ...] | None = None
    category: str | None = None
    priority: Priority | None = None
    ttl: str | None = None

    def change(self) -> Change:
        """The change without its condition."""
        return Change(**self.model_dump(exclude={"version"}))


class VersionBody(Body):
    """The version that was read."""

    version: str


class RestoreBody(Body):
    """Out of the trash; or, with both, a living memory back to an earlier text."""

    version: str | None = None
    revision: int | None = None


class LinkBody(Body):
    """The other memory."""

    version: str
    other: str
    unlink: bool = False


class SettleBody(Body):
    """How a conflict ends."""

    version: str
    keep: Keep | None = None
    content: str | None = None


class EmptyBody(Body):
    """Nothing."""


async def body_of(request: Request, kind: type[B]) -> B:
    """The body of a request. Raises: InvalidInput."""
    try:
        return kind.model_validate(json.loads(await request.body() or b"{}"))
    except ValidationError as error:
        mistake = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, mistake["loc"]))
        raise InvalidInput(f"The request is wrong: {where}: {mistake['msg']}.", "Reload the page.") from None
    except (ValueError, RecursionError):
        raise InvalidInput("The request is no JSON.", "Reload the page.") from None


def limit_of(request: Request, default: int) -> int:
    """How many are wanted. Raises: InvalidInput."""
    text = request.query_params.get("limit", str(default))
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= _MOST:
        raise InvalidInput(f"{text[:20]!r} is no limit from 1 to {_MOST}.", "Reload the page.")
    return int(text)


def filter_of(request: Request) -> Filter:
    """What is chosen beside the words: `category`, `tag`, `project` (a key; empty for the global memories)."""
    asked = request.query_params
    scope = Scope.all()
    if "project" in asked:
        scope = Scope(project_key=asked["project"] or None, with_global=not asked["project"])
    return Filter(scope=scope, category=asked.get("category"), tags=tuple(asked.getlist("tag")))


def told(request: Request, error: Exception) -> Response:
    """An error of the memory as an answer."""
    assert isinstance(error, MemoryCacheError)  # noqa: S101 - registered for this kind alone
    status = 400
    if isinstance(error, UnknownMemory):
        status = 404
    elif isinstance(error, EditedMeanwhile):
        status = 409
    elif isinstance(error, CacheUnusable):
        status = 503
    shown: dict[str, Any] = {"title": error.title, "message": error.message, "hint": error.hint}
    return JSONResponse({"error": shown}, status)


def fault(request: Request, error: Exception) -> Response:
    """A fault of the program as an answer; it says nothing that a text could have put there."""
    shown = {"title": "Unexpected error", "message": f"{type(error).__name__}.", "hint": "The daemon's log says more."}
    return JSONResponse({"error": shown}, 500)
