"""Sessions that use all tools at once, over real relays and a real daemon: see `mixing`."""

from pathlib import Path

from tests.mcp_server import mixing


def test_eight_sessions_that_use_all_tools_at_once_lose_nothing(tmp_path: Path) -> None:
    figures = mixing.run(tmp_path, seconds=5)
    assert figures["calls"] > 50
