"""
The ledger: topics in the store or on a public network, profiles, and connections with agents outside.

It imports the rooms up to residents; mail does not know it, it reacts to what is sent. Start with `topic.py` and
`topic_actions.py`; for a public ledger with `public_ledger.py`, `ledger_step_actions.py` and
`message_order_actions.py`.
"""
