"""
The MCP server: operations as tools, with resources, prompts and notifications, on stdio and over HTTP.

It imports every room but `gateway`, `cli` and `testing`; the gateway and the command `gatepost mcp` run it. Start with
`server.py` and `tools.py`. Modules that need the SDK are imported late: it takes half a second.
"""
