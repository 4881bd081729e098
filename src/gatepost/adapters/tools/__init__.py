"""Tools that are somewhere else: behind a URL (`web`), or at an MCP server (`servers`)."""
