"""
Agents that live in other programs: their sessions, the spool that brings them events, the courier and nudges.

It imports every room up to `spaces`; `hook_entry.py` is a door, and may import any. Start with `session.py`, then
`hook_entry.py` (a hook arrives) and `spool_merge_actions.py` (which events it shows).
"""
