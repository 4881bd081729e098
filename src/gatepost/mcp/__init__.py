"""The MCP server: operations as tools, with resources, prompts and notifications, on stdio and over HTTP."""
