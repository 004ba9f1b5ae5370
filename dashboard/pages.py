"""The pages' own files. They are read once; a path is looked up among them and never becomes one of the file system."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Page:
    """One file as it is sent."""

    content: bytes
    type: str
    tag: str


def pages() -> dict[str, Page]:
    """Path in the URL → file."""
    found = dict(_below(resources.files("dashboard") / "static", "/static/"))
    return {**found, "/": found["/static/index.html"]}


def _below(folder: Traversable, path: str) -> Iterator[tuple[str, Page]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _below(entry, f"{path}{entry.name}/")
            continue
        kind = _TYPES.get(entry.name[entry.name.rfind(".") :])
        if kind is not None:
            content = entry.read_bytes()
            yield f"{path}{entry.name}", Page(content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"')


def answer(known: dict[str, Page], request: Request) -> Response:
    """The file of this path."""
    page = known.get(request.url.path)
    if page is None:
        return PlainTextResponse("There is nothing here.", 404)
    headers = {"etag": page.tag, "cache-control": "no-cache"}  # after an update the new files are taken
    if request.headers.get("if-none-match") == page.tag:
        return Response(status_code=304, headers=headers)
    return Response(page.content, headers={**headers, "content-type": page.type})
