"""Memories: search, read, change, link, forget, restore."""

import sqlite3
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dashboard import editing, shapes
from dashboard.requests import ChangeBody, LinkBody, RestoreBody, VersionBody, body_of, filter_of, limit_of
from dashboard.searching import search
from memory_cache import links, memories, revisions, trash, vocabulary
from memory_cache.cache import MemoryCache
from memory_cache.errors import InvalidInput
from memory_cache.json_shapes import memory_json, revision_json, trash_json
from memory_cache.models import Memory

_PAGE = 40
_MOST_TAGS = 300


class MemoriesApi:
    """The routes over one cache."""

    def __init__(self, cache: MemoryCache) -> None:
        self._cache = cache

    def routes(self) -> list[Route]:
        """All of them."""
        one = "/api/memories/{id}"
        return [
            Route("/api/memories", self.found, methods=["GET"]),
            Route("/api/filed", self.filed, methods=["GET"]),
            Route(one, self.shown, methods=["GET"]),
            Route(one, self.changed, methods=["PATCH"]),
            Route(one, self.forgotten, methods=["DELETE"]),
            Route(f"{one}/history", self.history, methods=["GET"]),
            Route(f"{one}/restore", self.restored, methods=["POST"]),
            Route(f"{one}/link", self.linked, methods=["POST"]),
            Route("/api/trash", self.trash, methods=["GET"]),
        ]

    async def found(self, request: Request) -> Response:
        """With `q` the memories that fit best; without, a page of the latest."""
        chosen, limit = filter_of(request), limit_of(request, _PAGE)
        query = request.query_params.get("q", "").strip()
        if query:
            hits, more = await search(self._cache, query, chosen, limit)
            return JSONResponse({"memories": [shapes.brief(hit.memory, hit.passage) for hit in hits], "more": more})
        page = await self._cache.list(chosen, limit=limit, cursor=request.query_params.get("cursor"))
        listed = [shapes.brief(memory) for memory in page.memories]
        return JSONResponse({"memories": listed, "more": page.more, "cursor": page.cursor})

    async def filed(self, request: Request) -> Response:
        """The categories, projects and tags there are to choose from."""

        def read(c: sqlite3.Connection) -> dict[str, Any]:
            return {
                "categories": vocabulary.categories(c, "", _MOST_TAGS),
                "projects": [{"key": known.key, "name": known.name} for known in vocabulary.projects(c)],
                "tags": vocabulary.tags(c, "", _MOST_TAGS),
            }

        return JSONResponse(await self._cache.database.read(read))

    async def shown(self, request: Request) -> Response:
        """One memory whole, with what it hangs together with."""
        return await self._whole(request.path_params["id"])

    async def changed(self, request: Request) -> Response:
        """Change it, if it still is what was read."""
        body = await body_of(request, ChangeBody)
        memory = await editing.update(self._cache, request.path_params["id"], body.version, body.change())
        return await self._whole(memory.id)

    async def forgotten(self, request: Request) -> Response:
        """Move it to the trash, if it still is what was read."""
        body = await body_of(request, VersionBody)
        memory = await editing.forget(self._cache, request.path_params["id"], body.version)
        return JSONResponse({"id": memory.id, "title": memory.title})

    async def history(self, request: Request) -> Response:
        """Its earlier texts, the latest first."""
        found = await self._cache.history(request.path_params["id"])
        return JSONResponse({"revisions": [revision_json(each) for each in found]})

    async def restored(self, request: Request) -> Response:
        """Back from the trash, or to an earlier text."""
        body, memory_id = await body_of(request, RestoreBody), request.path_params["id"]
        if body.revision is None:
            memory = await self._cache.restore(memory_id)
        elif body.version is None:
            raise InvalidInput("The request names no version.", "Reload the page.")
        else:
            memory = await editing.go_back(self._cache, memory_id, body.version, body.revision)
        return await self._whole(memory.id)

    async def linked(self, request: Request) -> Response:
        """Link it to another one, or end that."""
        body = await body_of(request, LinkBody)
        memory = await editing.link(
            self._cache, request.path_params["id"], body.version, body.other, unlink=body.unlink
        )
        return await self._whole(memory.id)

    async def trash(self, request: Request) -> Response:
        """What was deleted last."""
        limit = limit_of(request, _PAGE)
        entries, more = await self._cache.database.read(lambda c: trash.listed(c, limit))
        return JSONResponse({"trash": [trash_json(entry) for entry in entries], "more": more})

    async def _whole(self, memory_id: str) -> Response:
        now = self._cache.now()

        def read(c: sqlite3.Connection) -> tuple[memories.Stored, str, list[Memory], int, list[str]]:
            stored = memories.find(c, memory_id)
            related = [memory for memory, _ in links.related(c, stored.memory.id, 1, now)]
            open_conflicts = c.execute("SELECT id FROM conflicts WHERE memory_id = ?", (stored.memory.id,)).fetchall()
            earlier = len(revisions.listed(c, stored.memory.id))
            return stored, editing.version_of(c, stored.file_id), related, earlier, [row[0] for row in open_conflicts]

        stored, version, related, earlier, open_conflicts = await self._cache.database.read(read)
        memory = stored.memory
        return JSONResponse(
            {
                **memory_json(memory),
                "path": memory.path,
                "version": version,
                "expired": memory.expired(now),
                "related": [shapes.brief(other) for other in related],
                "revisions": earlier,
                "conflicts": open_conflicts,
            }
        )
