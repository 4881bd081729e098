"""
What a worker runs for all channels: it reads triggers, sends messages, calls providers of other packages.

It may import handlers and everything below. Start with `channel_tasks.py`.
"""
