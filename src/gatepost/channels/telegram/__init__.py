"""
Telegram bots: updates come in, messages go out in parts, buttons are pressed.

It may import channels, triggers and speech. Start with `update.py` (what an update says) and `update_actions.py` (what
becomes of it: a message is taken as on every channel); `client.py` is the adapter behind `bot_port.py`.
"""
