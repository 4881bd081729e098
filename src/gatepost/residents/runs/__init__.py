"""
Runs: one run is one cycle of a resident, as a journal of steps that another process can continue.

It imports the records and verbs of residents, and the inbox. Start with `run.py`; then `resume_actions.py` (begin or
resume), `journal_actions.py` (the steps) and `ending_actions.py` (the end) in the order of a run.
"""
