"""How a gateway wakes the sessions of Codex. Start with `waker_background.py`."""
