"""What is not sent yet is found at the price of what is not sent yet."""

import sqlite3
from pathlib import Path

import anyio

from daemon import loops
from memory_cache.cache import open_cache
from memory_cache.home import Home
from memory_cache.models import Draft
from memory_cache.settings import Settings


def test_looking_for_what_is_not_sent_yet_reads_nothing_else(tmp_path: Path) -> None:
    async def body() -> None:
        async with open_cache(Home(tmp_path / "home"), Settings()) as cache:
            await cache.remember(Draft(content="a note", category="task"))
            statements: list[str] = []

            def run(connection: sqlite3.Connection) -> frozenset[tuple[int, int]]:
                connection.set_trace_callback(statements.append)
                try:
                    return loops.unsent(connection)
                finally:
                    connection.set_trace_callback(None)

            assert len(await cache.database.read(run)) == 1
            plan = await cache.database.read(
                lambda connection: connection.execute(f"EXPLAIN QUERY PLAN {statements[0]}").fetchall()
            )
            assert "files_unsent" in plan[0]["detail"]

    anyio.run(body)
