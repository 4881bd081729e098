"""
The shared inbox of all channels: what people write, what systems ask them, and what systems answer.

It may import all rooms up to `mail`. Start with `api.py`; `channels/question_actions.py` matches answers to questions.
"""
