"""
Who gets what comes in: routing rules, the recipients of a message, and unrouted messages, which nobody got.

It may import records and verbs of triggers, and all rooms up to `mail`. Start with `recipient_choice_actions.py`.
"""
