"""
What comes in from outside and how it is answered: people in a chat, a bot or by a provider; services; schedules.

It may import all rooms up to `mail`. Start with `user_message_actions.py` (somebody writes) and `intake_actions.py` (an
envelope comes in), then `reply_actions.py` and `outgoing_message_actions.py` (something goes out); `access_actions.py`
and `pairing_actions.py` decide who may write.
"""
