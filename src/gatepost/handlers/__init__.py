"""
What each operation does: its handler calls verbs in one transaction and returns the model of the answer.

`executor.py` runs an operation on a store, with its access rule. The other modules have the handlers of one
noun or a few.
"""
