"""Independent verifiers of the MCP server; `make conformance` runs them."""
