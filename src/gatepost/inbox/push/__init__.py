"""
Push: how an event gets into inboxes. It is checked, deduplicated, stored, and signalled.

It imports what inbox imports. Start with `actions.py`; `event_limits.py`, `dedup_keys.py` and `hop_actions.py` have the
rules for size, repeats and chains.
"""
