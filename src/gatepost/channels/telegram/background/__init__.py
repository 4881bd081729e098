"""
What a worker runs for Telegram bots: it opens them, reads updates, sends, and shows that an agent is typing.

It may import handlers and everything below. Start with `update_reader.py` and `sender.py`.
"""
