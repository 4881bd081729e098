"""The settings files of the programs in which guests live: our hooks and our MCP server are added there and removed."""
