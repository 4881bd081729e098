"""
Mail, and work items with their notes and events: what is sent and stays on record, in one table.

It imports the rooms up to guests; the ledger reacts to what is sent. Start with `sent_record.py` and `mail_actions.py`,
or with `work_item.py` and `work_actions.py`.
"""
