"""
What comes in from outside and how it is answered: people on Telegram, in a chat or by a provider; services; schedules.

It may import all rooms up to `mail`. Start with `intake_actions.py` (an envelope comes in), then `reply_actions.py` and
`outgoing_message_actions.py` (something goes out); `access_actions.py` and `pairing_actions.py` decide who may write.
"""
