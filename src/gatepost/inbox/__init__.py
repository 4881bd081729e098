"""
Events, and the inboxes in which they wait, an item for each recipient, until somebody claims and acks them.

It imports core, operations, stores and directory. Start with `event.py`, then `push/actions.py` (how items get there)
and `claim_actions.py` (why each is read once); `event_rendering.py` has the line that an agent reads.
"""
