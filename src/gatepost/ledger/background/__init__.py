"""
What a worker runs for a public ledger. It imports the verbs of the ledger. Start with `transaction_steps.py`, by which
everything is done once; `poster.py` writes, and `listener.py` reads.
"""
