"""
Connections with agents outside, on a public ledger. It imports what the ledger may import. Start with `api.py`, which
says what a connection is, and `actions.py`.
"""
