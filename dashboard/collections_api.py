"""Conflicts, links, counts, documents, patterns, and how this device fares."""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dashboard import editing, shapes
from dashboard.growth import growth
from dashboard.requests import EmptyBody, SettleBody, body_of, limit_of
from dashboard.running import Running
from memory_cache import documents, links, memories, patterns
from memory_cache.cache import MemoryCache
from memory_cache.json_shapes import document_json, pattern_json

_PAGE = 40
_MOST_NODES = 250


def most_linked(pairs: Sequence[tuple[str, str]], most: int) -> list[str]:
    """The ids with the most links, in a fixed order."""
    links_of = Counter(end for pair in pairs for end in pair)
    return sorted(links_of, key=lambda each: (-links_of[each], each))[:most]


class CollectionsApi:
    """The routes over one cache and its daemon."""

    def __init__(self, cache: MemoryCache, running: Running) -> None:
        self._cache = cache
        self._running = running

    def routes(self) -> list[Route]:
        """All of them."""
        return [
            Route("/api/conflicts", self.conflicts, methods=["GET"]),
            Route("/api/conflicts/{id}", self.settled, methods=["POST"]),
            Route("/api/graph", self.graph, methods=["GET"]),
            Route("/api/growth", self.growth, methods=["GET"]),
            Route("/api/documents", self.documents, methods=["GET"]),
            Route("/api/documents/{id}", self.document, methods=["GET"]),
            Route("/api/patterns", self.patterns, methods=["GET"]),
            Route("/api/status", self.status, methods=["GET"]),
            Route("/api/sync", self.sync, methods=["POST"]),
        ]

    async def conflicts(self, request: Request) -> Response:
        """All open ones, the oldest first."""
        found = await self._cache.conflicts()
        return JSONResponse({"conflicts": [shapes.conflict(each) for each in found]})

    async def settled(self, request: Request) -> Response:
        """Settle one, if both versions are still those that were seen."""
        body = await body_of(request, SettleBody)
        memory = await editing.settle(self._cache, request.path_params["id"], body.version, body.keep, body.content)
        return JSONResponse({"id": memory.id, "title": memory.title})

    async def graph(self, request: Request) -> Response:
        """Linked memories and their links: those with the most, as many as a picture holds, or those near one."""
        start, now = request.query_params.get("from") or None, self._cache.now()

        def read(c: sqlite3.Connection) -> dict[str, Any]:
            if start is None:
                pairs = links.edges(c, now)
                nodes = memories.by_ids(c, most_linked(pairs, _MOST_NODES))
                left = len({end for pair in pairs for end in pair}) - len(nodes)
            else:
                near, pairs = links.graph(c, start, 2, now)
                nodes, left = near[:_MOST_NODES], max(len(near) - _MOST_NODES, 0)
            shown = {node.id for node in nodes}
            return {
                "memories": [{"id": node.id, "title": node.title, "category": node.category} for node in nodes],
                "links": [list(pair) for pair in pairs if shown.issuperset(pair)],
                "left": left,
            }

        return JSONResponse(await self._cache.database.read(read))

    async def growth(self, request: Request) -> Response:
        """Counts, and memories made by day."""
        now = self._cache.now()
        counts = await self._cache.statistics()
        days = await self._cache.database.read(lambda c: growth(c, now))
        return JSONResponse({"days": days, "counts": counts.model_dump(mode="json")})

    async def documents(self, request: Request) -> Response:
        """With `q` the documents that fit best, which counts as reading them; without, the latest."""
        query, limit, now = request.query_params.get("q", "").strip(), limit_of(request, _PAGE), self._cache.now()
        if query:
            hits, more = await self._cache.database.write(lambda c: documents.search(c, query, limit=limit, now=now))
            return JSONResponse({"documents": [shapes.document(hit) for hit in hits], "more": more})

        def latest(c: sqlite3.Connection) -> tuple[list[documents.Document], int]:
            return documents.recent(c, limit), documents.usage(c)[0]

        found, count = await self._cache.database.read(latest)
        listed: list[dict[str, Any]] = [shapes.document(each) for each in found]
        return JSONResponse({"documents": listed, "more": max(count - len(found), 0)})

    async def document(self, request: Request) -> Response:
        """One document whole."""
        now = self._cache.now()
        found = await self._cache.database.write(lambda c: documents.get(c, request.path_params["id"], now))
        return JSONResponse({**document_json(found), "content": found.content})

    async def patterns(self, request: Request) -> Response:
        """All patterns, the most frequent first."""
        found = await self._cache.database.read(lambda c: patterns.mature(c, min_count=1, exclude_created=False))
        return JSONResponse({"patterns": [pattern_json(each) for each in found]})

    async def status(self, request: Request) -> Response:
        """This device, its storage, its daemon, the other devices, and the files that need a look."""
        problems = await self._cache.problems()
        described = await self._running.describe()
        return JSONResponse({**described, "problemFiles": [problem.model_dump() for problem in problems]})

    async def sync(self, request: Request) -> Response:
        """A round soon."""
        await body_of(request, EmptyBody)
        self._running.sync_now()
        return JSONResponse({})
