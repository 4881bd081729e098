"""
What a worker runs for residents: the supervisor starts cycles, and a cycle asks the model and calls tools.

It imports handlers and below. Start with `supervisor.py`, then `think_cycle.py`.
"""
