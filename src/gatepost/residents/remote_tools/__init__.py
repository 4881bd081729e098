"""
Tools outside this process: behind a URL (`http_tools`), or on an MCP server (`mcp_tools`).

These adapters implement ports of `residents/model_port.py`, and import records. Start with `ssrf.py`, which says where
requests may go.
"""
