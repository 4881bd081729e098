"""
Triggers: how something outside reaches agents, and when cron triggers fire.

It may import records of webhooks and wording, and all rooms up to `mail`. Start with `trigger.py`, then `actions.py`
(add and change) and `cron_fire_actions.py` (fire).
"""
