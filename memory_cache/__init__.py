"""The memory itself: models, markdown format, SQLite cache, search. No network, no MCP, no storage."""
