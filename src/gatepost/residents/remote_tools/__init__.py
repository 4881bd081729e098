"""Tools outside this process: behind a URL (`http`), or on an MCP server (`mcp`)."""
