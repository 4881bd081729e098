"""
Our hooks and our MCP server in the settings files of agent programs: how they are added, removed and inspected.

It knows files, not the store. Start with `installation.py`.
"""
