"""The cache of this device, opened for one command; and which project the command is about."""

import argparse
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread

from command_line.output import Answer, show
from memory_cache import project as projects
from memory_cache import settings as settings_file
from memory_cache import vocabulary
from memory_cache.cache import MemoryCache, open_cache
from memory_cache.errors import InvalidInput
from memory_cache.home import Home
from memory_cache.models import Filter, Project, Scope

T = TypeVar("T")
_CENTURY = 36_500  # days; further back there is nothing, and dates end somewhere
Work = Callable[[MemoryCache, argparse.Namespace], Awaitable[Answer]]


def run(args: argparse.Namespace, work: Work, *, as_json: bool) -> int:
    """Open the cache, do the work, show its answer. Raises what the work raises."""
    answer = call(lambda cache: work(cache, args))
    show(answer, as_json=as_json)
    return answer.code


def call(work: Callable[[MemoryCache], Awaitable[T]]) -> T:
    """Open the cache, do the work, close it again. Raises what the work raises."""

    async def main() -> T:
        async with opened() as cache:
            return await work(cache)

    return anyio.run(main)


@asynccontextmanager
async def opened() -> AsyncIterator[MemoryCache]:
    """The cache of the current home. Raises: SettingsError, CacheUnusable."""
    home = Home.current(os.environ)
    settings = settings_file.load(home, os.environ)
    async with open_cache(home, settings) as cache:
        yield cache


async def project_of(cache: MemoryCache, argument: str | None) -> Project | None:
    """The project that `--project` names, or the one of the working directory (CLAUDE_PROJECT_DIR first).

    Raises: InvalidInput when the argument names none, or several.
    """
    cwd = Path.cwd()
    if argument is not None and argument.strip():
        known = await cache.database.read(lambda connection: vocabulary.called(connection, argument))
        if len(known) > 1:
            ids = ", ".join(project.id for project in known)
            raise InvalidInput(f"Several projects are called {argument.strip()}: {ids}.", "Give one of these ids.")
        if known:
            return known[0]
    return await anyio.to_thread.run_sync(lambda: projects.resolve(argument, environ=os.environ, cwd=cwd))


async def filter_of(cache: MemoryCache, args: argparse.Namespace, *, default_all: bool = False) -> Filter:
    """The filter that the options of `add_scope` and `add_filters` describe.

    Without a scope option: this project and the global ones, or with `default_all` everything.
    """
    if args.everything or (default_all and not args.only_global and args.project is None):
        scope = Scope.all()
    elif args.only_global:
        scope = Scope(project_key=None)
    else:
        project = await project_of(cache, args.project)
        scope = Scope(project_key=project.key if project else None)
    since = None if args.since_days is None else datetime.now(UTC) - timedelta(days=min(args.since_days, _CENTURY))
    return Filter(scope=scope, category=args.category, tags=tuple(args.tags or ()), updated_after=since)
