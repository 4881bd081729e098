"""
Plans: instructions that come to their owner's inbox later, once or repeatedly.

It imports the rooms up to gates, because a plan can wait for a gate. Start with `plan.py`, then `actions.py` (a plan
fires) and `cron.py` (when).
"""
